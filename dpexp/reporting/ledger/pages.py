"""The ledger as text: a list for the terminal, Markdown for pages, and how to try it.

`CLAIMS.md` leads to `claims/<paper>.md`, all about a paper and each claim. `docs/differences.md` is what did not
come out as printed, and `docs/artifact.md` what an evaluation of dpexp does first, and how it tries each headline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpexp.core.text import columns, few
from dpexp.reporting.ledger.judgement import FACTS, Judgement
from dpexp.reporting.paper import Difference
from dpexp.reporting.templates import filled
from dpexp.reporting.text_table import markdown_table
from dpexp.reporting.verdict import VERDICTS

if TYPE_CHECKING:
    from dpexp.reporting.paper import Paper, ToKnow


NOT_CURRENT = "stale or missing"


def overview(judgements: Sequence[Judgement], headlines: Mapping[str, str]) -> str:
    """What fits a screen: the headlines with their verdicts, and how many claims of each paper have which verdict."""
    first = [f"{says}\n  {one.verdict}: {one.id}" for one, says in headed(judgements, headlines)]
    papers = by_paper(judgements)
    of = [paper for paper in papers if any(name.startswith(f"{paper}/") for name in headlines)]
    rows = [[verdict, *(str(tally(papers[paper])[verdict]) for paper in of)] for verdict in tally(judgements)]
    others = [f"{paper}: {in_counts(some)}" for paper, some in papers.items() if paper not in of]
    ended = f"{len(judgements)} claims. dpexp claims ID says all about one, --format table lists all."
    return "\n\n".join(filter(None, ["\n".join(first), columns(rows, ["", *of]), "\n".join(others), ended]))


def headed(judgements: Sequence[Judgement], headlines: Mapping[str, str]) -> list[tuple[Judgement, str]]:
    """The claims to see first, each with what it found in one sentence."""
    by_id = {one.id: one for one in judgements}
    return [(by_id[name], says) for name, says in headlines.items() if name in by_id]


def by_paper(judgements: Sequence[Judgement]) -> dict[str, list[Judgement]]:
    """The claims of each paper."""
    papers = dict.fromkeys(one.paper for one in judgements)
    return {paper: [one for one in judgements if one.paper == paper] for paper in papers}


def tally(judgements: Sequence[Judgement]) -> Counter[str]:
    """How many have which verdict, in the order of the verdicts; what is not current comes last."""
    found = Counter(one.found["verdict"] if one.is_current else NOT_CURRENT for one in judgements)
    return Counter({name: found[name] for name in (*VERDICTS, NOT_CURRENT) if found[name]})


def in_counts(judgements: Sequence[Judgement]) -> str:
    """The same in words."""
    return ", ".join(f"{count} {verdict}" for verdict, count in tally(judgements).items())


def listed(judgements: Sequence[Judgement]) -> str:
    """One line a claim: its verdict, with what was expected where it differs, and its id."""
    rows = columns([[one.verdict, one.id] for one in judgements])
    return f"{rows}\n\n{len(judgements)} claims: {in_counts(judgements)}"


def section(one: Judgement) -> str:
    """Everything about one claim, under a heading that is its id."""
    claim, why = one.claim, one.claim["why"] if one.is_current else one.reason
    told = claim | (one.found if one.is_current else {})
    told |= {"seeds": one.seeds, "configs": ", ".join(f"`{name}`" for name in one.experiments)}
    told |= {"command": one.command}
    lines = [f"### {one.id}", "", f"{claim['place']}: {claim['statement']}", "", f"> {claim['quote'] or 'Ours.'}", ""]
    lines.append(f"- **{one.verdict.strip('[]')}**" + (f": {why}" if why else ""))
    return "\n".join(lines + [f"- {name}: {words}" for key, name in FACTS.items() if (words := told.get(key))])


def warnings(judgements: Iterable[Judgement]) -> list[str]:
    """A line for every verdict that is not the expected one, and for every reason why others are not current."""
    lines = []
    by_reason: dict[tuple[str, str], list[str]] = {}
    for one in judgements:
        if one.is_surprising:
            lines.append(f"unexpected: {one.id}: {one.verdict}; {one.found['measured']}")
        # one edit makes many claims stale: a line for each reason, and not for each claim
        elif not one.is_current:
            by_reason.setdefault((one.state, one.reason), []).append(one.id)
    return lines + [f"{state}: {few(ids, 1)}: {reason}" for (state, reason), ids in by_reason.items()]


INDEX, PAGE, NAME = "CLAIMS.md", "claims/{}.md", "artifact.md"
DIFFERENCES = "differences.md"
WRONG = ("false", "misprint", "misleading")


def link(one: Judgement, words: str, page: str = "") -> str:
    """To the heading of a claim, which readers of Markdown name without its strokes."""
    # a bracket, as in the interval [0, 1), would end the words of the link
    words = words.replace("[", r"\[").replace("]", r"\]")
    return f"[{words}]({page}#{one.id.replace('/', '')})"


def index(judgements: Sequence[Judgement], headlines: Mapping[str, str]) -> str:
    """The headlines, what the verdicts mean, and counts that lead to the pages; what is stale is counted if any is."""
    # a column of zeros for what is stale would look like a fault
    verdicts = [*VERDICTS, *([NOT_CURRENT] if NOT_CURRENT in tally(judgements) else [])]
    counts: dict[str, list[list[str]]] = {"The papers' claims": [], "Ours": []}
    for paper, both in by_paper(judgements).items():
        for rows, source in zip(counts.values(), ("paper", "ours"), strict=True):
            some = [one for one in both if one.claim["source"] == source]
            numbers = [len(some), *(tally(some)[verdict] for verdict in verdicts)]
            rows.append([f"[{paper}]({PAGE.format(paper)})", *map(str, numbers)])
    return _filled(INDEX.lower(), headed=headed(judgements, headlines), counts=counts, verdicts=verdicts)


def page(paper: str, judgements: Sequence[Judgement], of: Paper | None) -> str:
    """Everything about every claim of a paper, what to know, and what no claim decides."""
    rows = [
        [one.claim["place"], link(one, one.claim["statement"]), one.claim["source"], one.verdict] for one in judgements
    ]
    by_id = {one.id: one for one in judgements}
    return _filled("page.md", paper=paper, judgements=judgements, of=of, rows=rows, by_id=by_id)


def contradicted(told: ToKnow, by_id: Mapping[str, Judgement]) -> list[str]:
    """The rows that no longer carry a sentence, in words; what is not current contradicts nothing."""
    return [
        f"{name} is found {by_id[name].found['verdict']}, not {presumed}"
        for name, presumed in told.rests_on.items()
        if name in by_id and by_id[name].is_current and by_id[name].found["verdict"] != presumed
    ]


def differences(judgements: Sequence[Judgement], papers: Iterable[Paper]) -> str:
    """What does not hold as printed, by paper: claims that are found so, and declared differences."""
    found = {
        one.id: Difference(
            **{key: one.claim[key] for key in ("id", "place", "quote", "version", "authors_answer")},
            printed=one.claim["statement"],
            correct=one.claim["why"],
            found=one.found["measured"],
            verdict=one.found["verdict"],
            test=f"dpexp claims {one.id}",
        )
        for one in judgements
        if one.claim["source"] == "paper" and one.found.get("verdict") in WRONG
    }
    by_papers = [
        (of, [one for one in found.values() if one.id.startswith(f"{of.id}/")] + list(of.differences)) for of in papers
    ]
    return _filled(DIFFERENCES, papers=[(of, rows) for of, rows in by_papers if rows])


def artifact(judgements: Sequence[Judgement], headlines: Mapping[str, str]) -> str:
    """What an evaluation does first."""
    return _filled(NAME, headed=headed(judgements, headlines), judgements=judgements)


def _filled(name: str, **values: Any) -> str:
    """A template of this folder, which has the words of the page; it calls functions of this module."""
    called = {one.__name__: one for one in (link, section, in_counts, contradicted, markdown_table)}
    return filled("dpexp.reporting.ledger", name, INDEX=INDEX, PAGE=PAGE, **called, **values).rstrip("\n")
