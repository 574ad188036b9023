"""Steps whose noise is missing, or is that of another step: what such a step shows of the canary, counted.

Projections and likelihood ratios do not see these faults, since they leave the law of one step as it is, or the law
of most steps. But noise has many coordinates, and the canary moves one direction. Where all the others agree, to a
thousandth of the noise, with no noise at all or with those of another step, the noise along the canary is known too,
and what is left there is the canary itself. In a sound run with D coordinates two steps agree so with a probability of
about (1e-3)^(D - 1), so that the count is 0 in both worlds.
"""

from __future__ import annotations

import numpy as np

CLOSE = 1e-3
"""of the noise: far above what float32 leaves of a difference of iterates, far below any noise"""
LEAST_DIMENSION = 4


def counts(sums: np.ndarray, effects: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many steps, and how many pairs of steps, show the canary without noise: [R] each.

    `sums` [R, T, D] less what is known, the effects of the canary [R, T, D], and noise s_t [T]; D is at least
    `LEAST_DIMENSION`. Of a pair of steps with noise s and s' the draws are compared, which the steps scale.
    """
    lengths = np.linalg.norm(effects, axis=2)
    unit = effects / np.maximum(lengths, 1e-300)[..., None]
    along = np.sum(sums * unit, axis=2)
    across = (sums - along[..., None] * unit) / noise[:, None]
    bare = (np.linalg.norm(across, axis=2) < CLOSE) & (along > lengths / 2)
    shown = lengths / noise  # in units of the draws
    pairs = np.zeros(len(sums), dtype=np.int64)
    for t in range(1, sums.shape[1]):
        same = np.linalg.norm(across[:, :t] - across[:, t : t + 1], axis=2) < 2 * CLOSE
        apart = np.abs(along[:, :t] / noise[:t] - along[:, t : t + 1] / noise[t])
        pairs += np.sum(same & (apart > np.minimum(shown[:, :t], shown[:, t : t + 1]) / 2), axis=1)
    return bare.sum(axis=1), pairs
