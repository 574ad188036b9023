"""python -m tools.summaries FOLDER: a summary of each reproduction, of two pages.

The form is that of reproduction reports: what was reproduced, how, what came out, what did not, and how to try it. All
of it follows from the ledger's rows and from what a paper's reproduction declares; nothing is written here twice.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

MOST = 9
"""rows of a list: more of them do not fit on two pages"""
LONGEST = 150
"""characters of what was found"""
HOLDS, WRONG = ("reproduced", "holds as a bound"), ("false", "misprint")
ABSTRACT = (
    "A reproduction, with dpexp, of the paper of this name by {authors}. {theirs} of its statements, figures and "
    "tables are judged ({verdicts}). {own} statements of our own say what holds beside them."
)
METHOD = (
    "Statements about privacy are held against exact laws. Every row of the ledger quotes its place, names "
    "what would make it false. It is *reproduced* if the whole interval "
    "of what was measured lies within its tolerance, and *holds as a bound* with the looseness that is given. A "
    "*misprint* is false as printed and plainly not what is meant; *misleading* is true in a sense that readers will "
    "not take."
)
TRY = (
    "`dpexp claims {id}` shows all rows, `dpexp claims ID` judges a row from the stored results, "
    "and `make reproduce` runs everything and compares it with what is published. The whole page is "
    "`results/claims/{id}.md`."
)


def found(claim: dict[str, Any]) -> str:
    """The first thing that was measured, cut where a sentence of it ends."""
    text = str(claim["measured"]).split("; ")[0]
    return text if len(text) <= LONGEST else text[:LONGEST].rpartition(" ")[0] + " ..."


def row(claim: dict[str, Any]) -> str:
    """One line of a list."""
    verdict = claim["verdict"].capitalize()
    return f"* *{claim['place']}.* {claim['statement']} **{verdict}**: {found(claim)} (`{claim['id']}`)"


def listed(title: str, claims: list[dict[str, Any]]) -> list[str]:
    """A section of rows, and how many there are beside those that are shown."""
    if not claims:
        return []
    more = [f"{len(claims) - MOST} more stand in the ledger."] if len(claims) > MOST else []
    return [f"# {title}", "\n".join(map(row, claims[:MOST])), *more]


def runs(paper: Any) -> str:
    """What is run."""
    if not paper.configs:
        return "No run is needed: its statements are held against exact laws."
    return f"{len(paper.configs)} experiments are run from configs: {', '.join(paper.configs)}."


def summary(paper: Any, claims: list[dict[str, Any]]) -> str:
    """One report, in Markdown for pandoc."""
    theirs = [claim for claim in claims if claim["source"] == "paper"]
    counts = Counter(claim["verdict"] for claim in theirs)
    first = [claim for claim in theirs if claim["id"] in paper.headlines and claim["verdict"] in HOLDS]
    holds = first or [claim for claim in theirs if claim["verdict"] in HOLDS][:4]
    abstract = ABSTRACT.format(
        authors=paper.authors,
        theirs=len(theirs),
        verdicts=", ".join(f"{verdict}: {count}" for verdict, count in counts.most_common()),
        own=len(claims) - len(theirs),
    )
    parts = [
        f'---\ntitle: "[Re] {paper.title}"\nauthor: dpexp contributors\nabstract: |\n  {abstract}\n---',
        "# What to know",
        "\n".join(f"* {one.says}" for one in paper.what_to_know),
        "# How it was reproduced",
        f"{runs(paper)} {METHOD}",
        *listed("What holds", holds),
        *listed("What does not hold as it is printed", [c for v in WRONG for c in theirs if c["verdict"] == v]),
        *listed("What a reader may take for more than it says", [c for c in theirs if c["verdict"] == "misleading"]),
        "# How to try it",
        TRY.format(id=paper.id),
    ]
    return "\n\n".join(parts) + "\n"


def summaries() -> dict[str, str]:
    """The summary of each reproduction of somebody's paper, by its name."""
    from dpexp.commands.claims import claims
    from dpexp.papers import our_papers

    rows = claims(form="table").document()
    told = [paper for paper in our_papers().values() if paper.what_to_know]
    return {paper.id: summary(paper, [row for row in rows if row["paper"] == paper.id]) for paper in told}


def main(folder: Path) -> None:
    """Write the summaries into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in summaries().items():
        (folder / f"{name}.md").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
