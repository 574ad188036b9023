"""Where the best setting of a grid lies: inside it, or at an end, beyond which a better one may be.

A setting is looked at along one axis at a time, among those that share its values of the other axes. It is inside if
this line goes on beyond it on both sides. A comparison of tuned methods is fair to the loser only if the loser's best
setting is inside: more settings can only help the winner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def ends(grid: pd.DataFrame, best: pd.Series, axes: Sequence[str]) -> dict[str, str]:
    """The axes on which the best row of a grid is at an end, and which one: `least`, `largest`, or `only`.

    An axis of which the grid has one value is none: it was not tuned.
    """
    found: dict[str, str] = {}
    for axis in axes:
        others = [name for name in axes if name != axis]
        line = grid[np.logical_and.reduce([np.isclose(grid[name], best[name]) for name in others], axis=0)][axis]
        at = (bool(np.isclose(best[axis], line.min())), bool(np.isclose(best[axis], line.max())))
        if any(at) and not np.isclose(grid[axis].min(), grid[axis].max()):
            found[axis] = "only" if all(at) else "least" if at[0] else "largest"
    return found
