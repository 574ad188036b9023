"""The ledger as text: a list for the terminal, and Markdown for a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dpexp.core.text import columns
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.verdict import VERDICTS, power_and_seeds

NOT_CURRENT = "stale or missing"


def overview(judgements: Sequence[Judgement], headlines: Mapping[str, str]) -> str:
    """What fits a screen: the headlines with their verdicts, and how many claims of each paper have which verdict."""
    first = [f"{says}\n  {with_surprise(one)}: {one.id}" for one, says in headed(judgements, headlines)]
    mine = {paper: [one for one in judgements if one.paper == paper] for paper in _papers(judgements)}
    found = {paper: tally(some) for paper, some in mine.items()}
    of = [paper for paper in mine if any(name.startswith(f"{paper}/") for name in headlines)]
    rows = [[verdict, *(str(found[paper][verdict]) for paper in of)] for verdict in tally(judgements)]
    others = [f"{paper}: {in_counts(some)}" for paper, some in mine.items() if paper not in of]
    ended = f"{len(judgements)} claims. dpexp claims ID says all about one, --format table lists all."
    return "\n\n".join(filter(None, ["\n".join(first), columns(rows, ["", *of]), "\n".join(others), ended]))


def headed(judgements: Sequence[Judgement], headlines: Mapping[str, str]) -> list[tuple[Judgement, str]]:
    """The claims to see first, each with what it found in one sentence."""
    by_id = {one.id: one for one in judgements}
    return [(by_id[name], says) for name, says in headlines.items() if name in by_id]


def _papers(judgements: Sequence[Judgement]) -> list[str]:
    return list(dict.fromkeys(one.paper for one in judgements))


def tally(judgements: Sequence[Judgement]) -> Counter[str]:
    """How many have which verdict, in the order of the verdicts; what is not current comes last."""
    found = Counter(str(one.found["verdict"]) if one.is_current else NOT_CURRENT for one in judgements)
    return Counter({name: found[name] for name in (*VERDICTS, NOT_CURRENT) if found[name]})


def in_counts(judgements: Sequence[Judgement]) -> str:
    """The same in words."""
    return ", ".join(f"{count} {verdict}" for verdict, count in tally(judgements).items())


def with_surprise(one: Judgement) -> str:
    """The verdict, and the expected one where it differs."""
    return one.verdict + (f" (expected: {one.expected})" if one.is_surprising else "")


def listed(judgements: Sequence[Judgement]) -> str:
    """One line a claim: its verdict, what was expected where it differs, and its id."""
    rows = [[one.verdict, f"expected: {one.expected}" if one.is_surprising else "", one.id] for one in judgements]
    if not any(row[1] for row in rows):
        rows = [[verdict, name] for verdict, _, name in rows]
    return f"{columns(rows)}\n\n{len(judgements)} claims: {in_counts(judgements)}"


def counts(judgements: Sequence[Judgement], source: str) -> tuple[list[str], list[list[str]]]:
    """Verdicts by paper, of the papers' own claims or of ours; what is not current has a column if there is any."""
    head = ["paper", "claims", *VERDICTS, *([NOT_CURRENT] if NOT_CURRENT in tally(judgements) else [])]
    rows = []
    for paper in _papers(judgements):
        mine = [one for one in judgements if one.paper == paper and one.claim["source"] == source]
        found = tally(mine)
        rows.append([paper, str(len(mine)), *(str(found[name]) for name in head[2:])])
    return head, rows


def section(one: Judgement, cost: str = "") -> str:
    """Everything about one claim, under a heading that is its id."""
    claim = one.claim
    lines = [f"### {one.id}", "", f"{claim['place']}: {claim['statement']}", ""]
    lines += [f"> {claim['quote']}" if claim["source"] == "paper" else "> Ours.", ""]
    if one.is_current:
        lines.append(f"- **{one.verdict}**" + (f": {claim['why']}" if claim["why"] else ""))
        if not one.as_expected:
            lines.append(f"- expected: {one.expected}")
    else:
        lines.append(f"- **{one.verdict.strip('[]')}**: {one.reason}")
    found = one.found if one.is_current else {}
    facts = {
        "predicted": found.get("predicted"),
        "measured": found.get("measured"),
        "uncertainty": found.get("uncertainty"),
        "tolerance": claim["tolerance"],
        "false if": claim["false_if"],
        "assumed, and checked of the settings": "; ".join(claim["hypotheses"]),
        "power": power_and_seeds(one.id),
        "configs": ", ".join(f"`{name}`" for name in one.experiments),
        "rerun": f"`{one.command}`" + (f" ({cost})" if cost else ""),
    }
    return "\n".join(lines + [f"- {name}: {words}" for name, words in facts.items() if words])


def surprises(judgements: Iterable[Judgement]) -> list[str]:
    """A line for every claim whose verdict is not the expected one."""
    return [
        f"{one.id}: {one.verdict}, expected: {one.expected}; {one.found['measured']}"
        for one in judgements
        if one.is_surprising
    ]


def not_current(judgements: Iterable[Judgement]) -> list[str]:
    """A line for every reason why verdicts are not current, with the claims that it concerns."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for one in judgements:
        if not one.is_current:
            by_reason.setdefault((one.state, one.reason), []).append(one.id)
    return [
        f"{state}: {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {reason}"
        for (state, reason), names in by_reason.items()
    ]
