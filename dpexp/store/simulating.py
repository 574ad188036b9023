"""The computation itself: the replicates of some cells that share their random numbers, recorded at some of the steps.

(a) Cells share them so that differences between settings are paired.
(b) On a user's own records they do not. There every setting has batches and noise of its own, so that what is released
adds up by composition; no seed is computed from records, since a batch is a matter of public numbers.
(c) Of a pass nothing leaves this process but what is measured, and the parameters that a statement counts.
"""

from __future__ import annotations

import math
import secrets
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.algorithms.algorithm import Member
from dpexp.core.digests import digest
from dpexp.core.errors import UsageError
from dpexp.engine.result import Passed
from dpexp.plugins.loaded import error_words

if TYPE_CHECKING:
    from dpexp.config.cells import Cell


def checkpoint_steps(n: int, checkpoints: int) -> np.ndarray:
    """Increasing steps from 1 to n, ends included, evenly on a log scale; int64 [min(n, checkpoints)] or fewer."""
    if checkpoints == 1:
        return np.array([n])
    if checkpoints >= n:
        return np.arange(1, n + 1)
    # the first steps of such a grid fall on the same whole numbers, so it is refined until enough of them differ
    points, last = checkpoints, 0
    while (count := _distinct(n, points)) <= checkpoints:
        last = points
        if count == checkpoints:
            break
        points += checkpoints - count
    return np.unique(np.geomspace(1, n, last).round().astype(np.int64))


_AROUND = 32
"""points on each side of the place where the grid's gaps pass 1 that are looked at one by one"""


def _distinct(n: int, points: int) -> int:
    """How many whole numbers the rounded grid of so many points from 1 to n meets, 2 <= points; O(1) time."""
    rate = math.log(n) / (points - 1)
    # gaps grow with the ratio r of neighbours and pass 1 at x = 1 / (r - 1)
    middle = -math.log(math.expm1(rate)) / rate
    low = min(max(0, math.floor(middle) - _AROUND), points - 1)
    high = min(max(0, math.ceil(middle) + _AROUND), points - 1)
    # only points around x are rounded, as np.geomspace has them
    near = 10.0 ** (np.arange(low, high + 1) * (np.log10(n) / (points - 1)))
    if high == points - 1:
        near[-1] = n
    met = np.unique(near.round())
    # gaps below 1 leave no whole number out, and points with gaps above 1 all round to different ones
    return int(met[0]) + len(met) - 1 + points - 1 - high


class Done(NamedTuple):
    """What was computed, and how long each of the cells took: in CPU time: a clock would count other programs."""

    passed: Passed
    """without parameters"""
    wall_s: float
    models: tuple[np.ndarray | None, ...] = ()
    """parameters to release of each cell [estimators, replicates, ...]; None where a cell releases none of these"""


class Failed(NamedTuple):
    """Why nothing was computed."""

    error: str
    traceback: str


def simulate(cells: Sequence[Cell], replicates: Sequence[int], secret: bool = False) -> Done | Failed:
    """The numbers of the cells, in their order; or the error.

    `secret` draws the seeds from the operating system, and forgets them.
    """
    steps = checkpoint_steps(cells[0].run.n, cells[0].run.checkpoints)
    begin = time.thread_time()
    try:
        parts = [_passed(part, steps, seed, replicates) for part, seed in _seeds(cells, secret)]
        models = tuple(model for _, released in parts for model in released)
    except Exception as error:
        return Failed("; ".join(filter(None, error_words(error))), traceback.format_exc())
    # (c)
    first = parts[0][0]
    values = first.values if len(parts) == 1 else np.concatenate([passed.values for passed, _ in parts])
    return Done(first._replace(values=values, parameters=None), (time.thread_time() - begin) / len(cells), models)


def releases(cell: Cell, replicate: int) -> bool:
    """Whether a replicate is one of those that leave a run, where the cell releases anything at all."""
    return replicate == 0 or cell.run.release == "all"


def _seeds(cells: Sequence[Cell], secret: bool) -> list[tuple[Sequence[Cell], int]]:
    """Cells that draw the same random numbers, and their seed."""
    # (a)
    if not cells[0].problem.files():
        return [(cells, cells[0].run.seed)]
    # (b): from results with the noise s Z and 2 s Z one could compute what has no noise
    return [([cell], secrets.randbits(256) if secret else _own_seed(cell)) for cell in cells]


def _own_seed(cell: Cell) -> int:
    """A seed of a setting's own: of the words of the config that decide its numbers, but not of what is recorded."""
    # recording at other steps must not be another run on the same records, whose noise would differ
    run = {"n": cell.run.n, "seed": cell.run.seed}
    return int(digest({**cell.parameters, "run": run}, 15), 16)


def _passed(
    cells: Sequence[Cell], steps: np.ndarray, seed: int, replicates: Sequence[int]
) -> tuple[Passed, list[np.ndarray | None]]:
    """The numbers of cells that share their random numbers, and the parameters that each releases.

    Raises UsageError where an algorithm returned what cannot be stored.
    """
    members = [Member(cell.algorithm, cell.problem, cell.schedule, cell.privacy.mu) for cell in cells]
    passed = cells[0].algorithm.together(members, steps, seed, replicates)
    if wrong := _misshapen(cells, steps, replicates, passed):
        raise UsageError(f"{type(cells[0].algorithm).__name__}.simulate returned {wrong}")
    if cells[0].coordinates:
        passed = _with_coordinates(passed, cells[0].coordinates)
    return passed, [_released(cell, passed, number, replicates) for number, cell in enumerate(cells)]


def _with_coordinates(passed: Passed, coordinates: Mapping[str, int]) -> Passed:
    """With single parameters after the last step as further metrics; nan at the other steps."""
    if passed.parameters is None:
        raise UsageError("no parameters were returned, but `run.coefficients` names some")
    shape = (*passed.values.shape[:3], len(coordinates), passed.values.shape[4])
    more = np.full(shape, math.nan)
    more[:, :, -1] = np.moveaxis(passed.parameters[..., list(coordinates.values())], -1, -2)
    values = np.concatenate([passed.values, more], axis=3)
    return passed._replace(values=values, metrics=(*passed.metrics, *coordinates))


def _released(cell: Cell, passed: Passed, number: int, replicates: Sequence[int]) -> np.ndarray | None:
    """The parameters of one of the cells that its statement counts."""
    # (c)
    which = [place for place, replicate in enumerate(replicates) if releases(cell, replicate)]
    if passed.parameters is None or not which or not cell.problem.files():
        return None
    names = cell.algorithm.releases(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    rows = [passed.estimators.index(name) for name in names]
    return np.ascontiguousarray(passed.parameters[number][rows][:, which]) if names else None


def _misshapen(cells: Sequence[Cell], steps: np.ndarray, replicates: Sequence[int], passed: object) -> str:
    """What is wrong with what an algorithm returned, which may be anybody's; empty where it can be stored."""
    algorithm = cells[0].algorithm
    if not isinstance(passed, Passed):
        return f"a value of type {type(passed).__name__}, not a dpexp.engine.result.Passed"
    shape = (len(cells), len(algorithm.estimators), len(steps), len(algorithm.metrics), len(replicates))
    if passed.values.shape != shape or passed.values.dtype != np.float64:
        values = f"values of shape {passed.values.shape} and type {passed.values.dtype}"
        return f"{values}, not float64 {shape}: settings, estimators, checkpoints, metrics, replicates"
    if passed.parameters is not None and passed.parameters.shape[:3] != (shape[0], shape[1], shape[4]):
        return f"parameters of shape {passed.parameters.shape}, not (settings, estimators, replicates, ...)"
    return "" if np.array_equal(passed.steps, steps) else "steps that are not the checkpoints of the run"
