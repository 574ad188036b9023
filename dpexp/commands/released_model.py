"""The parameters that a cell of a run on own records has released, on the user's own scale, and what they predict.

Only what the privacy statement counts is stored (`dpexp.store.cell_files`). It is read as every stored result is:
undamaged, of the run that the summary comes from, and of today's code, or refused. What a deployment has released stays
valid whatever changes, and its statement names the changes.
"""

from __future__ import annotations

import csv
import io
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.commands.joint_releases import NOT_PRIVATE
from dpexp.config.cell_settings import Words, named, varying
from dpexp.config.cells import flat
from dpexp.core.errors import PrivateWarning, UsageError
from dpexp.core.files import Damaged, atomically
from dpexp.core.standard_json import standard_json
from dpexp.core.text import columns, csv_cell, few, guess, up
from dpexp.problems.softmax_model import SoftmaxModel, softmax_model
from dpexp.reporting.statement import stated_by
from dpexp.store import load_generation, receipts
from dpexp.store.fingerprint import changed, today
from dpexp.store.folder import experiments_in
from dpexp.store.reading import missing

if TYPE_CHECKING:
    import pandas as pd

    from dpexp.store.generation import Generation

DEPLOYED = "Deployment: the noise was drawn from the operating system, and its seeds are not stored."
FORMATS = (".npz", ".json")
STATED = ("guarantee", "gdp_mu", "noise_multiplier", "neighboring_relation")


@dataclass(frozen=True)
class ReleasedModel:
    """One released set of parameters: of one cell, estimator and replicate."""

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
    changed: tuple[str, ...] = ()
    """code that changed since a deployment released it"""
    earlier: tuple[str, ...] = ()
    """when deployments released these records into the same results, where that was more than once"""
    together: str = ""
    """the budget of all of them"""

    @cached_property
    def softmax(self) -> SoftmaxModel | None:
        """The model that the parameters are; None where the problem of a plug-in does not say."""
        return softmax_model(self.parameters, self.legend) if self.legend.get("kind") == "softmax" else None

    @property
    def names(self) -> list[str]:
        """Names of the values of a class."""
        return self.softmax.names if self.softmax else [f"parameter {k}" for k in range(self.parameters.size)]

    @property
    def classes(self) -> list[str]:
        """The rows of `values`; empty where there is only one."""
        return list(self.softmax.classes) if self.softmax else []

    @property
    def values(self) -> np.ndarray:
        """In the user's own units: [classes, names], or [names] where the problem names no classes."""
        return self.softmax.coefficients if self.softmax else np.asarray(self.parameters, np.float64).ravel()

    @property
    def statement(self) -> str:
        """Whether it is private outside of experiments."""
        if not self.deployment:
            return NOT_PRIVATE
        words = [f"{DEPLOYED} Released on {self.deployment}."]
        if self.changed:
            words.append(f"Changed since then: {few(list(self.changed))}.")
        if self.earlier:
            times = few(list(self.earlier))
            words.append(f"In these results these records were released on {times}: {self.together} together.")
        return " ".join(words)

    @property
    def eps(self) -> list[tuple[float, float]]:
        """(delta, epsilon) pairs of this one release."""
        columns_ = {key.removeprefix("eps_"): value for key, value in self.row.items() if key.startswith("eps_")}
        return [(float(delta), float(value)) for delta, value in columns_.items() if value is not None]

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp predict --json`."""
        privacy = {"eps": [list(pair) for pair in self.eps], "accountant": stated_by(self.row)}
        return {
            "experiment": self.experiment,
            "cell_id": self.cell_id,
            "release": {
                "estimator": self.estimator, "replicate": self.replicate, "released": self.row["released"],
                "deployment": self.deployment or None, "changed_since": list(self.changed),
                "earlier": list(self.earlier), "statement": self.statement,
            },
            "names": self.names,
            "classes": self.classes,
            "values": self.values.tolist(),
            "formula": self.softmax.formula if self.softmax else None,
            "target": self.legend.get("target"),
            "encoding": self.legend.get("encoding"),
            "privacy": privacy | {name: self.row[name] for name in STATED if name in self.row},
        }  # fmt: skip

    def text(self) -> str:
        """For people: what it is, its coefficients, and how private it is."""
        values = np.atleast_2d(self.values)
        rows = [[name, *(f"{value:.6g}" for value in values[:, k])] for k, name in enumerate(self.names)]
        eps = ", ".join(f"epsilon = {up(value)} at delta = {delta:g}" for delta, value in self.eps)
        lines = [
            f"{self.experiment}, cell {self.cell_id}: {self.estimator} of replicate {self.replicate}\n",
            f"{columns(rows, ['', *(self.classes or ['value'])])}\n",
            self.softmax.formula if self.softmax else "",
            f"Encoding: {self.legend['encoding']}" if "encoding" in self.legend else "",
            f"Privacy of this release alone: {eps}, by {stated_by(self.row) or 'the mechanism'}.",
            self.statement,
        ]
        return "\n".join(filter(None, lines))

    def predict(self, table: object) -> pd.DataFrame:
        """The predicted class of every record of a file or a frame, and the probability of each.

        A record with a value that cannot be read has no prediction, and a warning counts them. Raises UsageError.
        """
        import pandas as pd

        classes, shares, _, losses = self._predicted(table)
        for sentence in losses:
            warnings.warn(sentence, PrivateWarning, stacklevel=2)
        frame = pd.DataFrame(shares, columns=self.classes)
        # a class may have any name, this one too
        frame.insert(0, "prediction", classes, allow_duplicates=True)
        return frame

    def predictions(self, table: object, raw: bool = False) -> tuple[dict[str, Any], str, list[str]]:
        """The same as JSON document, with the reason where there is no prediction, and as CSV; and the warnings."""
        classes, shares, reasons, losses = self._predicted(table)
        buffer, rows = io.StringIO(), list[dict[str, Any]]()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(["record", "prediction", *(f"probability of {name}" for name in self.classes)])
        for k, (name, own) in enumerate(zip(classes, shares.tolist(), strict=True)):
            row = {"record": k + 1, "prediction": name}
            readable = k not in reasons
            rows.append(row | ({"probabilities": own} if readable else {"probabilities": None, "why": reasons[k]}))
            writer.writerow([k + 1, csv_cell(name, raw), *(f"{share:.6g}" if readable else "" for share in own)])
        head = {"experiment": self.experiment, "cell_id": self.cell_id, "classes": self.classes}
        return head | {"predictions": rows}, buffer.getvalue().rstrip("\n"), losses

    def _predicted(self, table: object) -> tuple[np.ndarray, np.ndarray, dict[int, str], list[str]]:
        """The class of every record [n], its probabilities [n, classes], by record why it has none, and their count."""
        if self.softmax is None:
            raise UsageError(f"{self.experiment}: no prediction is known for the parameters of this problem")
        source = Path(table).expanduser() if isinstance(table, str | Path) else table
        shares, reasons, losses = self.softmax.probabilities(source)
        classes = np.array(self.classes, dtype=object)[shares.argmax(axis=1)]
        # the largest of undefined probabilities would be the first class
        classes[list(reasons)] = None
        return classes, shares, reasons, losses

    def save(self, path: str | Path) -> None:
        """Write a file: .json is the document, .npz its arrays and the document as text."""
        path = Path(path).expanduser()
        if path.suffix not in FORMATS:
            raise UsageError(f"{path}: a model is written as {' or '.join(FORMATS)}")
        document, buffer = standard_json(self.document()), io.BytesIO()
        if path.suffix == ".npz":
            names, classes = np.array(self.names, str), np.array(self.classes, str)
            np.savez(buffer, values=self.values, parameters=self.parameters, names=names, classes=classes,
                     document=np.array(document))  # fmt: skip
        else:
            buffer.write(f"{document}\n".encode())
        atomically(path, lambda temporary: temporary.write_bytes(buffer.getvalue()))


def released_model(
    result: str | Path, results: Path, cell: str | None = None, estimator: str | None = None, replicate: int = 0
) -> ReleasedModel:
    """What a result has released.

    Raises UsageError for a cell that is not there or has released nothing, and ResultsMissing for what is missing,
    stale or damaged, with the command that helps.
    """
    generation = _generation(str(result), results)
    # the folder may be a copy under another name
    experiment = str(generation.manifest["experiment"])
    cell_id = _cell(generation, experiment, cell)
    # the manifest says what was released, and not which files are there
    released = generation.manifest["computed_from"][cell_id].get("released")
    if not released or not released["estimators"]:
        why = "they are stored for runs on your own records: data: {path: ...}"
        why = "no guarantee covers them" if released else why
        raise UsageError(f"{experiment}: cell {cell_id} has released no parameters", why)
    try:
        model = generation.model(cell_id)
    except FileNotFoundError:
        raise missing(generation.folder, f"the parameters of cell {cell_id} are not there") from None
    except Damaged as error:
        raise missing(generation.folder, str(error)) from None
    name, count = estimator or model.estimators[0], model.values.shape[1]
    if name not in model.estimators:
        raise UsageError(f"{experiment}: '{name}' is not released", f"released: {', '.join(model.estimators)}")
    if not 0 <= replicate < count:
        hint = f"released: {f'0 to {count - 1}' if count > 1 else 'replicate 0'} (run.release)"
        raise UsageError(f"{experiment}: replicate {replicate} is not released", hint)
    row = next(row for row in generation.cells.table().to_pylist() if row["cell_id"] == cell_id)
    code, records = dict(model.metadata["code"]), model.metadata["records"]
    since = tuple(changed(code, today(code))) if model.deployment else ()
    own = receipts.of_records(receipts.receipts(generation.folder.root.parent), records) if records else []
    earlier = (tuple(str(receipt["at"]) for receipt in own), receipts.together(own)) if len(own) > 1 else ((), "")
    parameters = model.values[model.estimators.index(name), replicate]
    return ReleasedModel(experiment, cell_id, name, replicate, parameters, model.metadata["legend"], row,
                         model.deployment, since, *earlier)  # fmt: skip


def _generation(result: str, results: Path) -> Generation:
    """The stored results of an experiment, by its name or its folder."""
    home, folder = Path(result).expanduser(), results / result
    if not (folder / "manifest.json").exists() and (home / "manifest.json").exists():
        folder = home if home.name not in ("", "..") else home.resolve()
    if not folder.is_dir() and results.is_dir() and (near := guess(result, experiments_in(results))):
        raise UsageError(f"no results of '{result}' in {results}", near.strip())
    return load_generation(folder.parent, folder.name)


def _cell(generation: Generation, experiment: str, digits: str | None) -> str:
    """The id of the cell with these first digits, or of the only one that has released anything."""
    origins = generation.manifest["computed_from"]
    released = [key for key, origin in origins.items() if (origin.get("released") or {}).get("estimators")]
    if digits is not None:
        fitting = [key for key in origins if key.startswith(digits)]
        if len(fitting) == 1:
            return str(fitting[0])
        count = f"{len(fitting)} cells begin with" if fitting else "no cell is called"
        raise UsageError(
            f"{experiment}: {count} '{digits}'", f"{guess(digits, origins)}cells: {few(list(origins), 10)}"
        )
    if len(released) <= 1:
        return str((released or list(origins))[0])
    budgets = {row["cell_id"]: row["budget"] for row in generation.cells.table(["cell_id", "budget"]).to_pylist()}
    cells = [flat(generation.manifest["cells"][key]) for key in released]
    settings = named(cells, [str(budgets[key]) for key in released])
    names, words = varying(settings), Words(settings)
    listed = [f"{key} ({words.setting(names, own)})" for key, own in zip(released, settings, strict=True)]
    raise UsageError(f"{experiment}: {len(released)} cells have released parameters", f"--cell ID: {few(listed, 12)}")
