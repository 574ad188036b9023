"""A cell's row of cells.parquet: its parameters, what its privacy statement says, and how its replicates ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.core.errors import NoSuchAnalysis, UsageError
from dpexp.engine.result import CellData
from dpexp.store.stats import too_far

if TYPE_CHECKING:
    from dpexp.config.cells import Cell


STATED = 1e-9
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
    lost = too_far(data, cell.run.diverged_above).any(axis=(0, 1))
    return Ended(data.values.shape[-1], int(lost.sum()), last)


def row_of(cell: Cell, deltas: Sequence[float], outcome: Ended, deployment: bool = False) -> dict[str, Any]:
    """The cell's row of cells.parquet: nothing in it differs between two reproductions.

    Where the records are a user's own it names the released estimators, and whether by a deployment.
    """
    mechanism = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    try:
        statement = mechanism.row(tuple(deltas))
    except NoSuchAnalysis as error:
        setting = " ".join(f"{name}={value}" for name, value in cell.setting().items())
        raise UsageError(
            f"{cell.experiment}: cell {cell.cell_id} {setting}, algorithm {cell.algorithm.name}: {error.message}",
            error.hint,
        ) from None
    # nothing in a row may differ between two reproductions: times and machines stand in provenance.json
    wild = outcome.diverged
    outcomes: dict[str, Any] = {
        "status": "diverged" if wild else "done",
        "reason": f"{wild} replicates diverged" if wild else "",
        "replicates": outcome.replicates,
        "n_diverged": wild,
        **({"projections": outcome.projections} if outcome.projections is not None else {}),
        **({"released": released(cell), "deployment": deployment} if cell.problem.files() else {}),
    }
    parameters = {"cell_id": cell.cell_id, **cell.columns()}
    return {**parameters, **beside(statement, {**parameters, **outcomes}), **outcomes}


def released(cell: Cell) -> str:
    """The released estimators of a cell on a user's own records, in words."""
    names = cell.algorithm.releases(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    if not names:
        return "nothing"
    return f"{' and '.join(names)} of {'every replicate' if cell.run.release == 'all' else 'replicate 0'}"


def beside(statement: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """What a mechanism states as further columns: as `privacy.NAME` where another column is called so and differs."""
    # no column of a parameter or of an outcome is overwritten; a mechanism may repeat a parameter, such as the
    # accountant that a config names, and then one column holds it
    return {
        (name if name not in columns or same(columns[name], value) else f"privacy.{name}"): value
        for name, value in statement.items()
    }


def same(value: Any, other: Any) -> bool:
    """Equal, to the last bit, and nan is the same as nan."""
    return bool(value == other) or (value != value and other != other)


def agree(value: Any, other: Any) -> bool:
    """The same, or privacy numbers as two kinds of processors compute them."""
    return same(value, other) or (
        isinstance(value, float) and isinstance(other, float) and isclose(value, other, rel_tol=STATED)
    )
