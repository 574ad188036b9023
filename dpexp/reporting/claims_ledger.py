"""The ledger: every claim settled by the stored results, as a document, Markdown or LaTeX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from dpexp.core.errors import ResultsMissing
from dpexp.plugin import as_options
from dpexp.reporting.claim import VERDICTS, Claim, Outcome, Source
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.noticed import noticed
from dpexp.reporting.paper import NotClaimed
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

    Raises ResultsMissing that names everything that has to be run first, and OutsideHypotheses where a claim would be
    judged on settings that its theorem does not cover.
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
        return claim.settled(evidence)
    except SlopeError as error:
        return Outcome("not at this sample size", "", f"no slope can be fitted: {error}", "none")


def document(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """One dict a claim, with stable keys."""
    return [
        {
            "id": claim.id,
            "paper": claim.paper,
            "place": claim.place,
            "source": claim.source,
            "quote": claim.quote,
            "statement": claim.statement,
            "kind": claim.kind,
            "hypotheses": [hypothesis.words for hypothesis in claim.hypotheses],
            "false_if": claim.false_if,
            "predicted": outcome.predicted,
            "measured": outcome.measured,
            "uncertainty": outcome.uncertainty,
            "tolerance": claim.tolerance,
            "verdict": outcome.verdict,
            "expected_verdict": claim.expected,
            "configs": [f"configs/{name}.yaml" for name in claim.experiments],
            "why": claim.why,
            "noticed": noticed(claim.id),
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


def _counts(entries: Sequence[Entry], source: Source) -> tuple[list[str], list[list[str]]]:
    """Verdicts by paper, of the papers' own claims or of ours."""
    papers = dict.fromkeys(entry.claim.paper for entry in entries)
    head = ["paper", "claims", *VERDICTS]
    rows = []
    for paper in papers:
        of_source = [e for e in entries if e.claim.paper == paper and e.claim.source == source]
        counted = Counter(e.outcome.verdict for e in of_source)
        rows.append([paper, str(len(of_source)), *(str(counted[verdict]) for verdict in VERDICTS)])
    return head, rows


def _overview(entries: Sequence[Entry]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for entry in entries:
        claim = entry.claim
        flag = "" if entry.as_expected else " (expected: " + claim.expected + ")"
        rows.append([claim.place, claim.statement, claim.source, entry.outcome.verdict + flag, claim.id])
    return ["place", "claim", "source", "verdict", "id"], rows


def markdown(entries: Sequence[Entry], not_claimed: Mapping[str, Sequence[NotClaimed]] = MappingProxyType({})) -> str:
    """Counts, an overview, a section a claim, and what no claim settles, by paper."""
    parts = [
        "# Claims",
        "What the papers say, quoted, against what stored results show. Written by `dpexp claims` from the "
        "results of `make reproduce`; nothing here is typed in. *Holds as a bound* gives the looseness, bound over "
        "measured mean. *Misleading* is true in a sense that readers will not take; a *misprint* is false as printed "
        "and plainly not what is meant. Statements whose source is *ours* complete, correct or sharpen the paper's.",
        "## The papers' claims",
        markdown_table(*_counts(entries, "paper")),
        "## Ours",
        markdown_table(*_counts(entries, "ours")),
        "## Overview",
        markdown_table(*_overview(entries)),
        "## Evidence",
        *(_section(entry) for entry in entries),
    ]
    if any(not_claimed.values()):
        rows = [[paper, *one] for paper, some in not_claimed.items() for one in some]
        parts += [
            "## Not claimed here",
            "Numbered statements, figures, tables and emphasised sentences that no claim settles, and why.",
            markdown_table(["paper", "place", "what it says", "not settled because"], rows),
        ]
    return "\n\n".join(parts)


def _section(entry: Entry) -> str:
    claim, outcome = entry
    source = f"> {claim.quote}" if claim.source == "paper" else "> Ours."
    lines = [f"### {claim.id}", "", f"{claim.place}: {claim.statement}", "", source, ""]
    lines.append(f"- **{outcome.verdict}**" + (f": {claim.why}" if claim.why else ""))
    if not entry.as_expected:
        lines.append(f"- expected: {claim.expected}")
    facts = {
        "predicted": outcome.predicted,
        "measured": outcome.measured,
        "uncertainty": outcome.uncertainty,
        "tolerance": claim.tolerance,
        "false if": claim.false_if,
        "assumed, and checked of the settings": "; ".join(hypothesis.words for hypothesis in claim.hypotheses),
        "power": noticed(claim.id) or "",
        "configs": ", ".join(f"`{name}`" for name in claim.experiments),
    }
    return "\n".join(lines + [f"- {name}: {words}" for name, words in facts.items() if words])


def latex(entries: Sequence[Entry]) -> str:
    """The overview with predictions and measurements, for a paper's appendix (booktabs, longtable width by hand)."""
    rows = [[c.place, c.statement, o.predicted, o.measured, o.verdict] for c, o in entries]
    counts = (
        latex_table("Verdicts on the papers' claims", *_counts(entries, "paper"), ""),
        latex_table("Verdicts on ours", *_counts(entries, "ours"), ""),
    )
    return "\n\n".join(
        (
            *counts,
            latex_table(
                "Claims", ["place", "claim", "predicted", "measured", "verdict"], rows, "", "lp{4cm}p{4cm}p{6cm}l"
            ),
        )
    )
