"""The computation itself: the replicates of some cells that share their random numbers."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.core.checkpoints import checkpoint_steps
from dpexp.engine.result import Passed
from dpexp.plugins.loaded import blame

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
        return Failed(f"{blame(error)}{type(error).__name__}: {error}", traceback.format_exc())
    if wrong := _misshapen(cells, steps, replicates, passed):
        return Failed(f"{type(first.algorithm).__name__}.simulate returned {wrong}", wrong)
    return Done(passed, (time.perf_counter() - begin) / len(cells))


def _misshapen(cells: Sequence[Cell], steps: np.ndarray, replicates: Sequence[int], passed: object) -> str:
    """What is wrong with what an algorithm returned, which may be anybody's; empty where it can be stored."""
    algorithm = cells[0].algorithm
    if not isinstance(passed, Passed):
        return f"a value of type {type(passed).__name__}, not a dpexp.engine.result.Passed"
    wanted = (len(cells), len(algorithm.estimators), len(steps), len(algorithm.metrics), len(replicates))
    if passed.values.shape != wanted or passed.values.dtype != np.float64:
        found = f"values of shape {passed.values.shape} and type {passed.values.dtype}"
        return f"{found}, not float64 {wanted}: settings, estimators, checkpoints, metrics, replicates"
    return "" if np.array_equal(passed.steps, steps) else "steps that are not the checkpoints that were asked for"
