"""At which steps a run is recorded."""

from __future__ import annotations

import numpy as np


def checkpoint_steps(n: int, checkpoints: int) -> np.ndarray:
    """Increasing steps from 1 to n, both included, evenly spaced on a log scale; int64 [min(n, checkpoints)] or fewer.

    The first steps of such a grid fall on the same whole numbers, so it is refined until enough of them differ.
    """
    wanted, points = min(n, checkpoints), checkpoints
    steps = np.array([n])
    while len(steps) < wanted:
        finer = np.unique(np.geomspace(1, n, points).round().astype(np.int64))
        if len(finer) > wanted:
            break
        steps, points = finer, points + max(1, wanted - len(finer))
    return steps
