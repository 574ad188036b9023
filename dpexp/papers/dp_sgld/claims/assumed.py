"""What the statements of `dp-sgld` assume of a setting, as code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpexp.papers.dp_sgld.cases import Case
from dpexp.reporting.hypothesis import Hypothesis, of_settings


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


def step_at_most_half(shares: Mapping[str, float]) -> Hypothesis:
    """eta <= 1 / (2 beta); eta times beta, by name."""
    return of_settings("eta <= 1 / (2 beta)", shares, lambda share: share <= 0.5 * (1 + 1e-12), 0.9)


def enough_records(ratios: Mapping[str, float]) -> Hypothesis:
    """K of Theorems 4.1 and 4.2 is positive: eps n^2 > alpha d; the ratio, by name."""
    return of_settings("eps n^2 > alpha d, so that K is positive", ratios, lambda ratio: ratio > 1, 0.5)


def budget(pairs: Mapping[str, tuple[float, float]]) -> Hypothesis:
    """eps <= 2 log(1/delta); the two sides, by name."""
    return of_settings("eps <= 2 log(1/delta)", pairs, lambda pair: 0 < pair[0] <= pair[1], (100.0, 1.0))
