"""The ledger as pages: `CLAIMS.md`, which leads to `claims/<paper>.md`, all about a paper and each claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpexp.reporting.ledger.costs import Costs
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.ledger.letter import letter
from dpexp.reporting.ledger.printed import counts, experiments_of, in_short, section, with_surprise
from dpexp.reporting.paper import NotClaimed, Paper
from dpexp.reporting.table import markdown_table

INDEX, FOLDER = "CLAIMS.md", "claims"
ABOUT = (
    "These lines come first of what was settled: what the papers say, quoted, against what stored results show. "
    "`dpexp claims` writes them, and for each paper a page that begins with what to know. *Holds as a bound* gives the "
    "looseness, bound over measured mean. *Misleading* is true in a sense that readers will not take; a *misprint* is "
    "false as printed and plainly not what is meant. Statements of *ours* complete, correct or sharpen the paper's."
)


def name_of(paper: str) -> str:
    """The page of a paper, from the index."""
    return f"{FOLDER}/{paper}.md"


def anchor(claim_id: str) -> str:
    """How a link names the heading of a claim: as readers of Markdown do, without the strokes."""
    return "#" + claim_id.replace("/", "")


def index(judgements: Sequence[Judgement], papers: Mapping[str, Paper]) -> str:
    """The headlines, what the verdicts mean, and counts that lead to the pages."""
    by_id = {one.id: one for one in judgements}
    headlines = [(name, says) for paper in papers.values() for name, says in paper.headlines.items() if name in by_id]
    parts = ["# Claims", "\n".join(_headline(by_id[name], says) for name, says in headlines), ABOUT]
    for title, source in (("The papers' claims", "paper"), ("Ours", "ours")):
        head, rows = counts(judgements, source)
        parts += [f"## {title}", markdown_table(head, [[f"[{row[0]}]({name_of(row[0])})", *row[1:]] for row in rows])]
    return "\n\n".join(filter(None, parts))


def _headline(one: Judgement, says: str) -> str:
    found = f"; {in_short(one)}" if one.is_current else ""
    link = f"[{one.id}]({name_of(one.paper)}{anchor(one.id)})"
    return f"* **{says}** *{with_surprise(one)}*{found} ({link})"


def _table(judgements: Sequence[Judgement]) -> str:
    rows = [
        [one.claim["place"], f"[{_quoted(one)}]({anchor(one.id)})", one.claim["source"], with_surprise(one)]
        for one in judgements
    ]
    return markdown_table(["place", "claim", "source", "verdict"], rows)


def _quoted(one: Judgement) -> str:
    """Its statement as the text of a link: an interval such as [0, 1) would end it."""
    return str(one.claim["statement"]).replace("[", r"\[").replace("]", r"\]")


def page(paper: str, judgements: Sequence[Judgement], of: Paper | None, costs: Costs) -> str:
    """Everything about every claim of a paper, and what of it no claim settles."""
    parts = [f"# Claims of {paper}"]
    not_claimed: Sequence[NotClaimed] = ()
    if of is not None:
        not_claimed = of.not_claimed
        parts.append(f"{of.authors}: *{of.title}*. [All papers](../{INDEX}).")
        if of.what_to_know:
            parts += ["## What to know", "\n".join(f"* {sentence}" for sentence in of.what_to_know)]
    parts += [*letter(judgements), "## The claims"]
    for title, source in (("The paper's", "paper"), ("Ours", "ours")):
        head, rows = counts(judgements, source)
        parts.append(f"{title}: {_counted(head, rows)}.")
    parts.append(_table(judgements))
    parts += [section(one, costs.words(one.id, experiments_of(one))) for one in judgements]
    if not_claimed:
        parts += [
            "## Not claimed here",
            "Numbered statements, figures, tables and emphasised sentences that no claim settles, and why.",
            markdown_table(["place", "what it says", "not settled because"], [list(one) for one in not_claimed]),
        ]
    return "\n\n".join(parts)


def _counted(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The one row of a table of counts, in words."""
    (row,) = rows
    found = [f"{number} {name}" for name, number in zip(head[2:], row[2:], strict=True) if number != "0"]
    return f"{row[1]}" + (f" ({', '.join(found)})" if found else "")
