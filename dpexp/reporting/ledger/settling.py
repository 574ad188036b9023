"""A claim's check, carried out: the outcome, in the form in which it is stored and shown."""

from __future__ import annotations

import json
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
    as_read: dict[str, Any] = json.loads(
        json.dumps(standard(numbers)), parse_float=lambda x: float(f"{float(x):.{DIGITS}g}")
    )
    return as_read
