"""Where a bound is tightest, or false: a search for the largest log(exact / bound).

A point is a number in [0, 1] for each of the setting, the level asked and the shape of a family's pair.

(a) First a space-filling design, in which all admitted families are compared at the same setting and level.
(b) Then the worst points of the families are improved, by random moves that shrink on failure.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dpexp.privacy.exact.run_laws import RunPair, pair
from dpexp.privacy.exact.walk import ROUNDING
from dpexp.privacy.judge.bound import Bound
from dpexp.privacy.judge.families import ConstantGradients, Family, admitted
from dpexp.privacy.judge.setting import DIMENSIONS, AttainedLaw, BoundKind, attained, from_cube, level
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd

MARGIN = 1e-6
"""how much larger, relatively, an exact value has to be to count"""
FLOOR = 1e-9
"""values below this count as zero"""
SHAPES = 10
"""most shape numbers of a family"""
SPACE_FILLING = 0.4
"""share of the comparisons that fills the space"""
WORST = 7
"""points that are improved"""
STEP, SHRINK = 0.25, 0.93
"""of the moves of (b): the first length, and its factor for each failure, 45 of which lead to the least length .01"""


@dataclass(frozen=True)
class BoundComparison:
    """One exact value and the bound."""

    setting: NoisySgd
    family: Family
    shape: tuple[float, ...]
    at: float
    """delta, order, epsilon or false positive rate"""
    exact: float
    bound: float
    cube: tuple[float, ...] = ()
    grid_error: float = 0.0
    checked: str = ""
    """how the exact value was computed again"""

    @property
    def violated(self) -> bool:
        return self.exact > self.bound * (1 + MARGIN) and self.exact > FLOOR

    @property
    def score(self) -> float:
        """log(exact / bound); what there is to climb where one of them is 0."""
        if self.exact <= FLOOR:
            return -100.0
        # a bound that says nothing at a place where a pair attains something is nearer than a place with no pair
        return math.log(self.exact) - math.log(max(self.bound, 1e-12)) if math.isfinite(self.bound) else -90.0

    def again(self, bound: Bound) -> BoundComparison:
        """The same with its exact value computed by finer means; ValueError where the family has no pair."""
        exact = self.family.build(self.setting, self.shape)
        if exact is None:
            raise ValueError(f"the family {self.family.name} has no pair at these parameters")
        low, error, how = confirmed(exact, bound.kind, self.at)
        return replace(self, exact=low, grid_error=error, checked=how, cube=())


class Search:
    """Comparisons of one bound, in a deterministic order."""

    def __init__(self, bound: Bound, comparisons: int, seconds: float, seed: int) -> None:
        self.kind, self.assumes = bound.kind, bound.assumes
        self.most, self.seed = comparisons, seed
        # one question for all families that share a setting
        self.ask = lru_cache(64)(bound)
        self.deadline = time.monotonic() + seconds
        self.families = admitted(self.assumes)
        self.done: list[BoundComparison] = []
        self.stopped = False
        self.vacuous = 0
        """points at which the bound says nothing"""

    def run(self) -> list[BoundComparison]:
        """All comparisons, the worst of each family improved."""
        from threadpoolctl import threadpool_limits

        # matrices are small, and threads that wait for the next product take longer than one
        with threadpool_limits(1):
            self._fill()
            self._climb()
        return self.done

    def _over(self) -> bool:
        self.stopped = self.stopped or time.monotonic() > self.deadline
        return self.stopped

    def _fill(self) -> None:
        """(a): Sobol' points until their share of the comparisons is made; many points have no pair, or no bound."""
        from scipy.stats import qmc

        sobol = qmc.Sobol(DIMENSIONS + 1 + SHAPES, seed=self.seed)
        for _ in range(5 * self.most):
            for x in sobol.random(4):
                if not self._over():
                    self._point(x, self.families)
            if len(self.done) >= max(SPACE_FILLING * self.most, 1) or self.stopped:
                return

    def _point(self, x: np.ndarray, families: Sequence[Family]) -> BoundComparison | None:
        """Several families at one setting and level; the last comparison."""
        shape, last = tuple(map(float, x[DIMENSIONS + 1 :])), None
        setting = from_cube(x[:DIMENSIONS], self.assumes)
        laws = [(family, family.build(setting, shape)) for family in families]
        pairs = [(family, exact) for family, exact in laws if exact is not None]
        # beyond the variation no pair attains anything: a level below that of the pair that attains most
        at = level(self.kind, float(x[DIMENSIONS]), max((exact.variation for _, exact in pairs), default=0.0))
        for family, exact in pairs:
            # a delta that is attained at an epsilon would have to be searched for; the other way round it is the level
            delta = self.kind.function == "delta"
            place, value = (exact.eps(at), at) if delta else (at, attained(exact, self.kind, at))
            bound, cube = self.ask(place, setting), tuple(map(float, x))
            last = BoundComparison(setting, family, shape[: len(family.shape)], place, value, bound, cube)
            if math.isinf(bound):
                self.vacuous += 1
                last = replace(last, exact=0.0)
            else:
                self.done.append(last)
        return last

    def _climb(self) -> None:
        """(b): from the worst points, half of the coordinates at a time, steps that shrink on failure.

        They are the worst of few and of many steps of every family, up to `WORST`. With one step many bounds are
        attained: from there on there is no way up, so that few steps come last.
        """
        starts: dict[tuple[str, int], BoundComparison] = {}
        for c in sorted(self.done, key=lambda c: -c.score):
            starts.setdefault((c.family.name, min(3, round(math.log10(c.setting.steps) * 0.8))), c)
        worst = sorted(starts.values(), key=lambda c: c.setting.steps < 3)[:WORST]
        rng, each = np.random.default_rng(self.seed), max(1, (self.most - len(self.done)) // max(1, len(worst)))
        for best in worst:
            step, count, tries = STEP, len(self.done) + each, 0
            while len(self.done) < count and tries < 4 * each and not self._over():
                tries += 1
                x = np.array(best.cube)
                moved = rng.random(len(x)) < 0.5
                x[moved] += step * rng.uniform(-1, 1, int(moved.sum()))
                comparison = self._point(np.clip(x, 0.0, 1.0), [best.family])
                if comparison is not None and comparison.score > best.score:
                    best = comparison
                else:
                    step = max(0.01, step * SHRINK)


def confirmed(exact: AttainedLaw, kind: BoundKind, at: float) -> tuple[float, float, str]:
    """The value again by finer means: (value rounded down, its grid error, how)."""
    first = attained(exact, kind, at)
    if isinstance(exact, ConstantGradients) and exact.rounded:
        return first, 0.0, "a lower bound by construction: all rounding is charged"
    if isinstance(exact, RunPair):
        # what panels half as wide change, and no less than rounding, is taken off
        second = attained(pair(exact.first, exact.second, finer=2), kind, at)
        error = max(abs(second - first), ROUNDING * first)
        return min(first, second) - error, error, "panels half as wide"
    return first, 1e-12 * first, "closed form"
