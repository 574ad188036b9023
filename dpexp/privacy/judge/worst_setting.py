"""Where a bound is tightest, or false: a search for the largest log(exact / bound).

A point is a number in [0, 1] for each of the setting, the level asked and the shape of a family's pair.

(a) Corners first: settings at which accountants are known to lose digits.
(b) Then a space-filling design, in which all admitted families are compared at the same setting and level.
(c) Then the worst points of the families are improved, by random moves that shrink on failure.
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
from dpexp.privacy.judge.families import FAMILIES, Composed, Family, admitted, exact_pair
from dpexp.privacy.judge.kinds import Kind, Law, attained, level, tightest
from dpexp.privacy.judge.setting import DIMENSIONS, Setting, from_cube

MARGIN = 1e-6
"""how much larger, relatively, an exact value has to be to count"""
FLOOR = 1e-9
"""values below this are not told from zero"""
SHAPES = 10
"""most shape numbers of a family"""
SPACE_FILLING = 0.4
"""share of the comparisons that fills the space"""
WORST = 7
"""points that are improved"""
STEP, SHRINK = 0.25, 0.93
"""of the moves of (c): the first length, and its factor for each failure, of which 45 lead to the least length .01"""
CORNERS = [
    Setting(1000, round(1000 * q), steps, 1.0, noise / round(1000 * q), 1.0)
    for noise, q in ((1.0, 0.01), (2.0, 0.05), (1.0, 0.2), (0.7, 0.004))
    for steps in (10**3, 10**4, 10**5)
]
CORNER_DELTAS = (1e-5, 1e-8, 1e-10, 1e-12, 1e-14)
"""of (a), for all iterates under Poisson sampling: many steps and small deltas"""


@dataclass(frozen=True)
class Comparison:
    """One exact value beside the bound, and beside one from below what no run with these assumptions exceeds."""

    setting: Setting
    family: Family
    shape: tuple[float, ...]
    at: float
    """delta, order, epsilon or false positive rate"""
    exact: float
    bound: float
    upper: float | None = None
    """of a bound from below: the least value of an analysis of all such runs; inf where there is none"""
    cube: tuple[float, ...] = ()
    grid_error: float = 0.0
    checked: str = ""
    """how the exact value was computed again"""

    @property
    def sides(self) -> tuple[float, float]:
        """Two numbers, of which the first is larger only if the bound is false: what is attained and its limit."""
        return (self.exact, self.bound) if self.upper is None else (self.bound, self.upper)

    @property
    def compared(self) -> bool:
        return self.sides[0] > FLOOR and math.isfinite(self.sides[1])

    @property
    def violated(self) -> bool:
        return self.sides[0] > self.sides[1] * (1 + MARGIN) and self.sides[0] > FLOOR

    @property
    def confirmed(self) -> bool:
        """Whether a pair attains what a bound from below says."""
        return self.upper is not None and FLOOR < self.bound <= self.exact

    @property
    def score(self) -> float:
        """log(exact / bound), or log(bound / upper); what there is to climb where one of them is 0."""
        low, high = self.sides
        if low <= FLOOR:
            return -100.0
        # a bound that says nothing at a place where a pair attains something is nearer than a place with no pair
        return math.log(low) - math.log(max(high, 1e-12)) if math.isfinite(high) else -90.0

    def again(self, bound: Bound) -> Comparison:
        """The same with its exact value computed by finer means; ValueError where the family has no pair."""
        low, error, how = confirmed(
            exact_pair(self.family, self.setting, bound.assumes, self.shape), bound.kind, self.at
        )
        return replace(self, exact=low, grid_error=error, checked=how, cube=())


class Search:
    """Comparisons of one bound, in a deterministic order."""

    def __init__(self, bound: Bound, comparisons: int, seconds: float, seed: int) -> None:
        self.bound, self.kind, self.assumes = bound, bound.kind, bound.assumes
        self.most, self.seed, self.seconds = comparisons, seed, seconds
        # one question for all families that share a setting
        self.ask = lru_cache(64)(bound)
        self.deadline = time.monotonic() + seconds
        self.families = admitted(self.assumes)
        self.done: list[Comparison] = []
        self.stopped = False
        self.vacuous = 0
        """points at which the bound says nothing, or one from below meets no analysis"""

    def run(self) -> list[Comparison]:
        """All comparisons, the worst of each family improved."""
        from threadpoolctl import threadpool_limits

        # matrices are small, and threads that wait for the next product take longer than one
        with threadpool_limits(1):
            self._corners()
            self._fill()
            self._climb()
        return self.done

    def _over(self) -> bool:
        self.stopped = self.stopped or time.monotonic() > self.deadline
        return self.stopped

    def _corners(self) -> None:
        """(a): at most a tenth of the comparisons."""
        a = self.assumes
        if self.kind.quantity == "rdp" or a.sampling != "poisson" or a.released != "all-iterates" or a.strongly_convex:
            return
        (family,) = (f for f in FAMILIES if f.name == "composition")
        # all deltas of a setting in a row, for a bound that keeps its law
        for setting in CORNERS:
            exact = exact_pair(family, setting, a, (0.0,))
            for delta in CORNER_DELTAS:
                if len(self.done) >= self.most // 10 or self._over():
                    return
                self._compare(family, setting, (0.0,), *self._place(exact, delta))

    def _fill(self) -> None:
        """(b): Sobol' points until their share of the comparisons is made; many points have no pair, or no bound."""
        from scipy.stats import qmc

        sobol = qmc.Sobol(DIMENSIONS + 1 + SHAPES, seed=self.seed)
        enough, tries = max(SPACE_FILLING * self.most, len(self.done) + 1), 0
        while len(self.done) < enough and tries < 20 * self.most and not self._over():
            for x in sobol.random(4):
                tries += 1
                self._point(x, self.families)
                if self._over():
                    return

    def _point(self, x: np.ndarray, families: Sequence[Family]) -> Comparison | None:
        """Several families at one setting and level, where they have no settings of their own; the last comparison."""
        shape, place, last = tuple(map(float, x[DIMENSIONS + 1 :])), float(x[DIMENSIONS]), None
        shared, lower = from_cube(x[:DIMENSIONS], self.assumes), self.kind.lower
        # no pair is built where a bound from below says nothing; it is asked at the shared setting alone
        asked = self._levels_below(shared, place) if lower else []
        if lower and not asked:
            return None
        laws: list[tuple[Family, Setting, Law]] = []
        for family in families:
            own = family.own_setting
            setting = own(x[:DIMENSIONS], shape) if own else shared
            exact = None if lower and own else family.build(setting, self.assumes, shape)
            if exact is not None:
                laws.append((family, setting, exact))
        # beyond the variation no pair attains anything: a level below that of the pair that attains most
        chosen = level(self.kind, place, max((exact.variation for _, _, exact in laws), default=0.0))
        levels: list[float | None] = [*asked] or [None]
        for at in levels:
            for family, setting, exact in laws:
                found = self._place(exact, chosen) if at is None else (at, attained(exact, self.kind, at))
                last = self._compare(family, setting, shape, *found, tuple(map(float, x)))
        return last

    def _place(self, exact: Law, chosen: float) -> tuple[float, float]:
        """The argument at which a bound from above is asked, and what the pair attains there."""
        # a delta that is attained at a given epsilon would have to be searched for; the other way round it is the level
        if self.kind.quantity == "delta":
            return exact.eps(chosen), chosen
        return chosen, attained(exact, self.kind, chosen)

    def _levels_below(self, setting: Setting, place: float) -> list[float]:
        """Where a bound from below says something that an analysis covers."""
        # most delta is attained at epsilon 0, which no random number is
        delta = self.kind.quantity == "delta"
        places = (0.0, 10 ** (4 * place - 3)) if delta else (level(self.kind, place, 1.0),)
        found = [at for at in places if 0 < self.ask(at, setting) < math.inf > self._least(setting, at)]
        self.vacuous += len(places) - len(found)
        return found

    def _least(self, setting: Setting, at: float) -> float:
        return tightest(setting, self.assumes, self.kind, at)[0]

    def _compare(
        self, family: Family, setting: Setting, shape: tuple[float, ...], at: float, low: float,
        cube: tuple[float, ...] = (),
    ) -> Comparison:  # fmt: skip
        """What a pair attains, beside the bound; it counts where the bound says something."""
        bound = self.ask(at, setting)
        # a bound from below is compared with the least of all upper bounds
        upper = (self._least(setting, at) if bound > 0 else math.inf) if self.kind.lower else None
        found = Comparison(setting, family, shape[: len(family.shape)], at, low, bound, upper, cube)
        if math.inf in (bound, upper):
            self.vacuous += 1
            return replace(found, exact=0.0, upper=None)
        self.done.append(found)
        return found

    def _climb(self) -> None:
        """(c): from the worst points, half of the coordinates at a time, steps that shrink on failure."""
        rng, starts = np.random.default_rng(self.seed), self._starts()
        each = max(1, (self.most - len(self.done)) // max(1, len(starts)))
        for best in starts:
            step, count, tries = STEP, len(self.done) + each, 0
            while len(self.done) < count and tries < 4 * each and not self._over():
                tries += 1
                x = np.array(best.cube)
                moved = rng.random(len(x)) < 0.5
                x[moved] += step * rng.uniform(-1, 1, int(moved.sum()))
                found = self._point(np.clip(x, 0.0, 1.0), [best.family])
                if found is not None and found.score > best.score:
                    best = found
                else:
                    step = max(0.01, step * SHRINK)

    def _starts(self) -> list[Comparison]:
        """The worst of few, some and many steps of every family, up to `WORST`, those first that are no special case.

        With one step many bounds are attained: from there on there is no way up.
        """
        first: dict[tuple[str, int], Comparison] = {}
        for c in sorted((c for c in self.done if c.cube), key=lambda c: -c.score):
            first.setdefault((c.family.name, min(3, round(math.log10(c.setting.steps) * 0.8))), c)
        # 0 is few steps; two places are left for those, if others fill the rest
        several = [c for (_, size), c in first.items() if size > 0][: WORST - 2]
        return several + [c for c in first.values() if c not in several][: WORST - len(several)]


def confirmed(exact: Law, kind: Kind, at: float) -> tuple[float, float, str]:
    """The value again by finer means: (value rounded down, its grid error, how)."""
    first = attained(exact, kind, at)
    if isinstance(exact, Composed) and exact.rounded:
        return first, 0.0, "a lower bound by construction: all rounding is charged"
    if isinstance(exact, RunPair):
        # what panels half as wide change, and no less than rounding, is taken off
        second = attained(pair(exact.one, exact.other, finer=2), kind, at)
        error = max(abs(second - first), ROUNDING * first)
        return min(first, second) - error, error, "panels half as wide"
    return first, 1e-12 * first, "closed form"
