"""The grid of checkpoints as first written: refined step by step, every grid computed whole. Quadratic in its size."""

from __future__ import annotations

import numpy as np


def checkpoint_steps(n: int, checkpoints: int) -> np.ndarray:
    """Increasing steps from 1 to n, evenly spaced on a log scale, at most min(n, checkpoints) of them."""
    wanted, points = min(n, checkpoints), checkpoints
    steps = np.array([n])
    while len(steps) < wanted:
        finer = np.unique(np.geomspace(1, n, points).round().astype(np.int64))
        if len(finer) > wanted:
            break
        steps, points = finer, points + max(1, wanted - len(finer))
    return steps
