"""What the statements of `dp-sgld` assume of a setting, as code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from dpexp.papers.dp_sgld.cases import Case
from dpexp.reporting.claim import Hypothesis, assumed, of_runs, of_settings
from dpexp.reporting.evidence import Evidence, Run

NEAR = 1e-3
"""relative: noise is calibrated to the nominal epsilon by bisection, to fewer digits than that"""


def theorem_3_1(cases: Sequence[Case]) -> tuple[Hypothesis, ...]:
    """Strong convexity, smoothness and step; L-Lipschitz on the set; and a set of diameter at most 2 L / lambda."""
    return (
        of_settings(
            "the losses are lambda-strongly convex and beta-smooth, and eta < 1 / beta",
            {case.name: (case.strong_convexity, case.eta * case.strong_convexity) for case in cases},
            lambda pair: pair[0] > 0 and pair[1] < 1,
            (1.0, 1.5),
        ),
        of_settings(
            "the losses are L-Lipschitz on C",
            {case.name: (steepest(case), case.lipschitz) for case in cases},
            lambda pair: pair[0] <= pair[1] * (1 + 1e-12),
            (2.0, 1.0),
        ),
        of_settings(
            "C has a diameter of at most 2 L / lambda",
            {case.name: 2 * case.radius * case.strong_convexity / case.lipschitz for case in cases},
            lambda share: share <= 2,
            3.0,
        ),
    )


def steepest(case: Case) -> float:
    """The longest gradient lambda theta - x on [-R, R], x in [-B, B]: at a corner, since it is linear in both."""
    corners = ((sign * case.radius, x) for sign in (-1, 1) for x in (-case.size, case.size))
    return max(abs(case.strong_convexity * theta - x) for theta, x in corners)


step_at_most_half = assumed("eta <= 1 / (2 beta)", lambda share: share <= 0.5 * (1 + 1e-12), 0.9)
"""eta times beta"""
enough_records = assumed("eps n^2 > alpha d, so that K is positive", lambda ratio: ratio > 1, 0.5)
"""the ratio of both sides, for K of Theorems 4.1 and 4.2"""
budget = assumed("eps <= 2 log(1/delta)", lambda pair: 0 < pair[0] <= pair[1], (100.0, 1.0))
"""the two sides"""


def stated(experiment: str) -> Hypothesis:
    """What a private run states is the epsilon at which the tables compare, and so is what composition gives it."""

    def used(evidence: Evidence) -> list[Run]:
        return [run for run in evidence.runs(experiment) if math.isfinite(float(run.row["eps"]))]

    def holds(run: Run) -> bool:
        nominal, own = float(run.row["eps"]), float(run.row["eps_1e-05"])
        # the column of composition is there where the accountant is another one
        sound = float(run.row.get("sound_eps_1e-05", math.nan))
        unsound = run.row["accountant"] == "pld" and not math.isnan(sound) and sound > nominal * (1 + NEAR)
        return math.isclose(own, nominal, rel_tol=NEAR) and not unsound

    def doubled(run: Run) -> Run:
        return replace(run, row={**run.row, "eps_1e-05": 2 * float(run.row["eps_1e-05"])})

    return of_runs("the stated epsilon at delta = 1e-5 is the nominal one", used, holds, doubled)
