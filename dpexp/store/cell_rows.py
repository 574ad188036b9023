"""A cell's row of cells.parquet: its parameters, what its privacy statement says, and how its replicates ended.

Nothing in a row differs between two reproductions: times and machines are in provenance.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.core.errors import NoSuchAnalysis, UsageError
from dpexp.engine.result import CellData
from dpexp.store.stats import too_far

if TYPE_CHECKING:
    from dpexp.config.cells import Cell

ACCURACY = 1e-9
"""relative, between kinds of processors: of privacy numbers, which are sums and quadratures by numpy"""


class Ended(NamedTuple):
    """How the replicates of a cell ended."""

    replicates: int
    diverged: int
    projections: float | None
    """mean over the replicates after the last step; None where none is counted"""


def ended(cell: Cell, data: CellData) -> Ended:
    """What a row says of a cell's numbers."""
    counted = "projections" in data.metrics
    last = float(data.values[0, -1, data.metrics.index("projections")].mean()) if counted else None
    diverged = too_far(data, cell.run.diverged_above).any(axis=(0, 1))
    return Ended(data.values.shape[-1], int(diverged.sum()), last)


def row_of(cell: Cell, deltas: Sequence[float], outcome: Ended, deployment: bool = False) -> dict[str, Any]:
    """The cell's row. Where the records are a user's own it names the released estimators, and whether by a deployment.

    Raises UsageError where the mechanism has no analysis.
    """
    mechanism = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    try:
        statement = mechanism.row(tuple(deltas))
    except NoSuchAnalysis as error:
        setting = " ".join(f"{name}={value}" for name, value in cell.setting().items())
        place = f"{cell.experiment}: cell {cell.cell_id} {setting}, algorithm {cell.algorithm.name}"
        raise UsageError(f"{place}: {error.message}", error.hint) from None
    replicates, diverged, projections = outcome
    outcomes: dict[str, Any] = {
        "status": "diverged" if diverged else "done",
        "reason": f"{diverged} replicates diverged" if diverged else "",
        "replicates": replicates,
        "n_diverged": diverged,
        **({"projections": projections} if projections is not None else {}),
    }
    if cell.problem.files():
        names = cell.algorithm.releases(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
        of_replicates = "every replicate" if cell.run.release == "all" else "replicate 0"
        released = f"{' and '.join(names)} of {of_replicates}" if names else "nothing"
        outcomes |= {"released": released, "deployment": deployment}
    parameters = {"cell_id": cell.cell_id, **cell.columns()}
    return {**parameters, **beside(statement, {**parameters, **outcomes}), **outcomes}


def beside(statement: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """What a mechanism states as further columns: as `privacy.NAME` where another column is called so and differs."""
    # a mechanism may repeat a parameter, such as the accountant that a config names, and then one column holds it
    return {
        (name if name not in columns or _same(columns[name], value) else f"privacy.{name}"): value
        for name, value in statement.items()
    }


def _same(value: Any, other: Any) -> bool:
    """Equal, to the last bit, and nan is the same as nan."""
    return bool(value == other) or (value != value and other != other)


def agree(value: Any, other: Any) -> bool:
    """The same, or privacy numbers as two kinds of processors compute them."""
    numbers = isinstance(value, float) and isinstance(other, float)
    return _same(value, other) or (numbers and isclose(value, other, rel_tol=ACCURACY))
