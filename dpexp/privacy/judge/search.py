"""Where a bound is tightest, or false: a search for the largest log(exact / bound).

A point is a number in [0, 1] for each of the setting, the level asked and the shape of a family's pair.

(a) Corners first: settings at which accountants are known to lose digits.
(b) Then a space-filling design, in which all admitted families are compared at the same setting and level.
(c) Then the worst points of the families are improved, by random moves that shrink on failure.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpexp.privacy.exact.runs import RunPair, pair
from dpexp.privacy.exact.walk import ROUNDING
from dpexp.privacy.judge.families import FAMILIES, Allocated, Composed, Family, admitted
from dpexp.privacy.judge.kinds import Attained, Kind, level, placed, tightest, value
from dpexp.privacy.judge.setting import DIMENSIONS, Assumes, Setting, from_cube

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
    (noise, q, steps)
    for noise, q in ((1.0, 0.01), (2.0, 0.05), (1.0, 0.2), (0.7, 0.004))
    for steps in (10**3, 10**4, 10**5)
]
CORNER_DELTAS = (1e-5, 1e-8, 1e-10, 1e-12, 1e-14)
"""of (a), for all iterates under Poisson sampling: many steps and small deltas"""
BoundAt = Callable[[float, Setting], float]


@dataclass(frozen=True)
class Comparison:
    """One exact value beside the bound, and beside one from below what no run with these assumptions exceeds."""

    setting: Setting
    family: str
    shape: tuple[float, ...]
    at: float
    """delta, order, epsilon or false positive rate"""
    exact: float
    bound: float
    cube: tuple[float, ...] = ()
    upper: float | None = None
    """of a bound from below: the least value of an analysis of all such runs; inf where there is none"""

    @property
    def sides(self) -> tuple[float, float]:
        """Two numbers, of which the first is the larger only if the bound is false: what a pair attains and the bound,
        or a bound from below and what no run with these assumptions exceeds."""
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


class Search:
    """Comparisons of one bound, in a deterministic order."""

    def __init__(
        self, kind: Kind, assumes: Assumes, bound: BoundAt, comparisons: int, seconds: float, seed: int
    ) -> None:
        self.kind, self.assumes, self.bound = kind, assumes, bound
        self.most, self.seed, self.seconds = comparisons, seed, seconds
        self.deadline = time.monotonic() + seconds
        self.families = admitted(assumes)
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

    @property
    def _over(self) -> bool:
        self.stopped = self.stopped or time.monotonic() > self.deadline
        return self.stopped

    def _corners(self) -> None:
        """(a): at most a tenth of the comparisons."""
        a, most = self.assumes, self.most // 10
        steps_of_poisson = a.sampling == "poisson" and a.released == "all-iterates" and not a.strongly_convex
        if self.kind.quantity == "rdp" or not steps_of_poisson:
            return
        family = next(f for f in FAMILIES if f.name == "composition")
        # all deltas of a setting in a row, for a bound that keeps its law
        for noise, q, steps in CORNERS:
            setting = Setting(1000, round(1000 * q), steps, 1.0, noise / round(1000 * q), 1.0)
            exact = exact_pair(family, setting, a, (0.0,))
            for delta in CORNER_DELTAS:
                if len(self.done) >= most or self._over:
                    return
                at, attained = placed(self.kind, delta, exact)
                self._add(family, setting, (0.0,), at, attained, self.bound(at, setting), ())

    def _fill(self) -> None:
        """(b): Sobol' points until their share of the comparisons is made; many points have no pair, or no bound."""
        from scipy.stats import qmc

        sobol = qmc.Sobol(DIMENSIONS + 1 + SHAPES, seed=self.seed)
        budget = max(SPACE_FILLING * self.most, len(self.done) + 1)
        tries = 0
        while len(self.done) < budget and tries < 20 * self.most and not self._over:
            for x in sobol.random(4):
                tries += 1
                self._point(x, self.families)
                if self._over:
                    return  # type: ignore[unreachable]  # _point sets it

    def _point(self, x: np.ndarray, families: Sequence[Family]) -> Comparison | None:
        """Several families at one setting and level, where they have no settings of their own; the last comparison.

        The bound is asked once for all that share the setting.
        """
        shape = tuple(float(v) for v in x[DIMENSIONS + 1 :])
        if self.kind.lower:
            return self._from_below(x, shape, families)
        laws: list[tuple[Family, Setting, Attained]] = []
        for family in families:
            setting = (family.own_setting or _shared)(x[:DIMENSIONS], shape, self.assumes)
            exact = family.build(setting, self.assumes, shape)
            if exact is not None:
                laws.append((family, setting, exact))
        # beyond the variation no pair attains anything: a level below that of the pair that tells most
        variation = max((exact.variation for _, _, exact in laws), default=0.0)
        chosen = level(self.kind, float(x[DIMENSIONS]), variation)
        bounds: dict[tuple[float, Setting], float] = {}
        found = None
        for family, setting, exact in laws:
            at, attained = placed(self.kind, chosen, exact)
            if (at, setting) not in bounds:
                bounds[at, setting] = self.bound(at, setting)
            found = self._add(family, setting, shape, at, attained, bounds[at, setting], tuple(float(v) for v in x))
        return found

    def _from_below(self, x: np.ndarray, shape: tuple[float, ...], families: Sequence[Family]) -> Comparison | None:
        """The same of a bound from below, which is asked first: where it says nothing, no pair is built."""
        setting, place, found = _shared(x[:DIMENSIONS], shape, self.assumes), float(x[DIMENSIONS]), None
        # most delta is attained at epsilon 0, which no random number is
        asked = (0.0, 10 ** (4 * place - 3)) if self.kind.quantity == "delta" else (level(self.kind, place, 1.0),)
        for at in asked:
            bound = self.bound(at, setting)
            if not 0 < bound < math.inf or math.isinf(least(setting, self.assumes, self.kind, at)):
                self.vacuous += 1
                continue
            for family in families:
                exact = None if family.own_setting else family.build(setting, self.assumes, shape)
                if exact is not None:
                    cube = tuple(float(v) for v in x)
                    found = self._add(family, setting, shape, at, value(exact, self.kind, at), bound, cube)
        return found

    def _add(
        self,
        family: Family,
        setting: Setting,
        shape: tuple[float, ...],
        at: float,
        attained: float,
        bound: float,
        cube: tuple[float, ...],
    ) -> Comparison:
        # a bound from below is held against the least of all upper bounds, where there is one
        upper = least(setting, self.assumes, self.kind, at) if self.kind.lower and bound > 0 else None
        nothing = math.isinf(bound) or (self.kind.lower and (upper is None or math.isinf(upper)))
        seen, most = (0.0, None) if nothing else (attained, upper)
        found = Comparison(setting, family.name, shape[: len(family.shape)], at, seen, bound, cube, most)
        if nothing:
            self.vacuous += 1
        else:
            self.done.append(found)
        return found

    def _climb(self) -> None:
        """(c): from the worst points, half of the coordinates at a time, steps that shrink on failure."""
        rng = np.random.default_rng(self.seed)
        starts = self._starts()
        each = max(1, (self.most - len(self.done)) // max(1, len(starts)))
        for start in starts:
            family = next(f for f in self.families if f.name == start.family)
            best, step = start, STEP
            count = len(self.done) + each
            tries = 0
            while len(self.done) < count and tries < 4 * each and not self._over:
                tries += 1
                # (c): half of the coordinates move at a time
                x = np.array(best.cube)
                moved = rng.random(len(x)) < 0.5
                x[moved] += step * rng.uniform(-1, 1, int(moved.sum()))
                found = self._point(np.clip(x, 0.0, 1.0), [family])
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
            first.setdefault((c.family, min(3, round(math.log10(c.setting.steps) * 0.8))), c)
        ranked = sorted(first.items(), key=lambda pair: -pair[1].score)
        # 0 is few steps; two places are left for those, if others fill the rest
        several = [c for (_, size), c in ranked if size > 0][: WORST - 2]
        return several + [c for _, c in ranked if c not in several][: WORST - len(several)]


def _shared(x: np.ndarray, _shape: Sequence[float], assumes: Assumes) -> Setting:
    """The setting of all families that have none of their own."""
    return from_cube(x, assumes)


def least(setting: Setting, assumes: Assumes, kind: Kind, at: float) -> float:
    """The least upper bound of all runs with these assumptions; inf where no analysis has one."""
    found = tightest(setting, assumes, kind, at)
    return math.inf if found is None else float(found["value"])


def exact_pair(family: Family, setting: Setting, assumes: Assumes, shape: Sequence[float]) -> Attained:
    """The family's laws there; ValueError where it has none."""
    laws = family.build(setting, assumes, tuple(shape))
    if laws is None:
        raise ValueError(f"the family {family.name} has no pair at these parameters")
    return laws


def confirmed(exact: Attained, kind: Kind, at: float) -> tuple[float, float, str]:
    """The value again by finer means: (value rounded down, its grid error, how)."""
    first = value(exact, kind, at)
    if isinstance(exact, Composed | Allocated):
        return first, 0.0, "a lower bound by construction: all rounding is charged"
    if isinstance(exact, RunPair):
        # what panels half as wide change, and no less than rounding, is taken off
        second = value(pair(exact.one, exact.other, finer=2), kind, at)
        error = max(abs(second - first), ROUNDING * first)
        return min(first, second) - error, error, "panels half as wide"
    return first, 1e-12 * first, "closed form"
