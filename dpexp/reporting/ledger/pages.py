"""The ledger as pages, and how to try it.

`CLAIMS.md` leads to `claims/<paper>.md`, all about a paper and each claim, with a letter to its authors of what did not
come out as printed. `docs/artifact.md` is what an evaluation of dpexp does first, and how it tries each headline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template

from dpexp.core.text import counted
from dpexp.reporting.ledger.costs import Costs
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.ledger.printed import counts, headed, in_counts, section, with_surprise
from dpexp.reporting.paper import Paper, ToKnow
from dpexp.reporting.table import markdown_table

DEAR = (
    "Dear authors, thank you for your work, which we have read and run line by line. This is what we noticed on the "
    "way. Each point names the place, quotes it and says why we read it otherwise; `dpexp claims ID --rerun` tries it. "
    "We may be wrong: then we should be glad to hear it, and to correct this page."
)
MATTERS = {
    "misprint": "Misprints, with what we take to be meant",
    "false": "What does not hold as it is printed",
    "misleading": "What a reader may take for more than it says",
}
MENDS = ("Corrected", "Corrects", "Completed", "Replaced", "Restricts")
"""how the statement begins of a claim of ours that repairs one of the paper"""
HELD = ("reproduced", "holds as a bound")


def letter(judgements: Sequence[Judgement]) -> list[str]:
    """The letter in paragraphs; none where there is nothing to say. What is stale is told as it was judged last."""
    told = {
        title: [_point(one) for one in judgements if one.claim["source"] == "paper" and _last(one) == verdict]
        for verdict, title in MATTERS.items()
    }
    told["What holds in its place"] = [
        f"* {one.claim['place']}. {one.claim['statement']} (`{one.id}`)"
        for one in judgements
        if one.claim["source"] == "ours" and _last(one) in HELD and one.claim["statement"].startswith(MENDS)
    ]
    if not any(told.values()):
        return []
    known = [f"### {title}\n\n" + "\n".join(points) for title, points in told.items() if points]
    return ["## What its authors should know", DEAR, *known]


def _last(one: Judgement) -> str:
    return str(one.found.get("verdict"))


def _point(one: Judgement) -> str:
    claim = one.claim
    found = "Found" if one.is_current else f"Found before ({one.reason})"
    why = f": {claim['why']}" if claim["why"] else ""
    return f"* {claim['place']}, \u201c{claim['quote']}\u201d{why}. {found}: {one.short} (`{one.id}`)"


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
    parts = [
        "# Claims",
        "\n".join(_headline(one, says) for one, says in headed(judgements, headlines_of(papers))),
        ABOUT,
    ]
    for title, source in (("The papers' claims", "paper"), ("Ours", "ours")):
        head, rows = counts(judgements, source)
        parts += [f"## {title}", markdown_table(head, [[f"[{row[0]}]({name_of(row[0])})", *row[1:]] for row in rows])]
    return "\n\n".join(filter(None, parts))


def headlines_of(papers: Mapping[str, Paper]) -> dict[str, str]:
    """What the papers say to see first, by claim."""
    return {name: says for paper in papers.values() for name, says in paper.headlines.items()}


def _headline(one: Judgement, says: str) -> str:
    found = f"; {one.short}" if one.is_current else ""
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
    if of is not None:
        parts.append(f"{of.authors}: *{of.title}*. [All papers](../{INDEX}).")
    if of is not None and of.what_to_know:
        by_id = {one.id: one for one in judgements}
        parts += ["## What to know", "\n".join(_to_know(told, by_id) for told in of.what_to_know)]
    parts += [*letter(judgements), "## The claims"]
    for title, source in (("The paper's", "paper"), ("Ours", "ours")):
        some = [one for one in judgements if one.claim["source"] == source]
        parts.append(f"{title}: {len(some)}" + (f" ({in_counts(some)})." if some else "."))
    parts.append(_table(judgements))
    parts += [section(one, costs.words(one)) for one in judgements]
    if of is not None and of.not_claimed:
        parts += [
            "## Not claimed here",
            "Numbered statements, figures, tables and emphasised sentences that no claim settles, and why.",
            markdown_table(["place", "what it says", "not settled because"], [list(one) for one in of.not_claimed]),
        ]
    return "\n\n".join(parts)


def _to_know(told: ToKnow, by_id: Mapping[str, Judgement]) -> str:
    """A sentence with links to its rows on the page, and with what is found where it presumes something else."""
    links = [f"[{name.partition('/')[2]}]({anchor(name)})" for name in told.rests_on if name in by_id]
    after = f" ({', '.join(links)})" if links else ""
    return f"* {told.says}{after}" + "".join(f" **But {words}.**" for words in contradicted(told, by_id))


def contradicted(told: ToKnow, by_id: Mapping[str, Judgement]) -> list[str]:
    """The rows that no longer carry a sentence, in words; what is not current contradicts nothing."""
    return [
        f"{name} is found {by_id[name].verdict}, not {presumed}"
        for name, presumed in told.rests_on.items()
        if name in by_id and by_id[name].is_current and by_id[name].verdict != presumed
    ]


NAME = "artifact.md"


def artifact(judgements: Sequence[Judgement], papers: Mapping[str, Paper], costs: Costs) -> str:
    """The whole page: its words are in the file of the same name, with the places of what the ledger says."""
    words = Template((files("dpexp.reporting.ledger") / NAME).read_text(encoding="utf-8"))
    first = headed(judgements, headlines_of(papers))
    found = {
        "statements": counted(len(judgements), "statement"),
        "headlines": "\n\n".join(_tried(number, one, says, costs) for number, (one, says) in enumerate(first, 1)),
        "total": _total(judgements, costs),
    }
    return words.substitute(found).rstrip("\n")


def _total(judgements: Sequence[Judgement], costs: Costs) -> str:
    """What everything takes, as a paragraph, where all of it is known."""
    needed = {name for one in judgements for name in one.experiments}
    if not needed <= set(costs.experiments) or not {one.id for one in judgements} <= set(costs.claims):
        return ""
    running, judging = costs.running(costs.experiments), sum(costs.claims.values())
    return (
        f"All experiments take {running:,.0f} CPU seconds, all claims {judging:,.0f}, measured on {costs.measured_on}; "
        "each of the commands above needs a few more to start.\n\n"
    )


def _tried(number: int, one: Judgement, says: str, costs: Costs) -> str:
    cost = costs.words(one)
    lines = [f"*{one.paper}*: **{says}**", f"`{one.command}`" + (f" ({cost})" if cost else "")]
    lines += [f"Expected: **{one.expected}**; {one.short}." if one.is_current else f"Not current: {one.reason}."]
    lines += [f"Tolerance: {one.claim['tolerance']}."]
    return f"{number}. " + "\\\n   ".join(lines)
