"""The search for the pair of neighbours that tells most at a given delta.

(a) Only events of probability about delta matter, so that what is best at one delta is not at another: at a small one
the others pull nearly all runs into a trap at one wall, which a run leaves rarely, and with the record a little less
rarely; beyond it a plateau keeps it.
(b) A search starts from a grid of such shapes, from others that do nothing and from others that push away from the
middle, and climbs along the gradient (L-BFGS-B). The best is then improved with twice as many places for the drift, and
from random starts around it, as long as there is time.
(c) Convex losses of the others can only pull all runs to a wall: one number, by Brent's method, and then the start.

The pair in which the others do nothing is always a candidate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product

import numpy as np

from dpexp.core.roots import least
from dpexp.privacy.exact.projected_run import Pair, ProjectedRun
from dpexp.privacy.pairs.gradient import Landscape

KNOTS, FINER = 13, 25
ITERATIONS = 45
STEEPEST = 0.6
"""slope of the others over the room, up to which convex losses are searched"""
STARTS = (-1.0, -0.5, 0.5, 1.0)
"""where runs of convex losses start, beside the middle"""
SHAPES = tuple(product(np.linspace(-0.1, 0.7, 8), (0.85, 1.0), (-0.1, -0.05, 0.0, 0.05, 0.1), (1.0, 0.5)))
"""(end of the trap, end of the plateau, drift on the plateau, pull of the trap), 160 of them"""
Clock = Callable[[], float]


class _TimeIsUp(Exception):
    pass


def trap(knots: int, shape: Sequence[float]) -> np.ndarray:
    """A trap up to a place, then a plateau, then a pull to the other wall; the run starts in the middle."""
    begin, end, level, pull = shape
    at = np.linspace(-1, 1, knots)
    return np.append(np.where(at < begin, -pull, np.where(at < end, level, 1.0)), 0.0)


def nothing(run: ProjectedRun, delta: float) -> Pair:
    """The pair in which the others do nothing."""
    return Pair((-1.0, 1.0), (0.0, 0.0), 0.0, 1.0, delta)


def search(run: ProjectedRun, delta: float, seconds: float, clock: Clock = time.monotonic) -> list[Pair]:
    """Pairs worth to be certified, the most promising last; `seconds` by the clock, overrun by one evaluation."""
    end = clock() + seconds
    if run.convex:
        slopes = sorted(_steepest(run, delta, end, clock), key=lambda one: one[0])
        return [nothing(run, delta), *(pair for _, pair in slopes)]
    # opposite records are each other's mirror image: one order of the neighbours is enough
    orders = [(1.0, False)] if run.replaced else [(1.0, False), (1.0, True)]
    found = [nothing(run, delta)]
    best: list[tuple[float, Pair]] = []
    for k, (record, swapped) in enumerate(orders):
        until = clock() + (end - clock()) / (len(orders) - k)
        best += _climb(Landscape(run, delta, KNOTS, record, swapped), until, clock)
    return found + [pair for _, pair in sorted(best, key=lambda one: one[0])]


def _climb(landscape: Landscape, end: float, clock: Clock) -> Iterator[tuple[float, Pair]]:
    """The best pair of the grid and of every start that there is time for."""
    best, at = -np.inf, trap(KNOTS, SHAPES[0])
    # a single step has no others before it to lead the run anywhere
    if landscape.run.steps < 2:
        return
    # (b): the grid of shapes
    graded: list[tuple[float, int, np.ndarray]] = []
    for shape in SHAPES:
        if clock() >= end:
            break
        x = trap(KNOTS, shape)
        graded.append((landscape.value(x), len(graded), x))
    graded.sort(reverse=True)
    # the best shape, a push away from the middle, nothing, and the second shape from another start
    even = np.linspace(-1, 1, KNOTS)
    starts = [x for _, _, x in graded[:1]]
    starts += [np.append(0.5 * even, 0.1), np.zeros(KNOTS + 1)]
    starts[2:2] = [np.append(x[:-1], 0.5) for _, _, x in graded[1:2]]
    if graded:
        best, at = graded[0][0], graded[0][2]
    for x in starts:
        value, x = climbed(landscape, x, end, clock)
        if value > best:
            best, at = value, x
    if best > 0:
        yield best, landscape.pair(at)
    rng = np.random.default_rng(1)
    finer = Landscape(landscape.run, landscape.delta, FINER, landscape.record, landscape.swapped)
    x, top = _refined(at, FINER), best
    # (b): twice as many places, then random starts around the best
    while clock() < end and best > 0:
        value, found = climbed(finer, x, end, clock)
        if value > top:
            top, at = value, found
            yield top, finer.pair(at)
        x = np.clip((at if len(at) == FINER + 1 else _refined(at, FINER)) + 0.2 * rng.standard_normal(FINER + 1), -1, 1)


def _refined(x: np.ndarray, knots: int) -> np.ndarray:
    """The same drift at more places."""
    values = np.interp(np.linspace(-1, 1, knots), np.linspace(-1, 1, len(x) - 1), x[:-1])
    return np.append(values, x[-1])


def climbed(
    landscape: Landscape, x: np.ndarray, end: float = np.inf, clock: Clock = time.monotonic
) -> tuple[float, np.ndarray]:
    """The highest value met on the way up from x, and where."""
    from scipy.optimize import minimize

    best, at = -np.inf, x

    def downhill(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, at
        if clock() >= end:
            raise _TimeIsUp
        value, gradient = landscape.value_and_gradient(x)
        if value > best:
            best, at = value, x.copy()
        return -value, -gradient

    options = {"maxiter": ITERATIONS}
    with suppress(_TimeIsUp):
        minimize(downhill, x, jac=True, method="L-BFGS-B", bounds=[(-1.0, 1.0)] * len(x), options=options)
    return best, at


def _steepest(run: ProjectedRun, delta: float, end: float, clock: Clock) -> Iterator[tuple[float, Pair]]:
    """(c): the slope of all others, of either sign, at which epsilon is largest; then the start."""
    from dpexp.privacy.exact.runs import pair

    if run.room <= 0:
        return
    # with opposite records a slope and its negative are mirror images; with a removed one they are two pairs
    signs = (1.0,) if run.replaced else (1.0, -1.0)
    for k, sign in enumerate(signs):
        until = clock() + (end - clock()) / (len(signs) - k)

        def candidate(slope: float, sign: float = sign) -> Pair:
            return Pair((-1.0, 1.0), (sign * slope, sign * slope), 0.0, 1.0, delta)

        seen: list[tuple[float, float]] = []

        def loss(slope: float, until: float = until, seen: list[tuple[float, float]] = seen) -> float:
            if clock() >= until:
                raise _TimeIsUp
            seen.append((pair(*candidate(slope).updates(run)).eps(delta), slope))
            return -seen[-1][0]

        with suppress(_TimeIsUp):
            least(loss, 0.0, STEEPEST, xatol=2e-3)
        if seen:
            best = candidate(max(seen)[1])
            yield max(seen)[0], best
            for start in STARTS:
                if clock() < until:
                    moved = replace(best, start=start)
                    yield pair(*moved.updates(run)).eps(delta), moved
