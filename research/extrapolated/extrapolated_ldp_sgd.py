"""LDP-SGD whose path is extrapolated to step size 0: the intercept of the iterates, regressed on their step sizes.

(a) The pass is that of `ldp-sgd`. Around the optimum an iterate has the bias eta_k B, so that the average is off by B
times the mean step size.
(b) Least squares of theta_k = a + eta_k B, k = 1..n, gives a without that bias: a weighted mean of the iterates. The
path is public, so that the statement of privacy is the same (post-processing).
(c) The path is kept as its averages over windows that end at 2^(j/2): within a window step sizes differ little, and the
weight of a window is its length. Iterates are close to independent from one window to the next, and with
eta_k = eta k^-alpha the weights cost a variance (1 - alpha)^2 / alpha^2 times that of the average in the limit, for
alpha <= 1/2, and nothing above.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.engine.linear.rule import Rule
from dpexp.plugins import Plugin

if TYPE_CHECKING:
    from dpexp.algorithms.schedules import Schedule

FIRST, LAST = 2, 2 * 63
"""exponents of 2^(1/2) of the ends of windows"""


def ends(steps: int) -> list[int]:
    """The ends of the windows of so many steps, from 0 to the last step."""
    inner = {int(np.ceil(2 ** (j / 2))) for j in range(FIRST, LAST) if 2 ** (j / 2) <= steps}
    return [0, *sorted({end for end in inner if end < steps} | {steps})]


def weights(bounds: Sequence[int] | np.ndarray, summed: np.ndarray) -> np.ndarray:
    """What every window's mean counts in the intercept, [W]; `summed` [W + 1] are step sizes summed up to the bounds.

    One for a single window; the mean, where all step sizes are the same.
    """
    lengths = np.diff(bounds).astype(np.float64)
    sizes = np.diff(summed) / lengths
    # products are summed in one order here and below: a library's matrix products have another one on each processor
    mean = (lengths * sizes).sum() / lengths.sum()
    # (b): a is the mean less the slope times the mean size; the slope weighs a window by `away` / `spread`
    away = sizes - mean
    spread = (lengths * away**2).sum()
    slope = away * mean / spread if spread > 1e-18 * lengths.sum() * mean**2 else 0.0
    return np.asarray(lengths * (1 / lengths.sum() - slope))


class ExtrapolatedLdpSgd(OnePassAlgorithm):
    """LDP-SGD, its average, and the intercept of its iterates on their step sizes."""

    name: Literal["extrapolated-ldp-sgd"] = "extrapolated-ldp-sgd"
    estimators: ClassVar[tuple[str, ...]] = ("sgd", "asgd", "extrapolated")

    def rule(self) -> Rule:
        return LdpSgd().rule()

    def states(self, steps: np.ndarray) -> np.ndarray:
        return np.array(sorted({end for n in steps.tolist() for end in ends(n)[1:]}))

    def estimates(self, recorded: np.ndarray, schedules: Sequence[Schedule], steps: np.ndarray) -> np.ndarray:
        states = self.states(steps)
        summed = np.array([_summed(schedule, tuple(states.tolist())) for schedule in schedules])
        theta = np.empty((len(steps), 3, *recorded.shape[2:]))
        for k, n in enumerate(steps.tolist()):
            bounds = np.array(ends(n))
            at = np.searchsorted(states, bounds[1:])
            # (c): averages from the start on, times their lengths, are sums whose differences are those of windows
            sums = recorded[at, 1] * bounds[1:].astype(np.float64)[:, None, None, None]
            means = np.diff(sums, axis=0, prepend=0.0) / np.diff(bounds)[:, None, None, None]
            of = np.array([weights(bounds, np.append(0.0, total[at])) for total in summed])
            theta[k, :2] = recorded[at[-1]]
            theta[k, 2] = sum(weight[:, None, None] * mean for weight, mean in zip(of.T, means, strict=True))
        return theta


@lru_cache(maxsize=256)
def _summed(schedule: Schedule, states: tuple[int, ...]) -> np.ndarray:
    """Step sizes summed up to each of the states."""
    return np.asarray(np.cumsum(schedule.step_sizes(1, states[-1]))[np.array(states) - 1])


PLUGIN = Plugin(algorithms={"extrapolated-ldp-sgd": ExtrapolatedLdpSgd})
