"""The computation itself: the replicates of some cells that share their random numbers."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dpexp.core.checkpoints import checkpoint_steps
from dpexp.engine.result import Passed

if TYPE_CHECKING:
    from dpexp.config import Cell


class Done(NamedTuple):
    """What was computed, and how long each of the cells took."""

    passed: Passed
    wall_s: float


class Failed(NamedTuple):
    """Why nothing was computed."""

    error: str
    traceback: str


def simulate(cells: Sequence[Cell], replicates: Sequence[int]) -> Done | Failed:
    """The numbers of the cells, in their order; or the error."""
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
        return Failed(f"{type(error).__name__}: {error}", traceback.format_exc())
    return Done(passed, (time.perf_counter() - begin) / len(cells))
