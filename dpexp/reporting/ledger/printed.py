"""The ledger as text: a list for the terminal, Markdown for a page, LaTeX for an appendix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from dpexp.core.text import columns
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.verdict import VERDICTS, power_and_seeds

NOT_CURRENT = "stale or missing"


def overview(judgements: Sequence[Judgement], headlines: Mapping[str, str]) -> str:
    """What fits a screen: the headlines with their verdicts, and how many claims of each paper have which verdict."""
    by_id = {one.id: one for one in judgements}
    first = [f"{says}\n  {with_surprise(by_id[name])}: {name}" for name, says in headlines.items() if name in by_id]
    found = Counter((one.paper, _verdict(one)) for one in judgements)
    every = list(dict.fromkeys(one.paper for one in judgements))
    of = [paper for paper in every if any(name.startswith(f"{paper}/") for name in headlines)]
    verdicts = [verdict for verdict in (*VERDICTS, NOT_CURRENT) if any(found[paper, verdict] for paper in every)]
    rows = [[verdict, *(str(found[paper, verdict]) for paper in of)] for verdict in verdicts]
    others = [
        f"{paper}: " + ", ".join(f"{found[paper, verdict]} {verdict}" for verdict in verdicts if found[paper, verdict])
        for paper in every
        if paper not in of
    ]
    ended = f"{len(judgements)} claims. dpexp claims ID says all about one, --format table lists all."
    return "\n\n".join(filter(None, ["\n".join(first), columns(rows, ["", *of]), "\n".join(others), ended]))


def with_surprise(one: Judgement) -> str:
    """The verdict, and the expected one where it differs."""
    return one.verdict + (f" (expected: {one.expected})" if one.is_surprising else "")


def _verdict(one: Judgement) -> str:
    return str(one.found["verdict"]) if one.is_current else NOT_CURRENT


def listed(judgements: Sequence[Judgement]) -> str:
    """One line a claim: its verdict, what was expected where it differs, and its id."""
    rows = [[one.verdict, f"expected: {one.expected}" if one.is_surprising else "", one.id] for one in judgements]
    counts = Counter(one.found["verdict"] for one in judgements if one.is_current)
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    if rest := sum(not one.is_current for one in judgements):
        parts.append(f"{rest} {NOT_CURRENT}")
    if not any(row[1] for row in rows):
        rows = [[verdict, name] for verdict, _, name in rows]
    return f"{columns(rows)}\n\n{len(judgements)} claims: {', '.join(parts)}"


def counts(judgements: Sequence[Judgement], source: str) -> tuple[list[str], list[list[str]]]:
    """Verdicts by paper, of the papers' own claims or of ours; what is not current has a column if there is any."""
    unknown = any(not one.is_current for one in judgements)
    head = ["paper", "claims", *VERDICTS, *([NOT_CURRENT] if unknown else [])]
    rows = []
    for paper in dict.fromkeys(one.paper for one in judgements):
        mine = [one for one in judgements if one.paper == paper and one.claim["source"] == source]
        counted = Counter(_verdict(one) for one in mine)
        rows.append([paper, str(len(mine)), *(str(counted[name]) for name in head[2:])])
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
        "configs": ", ".join(f"`{name}`" for name in experiments_of(one)),
        "rerun": f"`{command(one)}`" + (f" ({cost})" if cost else ""),
    }
    return "\n".join(lines + [f"- {name}: {words}" for name, words in facts.items() if words])


def experiments_of(one: Judgement) -> list[str]:
    """The names of the experiments whose results a claim reads."""
    return [str(path).removeprefix("configs/").removesuffix(".yaml") for path in one.claim["configs"]]


def in_short(one: Judgement) -> str:
    """The first thing that was measured: a check that looks at several says them one after the other."""
    return str(one.found["measured"]).split("; ")[0]


def command(one: Judgement) -> str:
    """What runs and judges one claim anew."""
    return f"dpexp claims {one.id} --rerun"


def markdown(judgements: Sequence[Judgement], cost: Callable[[Judgement], str] = lambda _: "") -> str:
    """Counts, where there are several claims, and a section for each; `cost` says what a rerun takes."""
    from dpexp.reporting.table import markdown_table

    parts: list[str] = []
    if len(judgements) > 1:
        parts += ["# Claims", "The papers' claims:", markdown_table(*counts(judgements, "paper"))]
        parts += ["Ours:", markdown_table(*counts(judgements, "ours"))]
    return "\n\n".join([*parts, *(section(one, cost(one)) for one in judgements)])


def latex(judgements: Sequence[Judgement]) -> str:
    """Counts, and claims with predictions and measurements, for a paper's appendix (booktabs; widths by hand)."""
    from dpexp.reporting.table import latex_table

    rows = []
    for one in judgements:
        found = one.found if one.is_current else {}
        words = [str(found.get(key) or "") for key in ("predicted", "measured")]
        rows.append([one.claim["place"], one.claim["statement"], *words, one.verdict])
    head = ["place", "claim", "predicted", "measured", "verdict"]
    return "\n\n".join(
        (
            latex_table("Verdicts on the papers' claims", *counts(judgements, "paper"), ""),
            latex_table("Verdicts on ours", *counts(judgements, "ours"), ""),
            latex_table("Claims", head, rows, "", "lp{4cm}p{4cm}p{6cm}l"),
        )
    )


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
