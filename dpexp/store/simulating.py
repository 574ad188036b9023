"""The computation itself: the replicates of some cells that share their random numbers."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpexp.core.checkpoints import checkpoint_steps

if TYPE_CHECKING:
    from dpexp.config import Cell


def simulate(cells: Sequence[Cell], replicates: Sequence[int]) -> dict[str, Any]:
    """Values [cells, estimators, K, metrics, replicates], their steps and the time that a cell took; or the error."""
    first = cells[0]
    steps = checkpoint_steps(first.run.n, first.run.checkpoints)
    begin = time.perf_counter()
    try:
        passed = first.algorithm.simulate(
            first.problem,
            [(cell.schedule, cell.privacy.mu) for cell in cells],
            steps,
            first.run.seed,
            replicates,
        )
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    wall = time.perf_counter() - begin
    return {"values": passed.values, "steps": passed.steps, "wall_s": wall / len(cells)}
