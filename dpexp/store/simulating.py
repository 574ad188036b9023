"""The computation itself: the replicates of some cells that share their random numbers, recorded at some of the steps.

(a) Cells share them so that differences between settings are paired.
(b) On a user's own records they do not. There every setting has batches and noise of its own, so that what is released
adds up by composition; no seed is computed from records, since a batch is a matter of public numbers.
(c) Of a pass nothing leaves this process but what is measured, and the parameters that a statement counts.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.algorithms.algorithm import Member
from dpexp.core.errors import UsageError
from dpexp.core.files import digest
from dpexp.engine.result import CellData, Passed, measured
from dpexp.plugins.loaded import error_words

if TYPE_CHECKING:
    from dpexp.config.cells import Cell


@lru_cache(maxsize=4)
def checkpoint_steps(n: int, checkpoints: int) -> np.ndarray:
    """Increasing steps from 1 to n, ends included, evenly on a log scale; int64 [min(n, checkpoints)] or fewer."""
    if checkpoints >= n:
        return np.arange(1, n + 1)
    # the first steps of such a grid are rounded to the same whole numbers, so it is refined until enough of them differ
    steps, points = np.array([n]), checkpoints
    while len(steps) < checkpoints:
        grid = np.geomspace(1, n, points).round()
        finer = grid[np.diff(grid, prepend=0) > 0].astype(np.int64)
        if len(finer) > checkpoints:
            break
        steps, points = finer, points + checkpoints - len(finer)
    return steps


class Done(NamedTuple):
    """What was computed of a cell, for some replicates."""

    data: CellData
    model: np.ndarray | None
    """parameters to release [estimators, replicates, ...]; None where these release none"""


class Failed(NamedTuple):
    """Why nothing was computed."""

    error: str


def simulate(cells: Sequence[Cell], replicates: Sequence[int], secret: bool = False) -> list[Done] | Failed:
    """The numbers of the cells, in their order; or the error. `secret` draws seeds from the operating system."""
    steps = checkpoint_steps(cells[0].run.n, cells[0].run.checkpoints)
    try:
        return [done for part, seed in _seeds(cells, secret) for done in _pass(part, steps, seed, replicates)]
    except Exception as error:
        return Failed("; ".join(filter(None, error_words(error))))


def _seeds(cells: Sequence[Cell], secret: bool) -> list[tuple[Sequence[Cell], int]]:
    """Cells that draw the same random numbers, and their seed."""
    # (a)
    if not cells[0].problem.files():
        return [(cells, cells[0].run.seed)]
    # (b): from results with the noise s Z and 2 s Z one could compute what has no noise
    return [([cell], secrets.randbits(256) if secret else own_seed(cell)) for cell in cells]


def own_seed(cell: Cell) -> int:
    """A seed of a setting's own: of the words of the config that decide its numbers, but not of what is recorded."""
    # recording at other steps must not be another run on the same records, whose noise would differ
    run = {"n": cell.run.n, "seed": cell.run.seed}
    return int(digest({**cell.parameters, "run": run}, 15), 16)


def _pass(cells: Sequence[Cell], steps: np.ndarray, seed: int, replicates: Sequence[int]) -> list[Done]:
    """The numbers of cells that share their random numbers, and the parameters that each releases.

    Raises UsageError where an algorithm, which may be anybody's, returned what cannot be stored.
    """
    algorithm, coordinates, own = cells[0].algorithm, cells[0].coordinates, cells[0].run.metrics
    members = [Member(cell.algorithm, cell.problem, cell.schedule, cell.privacy.mu) for cell in cells]
    passed: object = algorithm.together(members, steps, seed, replicates)
    result = f"{type(algorithm).__name__}.simulate returned"
    if not isinstance(passed, Passed):
        raise UsageError(f"{result} a value of type {type(passed).__name__}, not a dpexp.engine.result.Passed")
    shape = (len(cells), len(algorithm.estimators), len(steps), len(algorithm.metrics), len(replicates))
    if passed.values.shape != shape or passed.values.dtype != np.float64:
        values = f"values of shape {passed.values.shape} and type {passed.values.dtype}, not float64 {shape}"
        raise UsageError(f"{result} {values}: settings, estimators, checkpoints, metrics, replicates")
    if coordinates or own:
        if passed.parameters is None:
            raise UsageError(
                f"{result} no parameters, of which `run.{'metrics' if own else 'coefficients'}` names some"
            )
        # what is recorded after the last step is further metrics; nan at the other steps
        columns = np.full((*shape[:3], len(coordinates) + len(own), shape[4]), math.nan)
        for k, (cell, theta) in enumerate(zip(cells, passed.parameters, strict=True)):
            single = [theta[..., j] for j in coordinates.values()]
            columns[k, :, -1] = np.stack([*single, *(measured(name, theta, cell.problem) for name in own)], axis=1)
        values_ = np.concatenate([passed.values, columns], axis=3)
        passed = passed._replace(values=values_, metrics=cells[0].metrics)
    # (c)
    return [Done(passed.of(k), _released(cell, passed, k, replicates)) for k, cell in enumerate(cells)]


def _released(cell: Cell, passed: Passed, number: int, replicates: Sequence[int]) -> np.ndarray | None:
    """The parameters of one of the cells that its statement counts."""
    places = [place for place, replicate in enumerate(replicates) if replicate == 0 or cell.run.release == "all"]
    if passed.parameters is None or not places or not cell.problem.files():
        return None
    names = cell.algorithm.releases(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    rows = [passed.estimators.index(name) for name in names]
    return np.ascontiguousarray(passed.parameters[number][rows][:, places]) if names else None
