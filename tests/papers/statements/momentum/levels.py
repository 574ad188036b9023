"""How much noise the momentum carries, in closed form: rms of |m_hat_t - m_t| over a run, in units of G = L = 1.

`fixed_path_levels` compares both algorithms of `momentum` at one path length eta T, exactly calibrated, as epochs
grow, Algorithm 2 by what its iterates give away and by the release of all its nodes. `printed_noise` follows the
prescribed schedule of Algorithm 2 up to sizes that nobody can run, where means over t are taken over sampled t.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dpexp.privacy.momentum.tree_streams import printed_counts, printed_sensitivities
from dpexp.privacy.momentum.trees import cover
from dpexp.theory.momentum.momentum_formulas import (
    Prescription,
    theorem8_sigma,
    theorem9_schedule,
)

SAMPLES = 300
"""steps that a mean over a long run is taken over: enough for a few per cent, as the sums differ by a factor of a few"""


@lru_cache(maxsize=256)
def printed_noise(n: int, d: int, eps: float, delta: float) -> float:
    """Rms |noise| of Algorithm 2 at Theorem 9's schedule, printed noise; any N.

    The mean over t is over `SAMPLES` random steps, at the stationary law of the recursions: errors of a few per cent.
    """
    second = theorem9_schedule(n, d, eps, delta)
    stds = second.alpha * np.array(printed_sensitivities(n, second.eta, 1.0))
    stds *= theorem8_sigma(eps, delta) * np.sqrt(printed_counts(n, second.steps))
    # what a step reads of the last epoch, and of all steps before it
    window = _mean(second, lambda t: cover(max(1, t - n + 1), t))
    residual = _mean(second, lambda t: cover(1, t))
    keep, fade = 1 - second.gamma, math.exp(n * math.log1p(-second.alpha)) if second.alpha < 1 else 0.0
    # The stationary moments of the recursions in `noise_windows`, H = (1 - gamma)(H + D) + gamma G and C = b C + H:
    # own = Var H, carried = Cov(C, H), total = Var C, each solved from its own line with both sides equal.
    own = (second.gamma**2 * stds[1] ** 2 + keep**2 * stds[2] ** 2) * window / (1 - keep**2)
    carried = own / (1 - fade * keep)
    total = (own + 2 * fade * keep * carried) / (1 - fade**2)
    return math.sqrt(d * float(total + stds[3] ** 2 * residual))


def _mean(schedule: Prescription, nodes: Callable[[int], list[tuple[int, int]]]) -> float:
    """Mean over sampled t of the sum over nodes (y, z) of (1 - alpha)^(2 (t-z))."""
    # the same steps in every call, and a discount that is a number also at alpha = 1
    drawn, rate = random.Random(0), 2 * math.log1p(-min(schedule.alpha, 1 - 1e-16))
    total = 0.0
    for _ in range(SAMPLES):
        t = drawn.randint(1, schedule.steps)
        total += sum(math.exp(rate * (t - z)) for _, z in nodes(t))
    return total / SAMPLES
