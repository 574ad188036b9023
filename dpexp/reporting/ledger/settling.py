"""A claim's check, carried out: the outcome, in the form in which it is stored and shown."""

from __future__ import annotations

from typing import Any

from dpexp.core.standard_json import standard
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.slopes import SlopeError

DIGITS = 12
"""of the numbers behind a verdict: the digits after these depend on the processor, and no verdict does"""


def settled(claim: Claim, evidence: Evidence) -> Outcome:
    """What the check of a claim finds in the experiments that it declares.

    Raises OutsideHypotheses where a setting that it uses violates a hypothesis, ResultsMissing, and Undeclared.
    """
    try:
        outcome = claim.settled(evidence.only(claim.experiments))
    except SlopeError as error:
        return Outcome("not at this sample size", "", f"no slope can be fitted: {error}", "none")
    return Outcome(outcome.verdict, outcome.predicted, outcome.measured, outcome.uncertainty, kept(outcome.numbers))


def kept(numbers: dict[str, Any]) -> dict[str, Any]:
    """Numbers as standard JSON, with the digits that two processors agree on."""
    rounded: dict[str, Any] = _rounded(standard(numbers))
    return rounded


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
