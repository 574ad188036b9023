"""The ledger as text: lists for the terminal, and Markdown pages.

`CLAIMS.md` leads to `claims/<paper>.md`, with all claims of a paper; `docs/differences.md` has what does not hold as
printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.text import columns, few
from dpexp.reporting.claim import VERDICTS, WRONG
from dpexp.reporting.ledger.verdicts import Judgement
from dpexp.reporting.paper import Difference
from dpexp.reporting.templates import filled
from dpexp.reporting.text_table import markdown_table

if TYPE_CHECKING:
    from dpexp.reporting.paper import Paper, ToKnow

NOT_CURRENT = "stale or missing"
INDEX, PAGE, DIFFERENCES = "CLAIMS.md", "claims/{}.md", "differences.md"
FACTS = {
    "predicted": "predicted", "measured": "measured", "uncertainty": "uncertainty", "tolerance": "tolerance",
    "false_if": "false if", "version": "version judged", "configs": "configs", "command": "command",
}  # fmt: skip
"""lines below the verdict of a claim: fields, and what they are called"""


def by_paper(judgements: Sequence[Judgement]) -> dict[str, list[Judgement]]:
    papers = dict.fromkeys(row.paper for row in judgements)
    return {paper: [row for row in judgements if row.paper == paper] for paper in papers}


def tally(judgements: Sequence[Judgement]) -> Counter[str]:
    """How many have which verdict, in the order of the verdicts; rows that are not current come last."""
    counts = Counter(row.found["verdict"] if row.is_current else NOT_CURRENT for row in judgements)
    return Counter({name: counts[name] for name in (*VERDICTS, NOT_CURRENT) if counts[name]})


def in_counts(judgements: Sequence[Judgement]) -> str:
    """The same in words."""
    return ", ".join(f"{count} {verdict}" for verdict, count in tally(judgements).items())


def listed(judgements: Sequence[Judgement]) -> str:
    """A line for each claim: its verdict and its id."""
    return (
        f"{columns([[row.verdict, row.id] for row in judgements])}\n\n{len(judgements)} claims: {in_counts(judgements)}"
    )


def section(row: Judgement) -> str:
    """Everything about one claim, under a heading that is its id."""
    claim, why = row.claim, row.claim["why"] if row.is_current else row.reason
    configs = ", ".join(f"`{Path(path).stem}`" for path in claim["configs"])
    facts = {**claim, **(row.found if row.is_current else {}), "command": row.command, "configs": configs}
    lines = [f"### {row.id}", "", f"{claim['place']}: {claim['statement']}", "", f"> {claim['quote'] or 'Ours.'}", ""]
    lines.append(f"- **{row.verdict.strip('[]')}**" + (f": {why}" if why else ""))
    return "\n".join(lines + [f"- {name}: {words}" for key, name in FACTS.items() if (words := facts.get(key))])


def warnings(judgements: Iterable[Judgement]) -> list[str]:
    """A line for every verdict that is not the expected one, and for every reason why others are not current."""
    lines = []
    by_reason: dict[tuple[str, str], list[str]] = {}
    for row in judgements:
        if row.is_surprising:
            lines.append(f"unexpected: {row.id}: {row.verdict}; {row.found['measured']}")
        # an edit makes many claims stale: a line for each reason, and not for each claim
        elif not row.is_current:
            by_reason.setdefault((row.state, row.reason), []).append(row.id)
    return lines + [f"{state}: {few(ids, 1)}: {reason}" for (state, reason), ids in by_reason.items()]


def link(row: Judgement, words: str, page: str = "") -> str:
    """To the heading of a claim, whose anchor has no strokes."""
    # a bracket, as in the interval [0, 1), would end the words of the link
    words = words.replace("[", r"\[").replace("]", r"\]")
    return f"[{words}]({page}#{row.id.replace('/', '')})"


def index(judgements: Sequence[Judgement], headlines: Mapping[str, str]) -> str:
    """The headlines, what the verdicts mean, and counts that lead to the pages."""
    # a column of zeros for stale rows would look like a fault
    verdicts = [*VERDICTS, *([NOT_CURRENT] if NOT_CURRENT in tally(judgements) else [])]
    counts: dict[str, list[list[str]]] = {"The papers' claims": [], "Ours": []}
    for paper, both in by_paper(judgements).items():
        for table, source in zip(counts.values(), ("paper", "ours"), strict=True):
            rows = [row for row in both if row.claim["source"] == source]
            numbers = [len(rows), *(tally(rows)[verdict] for verdict in verdicts)]
            table.append([f"[{paper}]({PAGE.format(paper)})", *map(str, numbers)])
    by_id = {row.id: row for row in judgements}
    headed = [(by_id[name], words) for name, words in headlines.items() if name in by_id]
    return _filled(INDEX.lower(), headed=headed, counts=counts, verdicts=verdicts)


def page(paper: str, judgements: Sequence[Judgement], of: Paper | None) -> str:
    """Every claim of a paper, and what to know."""
    rows = [
        [row.claim["place"], link(row, row.claim["statement"]), row.claim["source"], row.verdict] for row in judgements
    ]
    by_id = {row.id: row for row in judgements}
    return _filled("page.md", paper=paper, judgements=judgements, of=of, rows=rows, by_id=by_id)


def contradicted(sentence: ToKnow, by_id: Mapping[str, Judgement]) -> list[str]:
    """The rows that no longer carry a sentence, in words; a row that is not current contradicts nothing."""
    return [
        f"{name} is found {by_id[name].found['verdict']}, not {presumed}"
        for name, presumed in sentence.rests_on.items()
        if name in by_id and by_id[name].is_current and by_id[name].found["verdict"] != presumed
    ]


def differences(judgements: Sequence[Judgement], papers: Iterable[Paper]) -> str:
    """What does not hold as printed, by paper: claims with such a verdict, and declared differences."""
    judged = [
        Difference(
            **{key: row.claim[key] for key in ("id", "place", "quote", "version", "authors_answer")},
            printed=row.claim["statement"], correct=row.claim["why"], found=row.found["measured"],
            verdict=row.found["verdict"], test=f"dpexp claims {row.id}",
        )
        for row in judgements
        if row.claim["source"] == "paper" and row.found.get("verdict") in WRONG
    ]  # fmt: skip
    rows = [(of, [row for row in judged if row.id.startswith(f"{of.id}/")] + list(of.differences)) for of in papers]
    return _filled(DIFFERENCES, papers=[(of, own) for of, own in rows if own])


def _filled(name: str, **values: Any) -> str:
    """A template of this folder; it calls functions of this module."""
    functions = {each.__name__: each for each in (link, section, in_counts, contradicted, markdown_table)}
    return filled("dpexp.reporting.ledger", name, INDEX=INDEX, PAGE=PAGE, **functions, **values).rstrip("\n")
