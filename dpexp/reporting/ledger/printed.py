"""The ledger as text: a list for the terminal, and Markdown for a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dpexp.core.text import columns, few
from dpexp.reporting.ledger.judgement import FACTS, Judgement
from dpexp.reporting.verdict import VERDICTS, power_and_seeds

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
    told |= {"hypotheses": "; ".join(claim["hypotheses"]), "noticed": power_and_seeds(one.id)}
    told |= {"configs": ", ".join(f"`{name}`" for name in one.experiments), "rerun": one.command}
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
