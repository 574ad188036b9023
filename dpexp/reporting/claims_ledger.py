"""The ledger: every claim settled by the stored results, as a document, Markdown or LaTeX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.core.errors import ResultsMissing
from dpexp.plugins.loaded import as_options
from dpexp.reporting.claim import VERDICTS, Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.slopes import SlopeError
from dpexp.reporting.table import latex_table, markdown_table


class Entry(NamedTuple):
    """A claim and what its check found."""

    claim: Claim
    outcome: Outcome

    @property
    def as_expected(self) -> bool:
        return self.outcome.verdict == self.claim.expected


def settle(results: Path, claims: Sequence[Claim]) -> list[Entry]:
    """Run every check on stored results.

    Raises ResultsMissing that names everything that has to be run first.
    """
    evidence = Evidence(results)
    missing = {}
    for experiment in dict.fromkeys(name for claim in claims for name in claim.experiments):
        try:
            evidence.require(experiment)
        except ResultsMissing as error:
            missing[experiment] = error.message
    if missing:
        where = "" if results == Path("results") else f" --results {results}"
        options = "".join(f" {word}" for word in as_options())
        configs = " ".join(f"configs/{name}.yaml" for name in missing)
        first = next(iter(missing.values()))
        more = f", and {len(missing) - 1} more experiments" if len(missing) > 1 else ""
        raise ResultsMissing(
            f"claims need results that are missing or stale: {first}{more}", f"run: dpexp run {configs}{where}{options}"
        )
    return [Entry(claim, _checked(claim, evidence)) for claim in claims]


def _checked(claim: Claim, evidence: Evidence) -> Outcome:
    try:
        return claim.check(evidence)
    except SlopeError as error:
        return Outcome("not at this sample size", "", f"no slope can be fitted: {error}", "none")


def document(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """One dict a claim, with stable keys."""
    return [
        {
            "id": claim.id,
            "paper": claim.paper,
            "place": claim.place,
            "statement": claim.statement,
            "kind": claim.kind,
            "predicted": outcome.predicted,
            "measured": outcome.measured,
            "uncertainty": outcome.uncertainty,
            "tolerance": claim.tolerance,
            "verdict": outcome.verdict,
            "expected_verdict": claim.expected,
            "configs": [f"configs/{name}.yaml" for name in claim.experiments],
            "why": claim.why,
            "numbers": outcome.numbers,
        }
        for claim, outcome in entries
    ]


def surprises(entries: Sequence[Entry]) -> list[str]:
    """A line for every claim whose verdict is not the expected one."""
    return [
        f"{claim.id}: {outcome.verdict}, expected: {claim.expected}; {outcome.measured}"
        for claim, outcome in entries
        if outcome.verdict != claim.expected
    ]


def _counts(entries: Sequence[Entry]) -> tuple[list[str], list[list[str]]]:
    papers = dict.fromkeys(entry.claim.paper for entry in entries)
    head = ["paper", "claims", *VERDICTS]
    rows = []
    for paper in papers:
        counted = Counter(e.outcome.verdict for e in entries if e.claim.paper == paper)
        rows.append([paper, str(sum(counted.values())), *(str(counted[verdict]) for verdict in VERDICTS)])
    return head, rows


def _overview(entries: Sequence[Entry]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for entry in entries:
        flag = "" if entry.as_expected else " (expected: " + entry.claim.expected + ")"
        rows.append([entry.claim.place, entry.claim.statement, entry.outcome.verdict + flag, entry.claim.id])
    return ["place", "claim", "verdict", "id"], rows


def markdown(entries: Sequence[Entry]) -> str:
    """Counts, an overview, and a section a claim."""
    parts = [
        "# Claims",
        "What the papers say, in our words, against what stored results show. Written by `dpexp claims` from the "
        "results of `make reproduce`; nothing here is typed in. *Holds as a bound* gives the looseness, bound over "
        "measured mean. Statements marked completed, corrected or sharpened are ours, where the printed one is "
        "undefined or wrong.",
        markdown_table(*_counts(entries)),
        markdown_table(*_overview(entries)),
        "## Evidence",
    ]
    for claim, outcome in entries:
        lines = [
            f"### {claim.id}",
            "",
            f"{claim.place}: {claim.statement}",
            "",
            f"- **{outcome.verdict}**" + (f": {claim.why}" if claim.why else ""),
        ]
        if outcome.verdict != claim.expected:
            lines.append(f"- expected: {claim.expected}")
        lines += [f"- predicted: {outcome.predicted}"] if outcome.predicted else []
        lines += [
            f"- measured: {outcome.measured}",
            f"- uncertainty: {outcome.uncertainty}",
            f"- tolerance: {claim.tolerance}",
        ]
        if claim.experiments:
            lines.append("- configs: " + ", ".join(f"`{name}`" for name in claim.experiments))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def latex(entries: Sequence[Entry]) -> str:
    """The overview with predictions and measurements, for a paper's appendix (booktabs, longtable width by hand)."""
    rows = [[c.place, c.statement, o.predicted, o.measured, o.verdict] for c, o in entries]
    counts = latex_table("Verdicts", *_counts(entries), "")
    return (
        counts
        + "\n\n"
        + latex_table(
            "Claims", ["place", "claim", "predicted", "measured", "verdict"], rows, "", "lp{4cm}p{4cm}p{6cm}l"
        )
    )
