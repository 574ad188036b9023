"""Tests of one record: error rates of an attacker, by every valid analysis and by every lower bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpexp.core.terminal import each
from dpexp.core.text import columns, down, up
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.reporting.templates import filled

CURVE = (*(round(10 ** (-4 + k / 6), 12) for k in range(24)), 0.9, 0.99)
"""false positive rates of a curve: 1e-4 to 0.68, six a decade, and two close to 1"""
RATES = (1e-3, 1e-2, 1e-1)
"""false positive rates of the table"""
PRIOR = 0.5
"""probability that the record is in the data, of the Bayes error"""
GUARANTEE, ATTAINED = "guarantee", "attained"


def attack_document(rows: Sequence[Analysis]) -> list[dict[str, Any]]:
    """The key `statements` of a tradeoff of `dpexp privacy --json`; `curve` has false positive and negative rates."""
    return [
        {"analysis": row.name, "released": row.released, "role": _role(row),
         "tpr": [[rate, row.tpr(rate)] for rate in RATES],
         "bayes_error": [[PRIOR, row.bayes_error(PRIOR)]], "advantage": row.advantage,
         "curve": [[rate, row.beta(rate, True)] for rate in CURVE]}
        for row in each(rows, "attack", lambda row: row.name)
    ]  # fmt: skip


def attack_text(rows: Sequence[Analysis]) -> str:
    """A table to read: of a guarantee what helps the attacker is rounded up, of a lower bound down."""
    head = ["analysis", "released", *(f"TPR @ FPR {rate:g}" for rate in RATES), "advantage", "Bayes error", ""]
    cells = []
    for row in each(rows, "attack", lambda row: row.name):
        attained = _role(row) == ATTAINED
        more, less = (down, up) if attained else (up, down)
        numbers = [*(more(row.tpr(rate)) for rate in RATES), more(row.advantage), less(row.bayes_error(PRIOR))]
        cells.append([row.name, row.released, *numbers, ATTAINED * attained])
    return filled("dpexp.reporting", "tradeoff.txt", table=columns(cells, head))


def _role(row: Analysis) -> str:
    return ATTAINED if row.side == "below" else GUARANTEE
