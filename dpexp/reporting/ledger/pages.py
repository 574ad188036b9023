"""The ledger as pages: `CLAIMS.md`, which counts and links, and `claims/<paper>.md` with all about each claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpexp.reporting.ledger.costs import Costs
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.ledger.printed import counts, experiments_of, section
from dpexp.reporting.paper import NotClaimed, Paper
from dpexp.reporting.table import markdown_table

INDEX, FOLDER = "CLAIMS.md", "claims"
ABOUT = (
    "What the papers say, quoted, against what stored results show. Written by `dpexp claims` from the results of "
    "`make reproduce`; nothing here is typed in. *Holds as a bound* gives the looseness, bound over measured mean. "
    "*Misleading* is true in a sense that readers will not take; a *misprint* is false as printed and plainly not what "
    "is meant. Statements whose source is *ours* complete, correct or sharpen the paper's."
)


def name_of(paper: str) -> str:
    """The page of a paper, from the index."""
    return f"{FOLDER}/{paper}.md"


def anchor(claim_id: str) -> str:
    """How a link names the heading of a claim: as readers of Markdown do, without the strokes."""
    return "#" + claim_id.replace("/", "")


def index(judgements: Sequence[Judgement], papers: Mapping[str, Paper]) -> str:
    """Counts, and every claim with its verdict and a link to its page."""
    parts = ["# Claims", ABOUT]
    for title, source in (("The papers' claims", "paper"), ("Ours", "ours")):
        head, rows = counts(judgements, source)
        parts += [f"## {title}", markdown_table(head, [[_to_page(row[0]), *row[1:]] for row in rows])]
    for paper in dict.fromkeys(one.paper for one in judgements):
        mine = [one for one in judgements if one.paper == paper]
        parts += [
            f"## {paper}",
            _title(paper, papers),
            markdown_table(["place", "claim", "source", "verdict"], _rows(mine)),
        ]
    return "\n\n".join(part for part in parts if part)


def _to_page(paper: str) -> str:
    return f"[{paper}]({name_of(paper)})"


def _title(paper: str, papers: Mapping[str, Paper]) -> str:
    if paper not in papers:
        return ""
    one = papers[paper]
    missing = (
        f" What no claim settles stands [at its end]({name_of(paper)}#not-claimed-here)." if one.not_claimed else ""
    )
    return f"{one.authors}: *{one.title}*. [All about each claim]({name_of(paper)}).{missing}"


def _rows(judgements: Sequence[Judgement]) -> list[list[str]]:
    rows = []
    for one in judgements:
        surprise = f" (expected: {one.expected})" if one.is_surprising else ""
        link = f"[{one.claim['statement']}]({name_of(one.paper)}{anchor(one.id)})"
        rows.append([one.claim["place"], link, one.claim["source"], one.verdict.strip("[]") + surprise])
    return rows


def page(paper: str, judgements: Sequence[Judgement], of: Paper | None, costs: Costs) -> str:
    """Everything about every claim of a paper, and what of it no claim settles."""
    not_claimed: Sequence[NotClaimed] = () if of is None else of.not_claimed
    parts = [f"# Claims of {paper}"]
    if of is not None:
        parts.append(f"{of.authors}: *{of.title}*. [All papers](../{INDEX}).")
    if costs.measured_on:
        parts.append(
            f"Times are those of one core ({costs.measured_on}); running is needed once, then results are stored."
        )
    for title, source in (("The paper's claims", "paper"), ("Ours", "ours")):
        head, rows = counts(judgements, source)
        parts.append(f"{title}: {_counted(head, rows)}.")
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
