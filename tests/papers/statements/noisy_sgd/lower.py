"""Theorem 1.3, remark 1.4, figure 1 and section 1.2 of `noisy-sgd`: where the loss stops growing, and how tight that is."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from dpexp.accounting.curve import eps_of_delta
from dpexp.papers.noisy_sgd.claims.instances import (
    HALF,
    MULTIPLIER,
    WIDTH,
    Point,
    Q,
    Wide,
    both,
    opposite,
    pushed,
)
from dpexp.papers.noisy_sgd.claims.lower import DRIFTING, KNEE, decay
from dpexp.privacy.analyses.last_iterate import composed, last_iterate
from dpexp.privacy.exact.walk import HockeyStick, Walk, WalkLaw, renyi
from dpexp.reporting.claim import Check, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.row import EXACT, above

CONVERTED = 2 * math.sqrt(17)
"""constant of (1.3) at the best order, from the constant 17 of Theorem 3.1"""


BEGINS = math.sqrt(1500 / 2 * math.log(1 / 0.01))
"""(1.3) at delta = 0.01 where the lower bound begins"""


SMALL = {f"q = {Q:g}, theta = {2 * Q * slope * WIDTH:.2g}": slope for slope in (0.0015, 0.003, 0.006, 0.01)}
"""where (1.3) is at most 1: records' steps in noise units"""


def large_range() -> dict[str, float]:
    """What privacy there is where tightness is proved, over 10, and how loose the bound is elsewhere at most, over 100."""
    attained = {f"epsilon at delta = 0.01 over 10, {k}": _attained(s) / 10 for k, s in DRIFTING.items()}
    return attained | {"largest bound / exact over 100, outside": max(_looseness().values()) / 100}


def _attained(s: Wide) -> float:
    return decay(s) * s.width / 2 + math.log(0.5 - 0.01)


@cache
def _looseness() -> dict[str, float]:
    """Bound over exact at T = 10^6 and order 8, by theta."""
    found = {}
    for slope in (0.002, 0.02, 0.25):
        bound = last_iterate(8.0, Q, 1 / (2 * slope), WIDTH, 10**6, "symmetrised").rdp
        found[f"theta = {2 * Q * slope * WIDTH:.2g}"] = bound / both(opposite(slope), 10**6, 8.0)
    return found


def epsilon_and_looseness(least: float) -> str:
    needed = min(_attained(s) for s in DRIFTING.values())
    return (
        f"at every setting that the lower bound covers, (eps, 0.01) needs eps of {needed:.0f} and more; bound / exact at T = 10^6, "
        "order 8, outside: " + ", ".join(f"{v:.3g} ({k})" for k, v in _looseness().items())
    )


def remark_upper() -> dict[str, float]:
    """(1.3) with the constant that the conversion of Theorem 3.1 adds up to, over the exact epsilon where it is not 0."""
    # an epsilon of 0 has no bound below it to be compared with
    found = {label: _epsilons(case.slope, case.steps, case.delta, case.q) for label, case in REMARK.items()}
    return {label: CONVERTED * printed / eps for label, (eps, printed) in found.items() if eps > 0}


class Converted(NamedTuple):
    """Where (1.3) is evaluated."""

    q: float
    slope: float
    steps: int
    delta: float

    @property
    def printed(self) -> float:
        """(1.3) with the constant 1."""
        knee = WIDTH / (self.q * self.slope)
        return self.q * self.slope * math.sqrt(min(self.steps, knee) * math.log(1 / self.delta))

    @property
    def point(self) -> Point:
        """Where the Renyi bound is read off: its best order, by the constant 17 of Theorem 3.1."""
        knee = WIDTH / (self.q * self.slope)
        slope = 17 * (self.q * self.slope) ** 2 * min(self.steps, knee)
        return Point(self.q, 1 / (2 * self.slope), 1 + math.sqrt(math.log(1 / self.delta) / slope))


REMARK = {
    f"theta = {2 * c.q * c.slope * WIDTH:.2g}, T = {c.steps:,}, delta = {c.delta:g}": c
    for c in (
        Converted(q, 0.0125, steps, delta) for q in (0.01, 0.03) for steps in (10**5, 10**7) for delta in (1e-3, 1e-5)
    )
}


def remark_tight() -> dict[str, float]:
    """Ten times the exact epsilon over the printed (1.3) as theta falls, where (1.3) is at most 1."""
    found = {name: _epsilons(slope, 10**6, 1e-5) for name, slope in SMALL.items()}
    return {f"{name}: {printed:.3g} against {eps:.3g}": 10 * eps / printed for name, (eps, printed) in found.items()}


def figure_1(evidence: Evidence) -> Outcome:
    """Steps at which the linear bound meets the new one, over T-bar; how both bounds go on."""
    knee = KNEE
    steps = np.unique(np.geomspace(knee / 10, 10 * knee, 200).round().astype(int))
    crossings = {}
    for step in ("literal", "symmetrised"):
        # the linear bound grows and the new one stops, so that they meet once
        above = [
            composed(2.0, Q, MULTIPLIER, int(t), step) > last_iterate(2.0, Q, MULTIPLIER, WIDTH, int(t), step).rdp
            for t in steps
        ]
        crossings[step] = float(steps[int(np.argmax(above))]) / knee
    later = last_iterate(2.0, Q, MULTIPLIER, WIDTH, 10**7, "literal").rdp
    # from three times the knee on nothing should move any more
    flat = later / last_iterate(2.0, Q, MULTIPLIER, WIDTH, 3 * knee, "literal").rdp - 1
    good = abs(flat) < 1e-6 and all(0.1 < c < 10 for c in crossings.values())
    return Outcome(
        "reproduced" if good else "false",
        "the linear bound grows without end, the new one stops after about T-bar steps",
        f"they meet at {crossings['literal']:.3g} T-bar ({crossings['symmetrised']:.3g} repaired); from 3 T-bar to 10^7 "
        f"steps the new one changes by {flat:.1g}",
        "none: evaluated formulas",
        {**crossings, "later": flat},
    )


def _epsilons(slope: float, steps: int, delta: float, q: float = Q) -> tuple[float, float]:
    """Exact epsilon of opposite slopes, and (1.3) with the constant 1."""
    one, other = (WalkLaw(walk, steps) for walk in opposite(slope, HALF, q))
    curve = HockeyStick(one, other)  # the pair is symmetric
    return eps_of_delta(curve, delta, 1e-4), Converted(q, slope, steps, delta).printed


HALF_4, PUSH, ORDER_8 = 4.0, 0.5, 8.0


CEILING = ORDER_8 * (2 * HALF_4 + 2 * PUSH) ** 2 / 2
"""given any two places the last step's laws are normal with means at most 2 half + 2 push apart: a bound for every T and
every loss whose steps are as long as the record's push and the others' 1/2"""


def without_convexity() -> dict[str, float]:
    """Exact divergences of a repelling, non-convex walk on a bounded set after 10^6 steps, over 1.01 times the earlier one."""
    # the repelling step jumps at 0, and panels must not reach across
    kinks = tuple(np.linspace(-HALF_4, HALF_4, 9)[1:-1])
    pair = [
        Walk(HALF_4, ((0.9, lambda y: y + np.sign(y) * 0.5), (0.1, pushed(sign * PUSH))), kinks) for sign in (-1, 1)
    ]
    early, late = (renyi(WalkLaw(pair[0], t), WalkLaw(pair[1], t), ORDER_8) for t in (10**3, 10**6))
    return {f"D_8 = {early:.4g} and {late:.4g}, at most {CEILING:g}": late / (1.01 * early)}


CHECKS = {
    "noisy-sgd/theorem-1-3/large-range": above(
        large_range, "no privacy where tightness is proved, and no constant where there is privacy", "", EXACT, "room",
        epsilon_and_looseness, "reproduced",
    ),
    "noisy-sgd/remark-1-4": above(
        remark_upper, f"at most {CONVERTED:.2g} L / (n sigma) sqrt(min(T, T-bar) log 1/delta)",
    ),
    "noisy-sgd/remark-1-4/tight": above(
        remark_tight, "a matching lower bound, in the same range of parameters", "delta = 1e-5, T = 10^6", EXACT,
        "(1.3) / 10 times the exact epsilon",
        lambda least: f"where the lower bound holds, theta of 1500 and more, (1.3) is {BEGINS:.3g} at delta = 0.01 and what is proved is 0.1",
        "reproduced", turned=True,
    ),
    "noisy-sgd/figure-1": Check(figure_1),
    "noisy-sgd/section-1-2/convexity": above(
        without_convexity, "without convexity the privacy loss increases with T for ever",
        "losses that push away from 0", EXACT, "divergence after 10^6 steps / 1.01 times that after 10^3",
        held="reproduced", otherwise="misleading",
    ),
}  # fmt: skip
