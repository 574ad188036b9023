"""The parameters that a cell of a run on own records has released, on the user's own scale, and what they predict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpexp.commands.joint_releases import NOT_PRIVATE, SECRET
from dpexp.commands.release import ReleaseAnswer
from dpexp.core.errors import UsageError
from dpexp.core.files import Damaged
from dpexp.core.text import columns, few, guess, up
from dpexp.problems.softmax_model import SoftmaxModel
from dpexp.store.reading import load_generation, missing

if TYPE_CHECKING:
    import pandas as pd

    from dpexp.store.generation import Generation


@dataclass(frozen=True)
class ReleasedModel(ReleaseAnswer):
    """One released set of parameters: of one cell, estimator and replicate."""

    digits: ClassVar[str | None] = "%.6g"
    experiment: str
    cell_id: str
    estimator: str
    replicate: int
    parameters: np.ndarray
    """as the algorithm has them"""
    legend: dict[str, Any]
    row: dict[str, Any]
    """of cells.parquet: the cell's parameters and its privacy statement"""
    deployment: str
    """when a deployment released it; empty for a reproducible run"""

    @cached_property
    def softmax(self) -> SoftmaxModel | None:
        """The model that the parameters are; None for the problem of a plug-in that does not declare one."""
        return SoftmaxModel(self.parameters, self.legend) if self.legend.get("kind") == "softmax" else None

    @property
    def names(self) -> list[str]:
        """Names of the values of a class."""
        return self.softmax.names if self.softmax else [f"parameter {k}" for k in range(self.parameters.size)]

    @property
    def classes(self) -> list[str]:
        """The rows of `values`; empty where there is only one."""
        return [str(name) for name in self.legend["classes"]] if self.softmax else []

    @property
    def values(self) -> np.ndarray:
        """In the user's own units: [classes, names], or [names] where the problem names no classes."""
        return self.softmax.coefficients if self.softmax else np.asarray(self.parameters, np.float64).ravel()

    @property
    def eps(self) -> list[tuple[float, float]]:
        """(delta, epsilon) pairs of this one release."""
        pairs = ((key.removeprefix("eps_"), value) for key, value in self.row.items() if key.startswith("eps_"))
        return [(float(delta), float(value)) for delta, value in pairs if value is not None]

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp predict --json`."""
        statement = ("guarantee", "gdp_mu", "noise_multiplier", "neighboring_relation")
        privacy = {"eps": [list(pair) for pair in self.eps], "accountant": self.row.get("accountant")}
        return {
            "experiment": self.experiment, "cell_id": self.cell_id,
            "release": {
                "estimator": self.estimator, "replicate": self.replicate, "released": self.row["released"],
                "deployment": self.deployment or None, "statement": SECRET if self.deployment else NOT_PRIVATE,
            },
            "names": self.names, "classes": self.classes, "values": self.values.tolist(),
            "formula": self.softmax.formula if self.softmax else None,
            "target": self.legend.get("target"), "encoding": self.legend.get("encoding"),
            "privacy": privacy | {name: self.row[name] for name in statement if name in self.row},
        }  # fmt: skip

    def text(self) -> str:
        """For people: what it is, its coefficients, and how private it is."""
        values = np.atleast_2d(self.values)
        rows = [[name, *(f"{value:.6g}" for value in values[:, k])] for k, name in enumerate(self.names)]
        eps = ", ".join(f"epsilon = {up(value)} at delta = {delta:g}" for delta, value in self.eps)
        refuted = " (NOT A GUARANTEE)" if self.row.get("guarantee") is False else ""
        lines = [
            f"{self.experiment}, cell {self.cell_id}: {self.estimator} of replicate {self.replicate}\n",
            f"{columns(rows, ['', *(self.classes or ['value'])])}\n",
            self.softmax.formula if self.softmax else "",
            f"Encoding: {self.legend['encoding']}" if "encoding" in self.legend else "",
            f"Privacy of this release alone: {eps}, by {self.row.get('accountant') or 'the mechanism'}{refuted}.",
            f"{SECRET} Released on {self.deployment}." if self.deployment else NOT_PRIVATE,
        ]
        return "\n".join(filter(None, lines))

    def predicted(self, table: object) -> tuple[pd.DataFrame, list[str]]:
        """The class of every record and the probability of each, and how many have none."""
        import pandas as pd

        if self.softmax is None:
            raise UsageError(f"{self.experiment}: no prediction is known for the parameters of this problem")
        shares, losses = self.softmax.probabilities(table)
        readable = np.isfinite(shares[:, 0])
        # the largest of undefined probabilities would be the first class
        classes = np.where(readable, np.array(self.classes, dtype=object)[shares.argmax(axis=1)], None)
        frame = pd.DataFrame({"record": np.arange(1, len(shares) + 1), "prediction": classes})
        return frame.join(pd.DataFrame(shares, columns=[f"probability of {name}" for name in self.classes])), losses


def released_model(
    result: str | Path, results: Path, cell: str | None = None, estimator: str | None = None, replicate: int = 0
) -> ReleasedModel:
    """What a result has released.

    Raises UsageError for a cell that is not there or has released nothing, and ResultsMissing for what is missing,
    stale or damaged, with the command that helps.
    """
    home, folder = Path(result).expanduser(), results / result
    if not (folder / "manifest.json").exists() and (home / "manifest.json").exists():
        folder = home if home.name not in ("", "..") else home.resolve()
    generation = load_generation(folder.parent, folder.name)
    # the folder may be a copy under another name
    experiment = str(generation.manifest["experiment"])
    cell_id = _cell(generation, experiment, cell)
    # the manifest says what was released, and not which files are there
    if not (generation.manifest["computed_from"][cell_id].get("released") or {}).get("estimators"):
        hint = "they are stored for runs on your own records under a guarantee: data: {path: ...}"
        raise UsageError(f"{experiment}: cell {cell_id} has released no parameters", hint)
    try:
        values, metadata = generation.model(cell_id)
    except (FileNotFoundError, Damaged) as error:
        why = str(error) if isinstance(error, Damaged) else f"the parameters of cell {cell_id} are not there"
        raise missing(generation.folder, why) from None
    estimators, deployment = metadata["estimators"], str(metadata["deployment"])
    name, count = estimator or estimators[0], values.shape[1]
    if name not in estimators:
        raise UsageError(f"{experiment}: '{name}' is not released", f"released: {', '.join(estimators)}")
    if not 0 <= replicate < count:
        hint = f"released: {f'0 to {count - 1}' if count > 1 else 'replicate 0'} (run.release)"
        raise UsageError(f"{experiment}: replicate {replicate} is not released", hint)
    row = next(row for row in generation.cells.table().to_pylist() if row["cell_id"] == cell_id)
    parameters, legend = values[estimators.index(name), replicate], metadata["legend"]
    return ReleasedModel(experiment, cell_id, name, replicate, parameters, legend, row, deployment)


def _cell(generation: Generation, experiment: str, digits: str | None) -> str:
    """The id of the cell with these first digits, or of the only one that has released anything."""
    origins = generation.manifest["computed_from"]
    released = [key for key, origin in origins.items() if (origin.get("released") or {}).get("estimators")]
    if digits is not None:
        matches = [str(key) for key in origins if key.startswith(digits)]
        if len(matches) != 1:
            hint = f"{guess(digits, origins)}cells: {few(list(origins), 10)}"
            count = f"{len(matches)} cells begin with" if matches else "no cell is called"
            raise UsageError(f"{experiment}: {count} '{digits}'", hint)
        return matches[0]
    if len(released) <= 1:
        return str((released or list(origins))[0])
    budgets = generation.cells.table(["cell_id", "budget"]).to_pylist()
    listed = [f"{row['cell_id']} ({row['budget']})" for row in budgets if row["cell_id"] in released]
    raise UsageError(f"{experiment}: {len(released)} cells have released parameters", f"--cell ID: {few(listed, 12)}")
