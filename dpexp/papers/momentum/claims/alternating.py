"""A smooth loss for which the printed noise of Algorithm 2 of `momentum` does not hide a record from the iterates.

One parameter, N records (N odd) in one order, alpha = 1 / N, gamma = eta N, w_1 = 0, records x in [-1, 1] and

    f(w, x) = x (G eta / pi) sin(pi w / eta),

which is G-Lipschitz and L-smooth with L = pi G / eta. In one dimension every step is +eta or -eta, whatever the noise,
so w_t / eta is a whole number of the parity of t - 1 and grad f(w_t, x) = x G (-1)^(t-1). Let all records be 0 but the
first, which is 1 or -1 in the two neighbours. What it contributes is then known in advance: the release is a Gaussian
vector, of which the iterates show the signs. From the third epoch on the printed noise of the changes and residuals,
2 eta N sigma sqrt(V), and the fresh share gamma of a gradient vanish with eta, while the noise inherited from the first
two epochs is the same number at the same place of every epoch; where it is smaller than the signal, the signs alternate
with the phase of the record. The event is that they do, at step N q + 1 for q = 3..K-1.

What is drawn is that Gaussian vector, not a run; and the order repeats, where Algorithm 2 draws a fresh one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpexp.privacy.momentum.tree_streams import node_sensitivities, printed_counts, printed_sensitivities

FIRST_EPOCH = 3
CONFIDENCE = 0.975


class Attack(NamedTuple):
    """How often the event was seen, of how many runs, with the record at 1 and at -1."""

    runs: int
    with_record: int
    with_neighbour: int

    def delta(self, eps: float) -> float:
        """The delta that is needed at least at eps, with 95 % confidence: each probability by Clopper and Pearson."""
        from scipy.stats import beta

        some, other = self.with_record, self.with_neighbour
        low = beta.ppf(1 - CONFIDENCE, some, self.runs - some + 1) if some else 0.0
        high = beta.ppf(CONFIDENCE, other + 1, self.runs - other) if other < self.runs else 1.0
        return max(0.0, float(low) - math.exp(eps) * float(high))


def released(n: int, epochs: int, eta: float, sigma: float, corrected: bool) -> tuple[np.ndarray, np.ndarray]:
    """(signal [Q], map [Q, nodes]) of m_hat at the steps of the event, for G = 1 and the record at 1.

    `corrected` takes 4 L eta N for the sensitivity of changes and residuals, not the printed 2 eta N.
    """
    from dpexp.engine.finite_sum.noise_windows import empty_windows, nodes_ending, window_noise

    steps, alpha, gamma = n * epochs, 1 / n, eta * n
    deltas = node_sensitivities(n, eta, 1.0, math.pi / eta) if corrected else printed_sensitivities(n, eta, 1.0)
    stds = alpha * sigma * np.array(deltas) * np.sqrt(printed_counts(n, steps))
    nodes = nodes_ending(1, steps, n)
    units = np.eye(2 * nodes + steps)
    noise = np.empty((steps, 2 * nodes + steps))
    parts = units[:nodes], units[nodes : 2 * nodes], units[2 * nodes :]
    window_noise(*parts, 1, n, alpha, gamma, stds, empty_windows(n, steps, noise.shape[1]), noise)
    momentum, signal = 0.0, np.empty(steps)
    for t in range(1, steps + 1):
        momentum = (1 - alpha) * momentum + alpha * (float((-1) ** (t - 1)) if t % n == 1 % n else 0.0)
        signal[t - 1] = momentum
    at = n * np.arange(FIRST_EPOCH, epochs)
    return signal[at], noise[at]


def attack(n: int, epochs: int, eta: float, sigma: float, runs: int, corrected: bool = False, seed: int = 0) -> Attack:
    """Counts the event in independent runs of both neighbours."""
    signal, noise = released(n, epochs, eta, sigma, corrected)
    phase = (-1.0) ** (n * np.arange(FIRST_EPOCH, epochs))
    factor = np.asarray(np.linalg.qr(noise.T)[1]).T  # the same law from as many normals as there are steps
    rng, counts = np.random.default_rng(seed), [0, 0]
    for side, record in enumerate((1.0, -1.0)):
        left = runs
        while left > 0:
            some = min(left, 50_000)
            seen = record * signal[:, None] + factor @ rng.standard_normal((factor.shape[1], some))
            counts[side] += int(np.all(seen * phase[:, None] > 0, axis=0).sum())
            left -= some
    return Attack(runs, *counts)
