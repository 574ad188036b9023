"""Exact output laws of noisy projected steps in one dimension, which judge every bound.

y_{t+1} = clip(move(y_t) + Z, -h, h), Z ~ N(0, 1), with a move drawn in each step from finitely many maps: in units of
the noise, the walks behind `noisy-sgd`, Theorem 4.1, and the clipped example of `hidden-state`.

(a) Their law has a smooth density inside and an atom at either end. A step is a positive matrix on Gauss-Legendre nodes
and the two ends, which keeps relative accuracy in the tails: sums of positive numbers lose no digits.
(b) T steps are the first one, from a point, and the powers of the matrix that the binary digits of T - 1 name.
(c) The last step is made from the masses before it, for any place: density and tails have the errors of those alone.
(d) The best event for p - e^eps q is where p / q is above e^eps: pieces between sign changes, and atoms.
(e) delta(eps) = sup over events S of P(S) - e^eps Q(S) is at least delta exactly when eps <= log((P(S) - delta) / Q(S))
for an event, so eps(delta) is the largest such value: every event gives a lower bound.
(f) A Renyi divergence of the masses of disjoint events is at most that of the laws (data processing), and dropping some
lowers it further, because every term q (r^a - 1 - a (r - 1)) is at least 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from dpexp.accounting.curve import largest_eps
from dpexp.accounting.functions import gauss_legendre, log, log_sum, ndtr
from dpexp.accounting.mixtures import log_excess

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Move = Callable[[np.ndarray], np.ndarray]
_ONE_AT_A_TIME = Lock()
ROUNDING = 1e-11
"""more than the relative error of a probability"""
POINTS, PANEL = 32, 10.0
"""of a Gauss rule, and its widest panel in noise units: probabilities differ from those of panels half as wide by 2e-14
of themselves, and on panels of 12 by 1e-12"""
HALVINGS = 17
"""of a cell of the grid in which the best event ends, to 5e-7 noise units"""
LARGEST = 600.0
"""epsilon up to which e^epsilon is well below the largest number"""


class Powers:
    """Powers 1, 2, 4, .. of a matrix whose columns are laws, as far as needed and until they settle."""

    def __init__(self, matrix: np.ndarray) -> None:
        self._squares = [matrix]
        self._settled = False

    def _square(self, doublings: int) -> np.ndarray:
        """The matrix of 2^doublings steps, or the settled one."""
        squares = self._squares
        with _ONE_AT_A_TIME:  # two threads must not append the same power
            while len(squares) <= doublings and not self._settled:
                with _blas().limit(limits=1, user_api="blas"):
                    squared = squares[-1] @ squares[-1]
                # the sums of columns drift by rounding, which squaring would double every time
                squared /= squared.sum(axis=0)
                # a walk between walls forgets where it was: then all further powers are the same, and none is computed
                self._settled = bool(np.all(np.abs(squared - squares[-1]) <= 1e-13 * squares[-1]))
                squares.append(squared)
        return squares[min(doublings, len(squares) - 1)]

    def after(self, steps: int, state: np.ndarray) -> np.ndarray:
        """The state after so many more steps: (b)."""
        for doublings in range(steps.bit_length()):
            matrix = self._square(doublings)
            # a settled power stands for itself and for all higher digits
            if self._settled and doublings >= len(self._squares) - 1:
                return np.vecdot(matrix, state)
            if steps >> doublings & 1:
                state = np.vecdot(matrix, state)
                # the sum is 1 but for quadrature and rounding, which must not pile up
                state /= state.sum()
        return state


@dataclass(frozen=True)
class Walk:
    """A walk on [-half_width, half_width], in noise units."""

    half_width: float
    moves: tuple[tuple[float, Move], ...]
    """(probability, map) pairs; probabilities sum to 1"""
    kinks: tuple[float, ...] = field(default=())
    """where a map has a kink: panels end there"""

    @cached_property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights of all panels."""
        h = self.half_width
        # no polynomial is close across a kink of a map: panels end there
        ends = sorted({-h, h, *(k for k in self.kinks if -h < k < h)})
        x, w = gauss_legendre(POINTS)
        pieces = [np.linspace(a, b, 1 + math.ceil((b - a) / PANEL)) for a, b in pairwise(ends)]
        edges = np.unique(np.concatenate(pieces))
        half = np.diff(edges)[:, None] / 2
        return (edges[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel()

    def step_density(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Density at x [A] after a step from y [B], inside; [A, B]."""
        total = np.zeros((len(x), len(y)))
        for probability, move in self.moves:
            total += probability * np.exp(-((x[:, None] - move(y)) ** 2) / 2) / math.sqrt(2 * math.pi)
        return total

    def step_tails(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """P(move(y) + Z < x) and P(move(y) + Z > x), [2, A, B]."""
        away = np.stack([x[:, None] - move(y) for _, move in self.moves])
        tails = ndtr(np.stack([away, -away], axis=1))  # [moves, 2, A, B]
        return np.asarray(sum(probability * tail for (probability, _), tail in zip(self.moves, tails, strict=True)))

    @cached_property
    def places(self) -> np.ndarray:
        """Nodes, then the two ends."""
        return np.append(self.nodes[0], [-self.half_width, self.half_width])

    @cached_property
    def matrix(self) -> np.ndarray:
        """One step acting on masses at `places`, [A + 2, A + 2]: (a)."""
        x, w = self.nodes
        y, h = self.places, np.array([self.half_width])
        # the density at a node times its weight, so that states are masses and not densities
        inside = self.step_density(x, y) * w[:, None]
        # the last two rows are what the clipping gathers at the ends
        return np.concatenate([inside, self.step_tails(-h, y)[0], self.step_tails(h, y)[1]])

    @cached_property
    def powers(self) -> Powers:
        """Of the matrix."""
        return Powers(self.matrix)

    def masses(self, steps: int, start: float = 0.0) -> np.ndarray:
        """Masses at `places` after `steps` >= 1 steps from a point."""
        x, w = self.nodes
        y, h = np.array([start]), np.array([self.half_width])
        # (b)
        ends = self.step_tails(-h, y)[0, 0], self.step_tails(h, y)[1, 0]
        return self.powers.after(steps - 1, np.concatenate([self.step_density(x, y)[:, 0] * w, *ends]))

    @cached_property
    def grid(self) -> np.ndarray:
        """Places an eighth of a noise unit apart, where densities are compared."""
        return np.linspace(-self.half_width, self.half_width, 16 * max(8, math.ceil(self.half_width)) + 1)


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    """Threads that wait for the next product would take longer than a product of so small matrices."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@dataclass(frozen=True)
class WalkLaw:
    """The law of a walk after some steps, with the state before the last one, from which its density is exact."""

    walk: Walk
    steps: int
    start: float = 0.0
    mirror: WalkLaw | None = field(default=None, compare=False)  # the law of -Y on symmetric places: it is read off

    @cached_property
    def masses(self) -> np.ndarray:
        """Masses at the walk's places; the last two are atoms."""
        if self.steps == 1:
            return self.walk.masses(1, self.start)
        # as everywhere here no product by `@`, which takes as long and wakes threads that would then wait for more
        masses = np.vecdot(self.walk.matrix, self._before[1])
        return masses / masses.sum()

    @cached_property
    def _before(self) -> tuple[np.ndarray, np.ndarray]:
        if self.steps == 1:
            return np.array([self.start]), np.array([1.0])
        if self.mirror:
            return self.walk.places, np.roll(self.mirror._before[1][::-1], -2)
        return self.walk.places, self.walk.masses(self.steps - 1, self.start)

    def density(self, x: np.ndarray) -> np.ndarray:
        """Density inside, at x [A]."""
        y, mass = self._before
        return np.vecdot(self.walk.step_density(x, y), mass)  # (c)

    def tails(self, x: np.ndarray) -> np.ndarray:
        """P(Y < x) and P(Y > x) for x inside, the atoms included, [2, A]."""
        y, mass = self._before
        return np.vecdot(self.walk.step_tails(x, y), mass)

    def between(self, cuts: np.ndarray) -> np.ndarray:
        """P(a < Y < b) of the pieces into which increasing cuts divide the inside, [cuts + 1]."""
        (low, high), inside = self.masses[-2:], self.masses[:-2].sum()
        at_left, at_right = [[low], [inside + high]], [[low + inside], [high]]
        below, above = np.concatenate([at_left, self.tails(cuts), at_right], axis=1)
        # a difference of whichever is smaller, what is below the piece or what is above it: a piece in one tail keeps
        # its relative accuracy, which e^eps would otherwise blow up
        return np.where(below[1:] <= above[:-1], np.diff(below), -np.diff(above))


def renyi(p: WalkLaw, q: WalkLaw, order: float) -> float:
    """D_order(p || q) of two laws on the same set; exact up to quadrature and rounding."""
    positive = (p.masses > 0) & (q.masses > 0)  # far out in a wide set both underflow
    return renyi_of_masses(p.masses[positive], q.masses[positive], order)


@dataclass(frozen=True)
class HockeyStick:
    """eps -> sup over events of p - e^eps q, from below by (d): attained, up to rounding."""

    p: WalkLaw
    q: WalkLaw

    @cached_property
    def _densities(self) -> tuple[np.ndarray, np.ndarray]:
        """Both densities on the grid."""
        # each is a mixture of unit normals, so that nothing in it is narrower than about one noise unit
        return self.p.density(self.p.walk.grid), self.q.density(self.q.walk.grid)

    def _cuts(self, eps: float) -> np.ndarray:
        """Where log(p / q) - eps changes its sign: in the cells of the grid that have a change, by bisection."""
        places, positive = self.p.walk.grid, _log_ratio(*self._densities) >= eps  # a zero counts as positive
        k = np.flatnonzero(np.diff(positive))
        low, high = places[k], places[k + 1]
        # at a cut that is off by x the integral of p - e^eps q is off by x^2 / 2 times its slope there: 2e-13 of p
        for _ in range(HALVINGS if len(k) else 0):
            middle = (low + high) / 2
            to_the_right = (_log_ratio(self.p.density(middle), self.q.density(middle)) >= eps) == positive[k]
            low, high = np.where(to_the_right, middle, low), np.where(to_the_right, high, middle)
        return (low + high) / 2

    def _pieces(self, eps: float) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of the pieces between the sign changes, then of the two atoms, under p and under q."""
        # any other event gives less, so that a missed or inexact sign change only makes what is returned smaller
        cuts = self._cuts(eps)
        p, q = (np.append(law.between(cuts), law.masses[-2:]) for law in (self.p, self.q))
        return p, q

    def __call__(self, eps: float) -> float:
        p, q = self._pieces(eps)
        # (d): the union of the pieces, and of the atoms, on which p is above e^eps q
        return float(np.sum(np.maximum(p - math.exp(eps) * q, 0)))

    def eps(self, delta: float, lost: float = 0.0) -> float:
        """The largest epsilon with P(S) - e^epsilon Q(S) = delta for an event S, rounded down; 0 if there is none.

        P(S) = (1 - lost) p(S) at least, and Q(S) = (1 - lost) q(S) + lost at most.
        """

        def attains(p: np.ndarray, q: np.ndarray) -> float:
            """The largest epsilon of several events."""
            cost = q * ((1 - lost) * (1 + ROUNDING)) + lost
            room = p * ((1 - lost) * (1 - ROUNDING))
            return min(largest_eps(room, np.log(np.maximum(cost, 1e-300)), delta), LARGEST)

        # (e): each event attains its own epsilon, and the largest is sought as by Dinkelbach (1967): from an epsilon to
        # the event that is best there, and on to the epsilon of that event, which never falls after the first; the
        # best event has its greatest epsilon where it is best, so that one that is off by x leads to one off by about
        # x^2
        eps = attains(*self._events)
        for _ in range(20):
            p, q = self._pieces(eps)
            event = p > math.exp(eps) * q
            last, eps = eps, attains(p[event].sum(keepdims=True), q[event].sum(keepdims=True))
            if abs(eps - last) <= 1e-4 * min(1.0, last):  # the next would move by about the square
                break
        return eps

    @cached_property
    def _events(self) -> tuple[np.ndarray, np.ndarray]:
        """About the probabilities of the likeliest events for p against q, as they grow cell by cell of the grid."""
        places, laws = self.p.walk.grid, (self.p, self.q)
        cell = np.full(len(places), places[1] - places[0])
        cell[[0, -1]] /= 2
        both = zip(self._densities, laws, strict=True)
        p, q = (np.append(cell * density, law.masses[-2:]) for density, law in both)
        order = np.argsort(q / np.maximum(p, 1e-300), kind="stable")  # the largest of p / q first
        return p[order].cumsum(), q[order].cumsum()


def _log_ratio(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """log of p / q; 0 where both are no numbers with all their digits, where another value gains nothing."""
    return log(np.maximum(p, 1e-300)) - log(np.maximum(q, 1e-300))


def renyi_of_masses(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """D_order(P || Q) of masses [C] above 0, by (f); relative error about 1e-12, or 1e-9 where it is below 1e-9."""
    # exp((a - 1) D) - 1 = sum of q ((p / q)^a - 1 - a (p / q - 1)), because both sum to 1
    log_q = log(q)
    return float(np.logaddexp(0.0, log_sum(log_q + log_excess(log(p) - log_q, order)))) / (order - 1)


@lru_cache(maxsize=4)
def shifting(half_width: float, moves: tuple[tuple[float, float], ...], slope: float = 1.0) -> Walk:
    """A walk whose maps are slope y + shift: (probability, shift) pairs.

    It is shared by all who ask for it: its powers serve any number of steps, and take a few dozen MB.
    """
    return Walk(half_width, tuple((p, partial(np.polyval, (slope, shift))) for p, shift in moves))
