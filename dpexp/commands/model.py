"""`dpexp predict` of a run: the parameters that a cell has released, on the user's own scale, and what they predict.

Parameters are stored for runs on a user's own records, and only those that the privacy statement counts
(`dpexp.store.cell_files`). They are read as every stored result is: whole, of the run that the summary comes from, and
of today's code, or refused. What a deployment has released stays valid whatever changes, and says so.
"""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.commands.joint_releases import NOT_PRIVATE
from dpexp.config.settings import Words, flat, named, varying
from dpexp.core.errors import PrivateWarning, UsageError
from dpexp.core.files import Damaged, at_home, atomically
from dpexp.core.standard_json import standard_json
from dpexp.core.terminal import warn
from dpexp.core.text import columns, csv_cell, few, guess, up
from dpexp.problems.softmax_model import SoftmaxModel, softmax_model
from dpexp.reporting.statement import stated_by
from dpexp.store import load_generation, receipts
from dpexp.store.fingerprint import changed, today
from dpexp.store.folder import experiments_in
from dpexp.store.reading import missing

if TYPE_CHECKING:
    import pandas as pd

    from dpexp.store.cell_files import Model
    from dpexp.store.generation import Generation

DEPLOYED = "Deployment: the noise was drawn from the operating system, and its seeds are kept nowhere."
FORMATS = (".npz", ".json")
PREDICTIONS = (".csv", ".json")


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
    """what has changed since a deployment released it"""
    earlier: tuple[str, ...] = ()
    """when deployments released these records into the same results, where that was more than once"""
    together: str = ""
    """what all of them spend"""

    @cached_property
    def softmax(self) -> SoftmaxModel | None:
        """The model that the parameters are; None where the problem of a plug-in does not say."""
        return softmax_model(self.parameters, self.legend) if self.legend.get("kind") == "softmax" else None

    @property
    def names(self) -> list[str]:
        """What the values of a class are called."""
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
        since = f" Changed since then: {few(list(self.changed))}." if self.changed else ""
        before = ""
        if self.earlier:
            others = f"these records were released on {few(list(self.earlier))}"
            before = f" In these results {others}: {self.together} together."
        return f"{DEPLOYED} Released on {self.deployment}.{since}{before}"

    @property
    def eps(self) -> list[tuple[float, float]]:
        """(delta, epsilon) pairs of this one release."""
        found = [(name.removeprefix("eps_"), value) for name, value in self.row.items() if name.startswith("eps_")]
        return [(float(delta), float(value)) for delta, value in found if value is not None]

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp predict --json`."""
        stated = ("guarantee", "gdp_mu", "noise_multiplier", "neighboring_relation")
        return {
            "experiment": self.experiment,
            "cell_id": self.cell_id,
            "release": {
                "estimator": self.estimator,
                "replicate": self.replicate,
                "released": self.row["released"],
                "deployment": self.deployment or None,
                "changed_since": list(self.changed),
                "earlier": list(self.earlier),
                "statement": self.statement,
            },
            "names": self.names,
            "classes": self.classes,
            "values": self.values.tolist(),
            "formula": self.softmax.formula if self.softmax else None,
            "target": self.legend.get("target"),
            "encoding": self.legend.get("encoding"),
            "privacy": {
                "eps": [list(pair) for pair in self.eps],
                "accountant": stated_by(self.row),
                **{name: self.row[name] for name in stated if name in self.row},
            },
        }

    def text(self) -> str:
        """For people: what it is, its coefficients, and how private it is."""
        lines = [f"{self.experiment}, cell {self.cell_id}: {self.estimator} of replicate {self.replicate}", ""]
        values = np.atleast_2d(self.values)
        rows = [[name, *(f"{value:.6g}" for value in values[:, k])] for k, name in enumerate(self.names)]
        lines.append(columns(rows, ["", *(self.classes or ["value"])]))
        lines.append("")
        if self.softmax:
            lines.append(self.softmax.formula)
        if "encoding" in self.legend:
            lines.append(f"Encoding: {self.legend['encoding']}")
        eps = ", ".join(f"epsilon = {up(value)} at delta = {delta:g}" for delta, value in self.eps)
        lines.append(f"Privacy of this release alone: {eps}, by {stated_by(self.row) or 'the mechanism'}.")
        lines.append(self.statement)
        return "\n".join(lines)

    def predict(self, table: object) -> pd.DataFrame:
        """The predicted class of every record of a file or a frame, and the probability of each.

        Of a record that has a value which cannot be read there is no prediction, and a warning says how many these are.
        Raises UsageError.
        """
        import pandas as pd

        predicted, shares, _, lost = self.predicted(table)
        for sentence in lost:
            warnings.warn(sentence, PrivateWarning, stacklevel=2)
        frame = pd.DataFrame(shares, columns=self.classes)
        # a class may have any name, this one too
        frame.insert(0, "prediction", predicted, allow_duplicates=True)
        return frame

    def predicted(self, table: object) -> tuple[np.ndarray, np.ndarray, dict[int, str], list[str]]:
        """Of every record the class [n] and the probabilities [n, classes]; why some have none, and how many."""
        if self.softmax is None:
            raise UsageError(f"{self.experiment}: what these parameters predict is not known")
        source = Path(table).expanduser() if isinstance(table, str | Path) else table
        shares, reasons, lost = self.softmax.probabilities(source)
        predicted = np.array(self.classes, dtype=object)[shares.argmax(axis=1)]
        # The largest of undefined probabilities would be the first class.
        predicted[list(reasons)] = None
        return predicted, shares, reasons, lost

    def save(self, path: str | Path) -> None:
        """Write a file whole: .json is the document, .npz its arrays and the document as text."""
        path = Path(path).expanduser()
        if path.suffix not in FORMATS:
            raise UsageError(f"{path}: a model is written as {' or '.join(FORMATS)}")
        if path.suffix == ".json":
            _write(path, (standard_json(self.document()) + "\n").encode())
            return
        # Made in memory and then written whole.
        buffer = io.BytesIO()
        np.savez(
            buffer,
            values=self.values,
            parameters=self.parameters,
            names=np.array(self.names, str),
            classes=np.array(self.classes, str),
            document=np.array(standard_json(self.document())),
        )
        _write(path, buffer.getvalue())


def released_model(
    result: str | Path,
    results: Path,
    cell: str | None = None,
    estimator: str | None = None,
    replicate: int = 0,
) -> ReleasedModel:
    """What a result has released.

    Raises UsageError for a cell that is not there or has released nothing, and ResultsMissing for what is missing,
    stale or damaged, with the command that helps.
    """
    generation = _generation(str(result), results)
    # The folder may be a copy under another name.
    experiment = str(generation.manifest["experiment"])
    cell_id = _cell(generation, experiment, cell)
    # What was released is written in the manifest, and not read off which files are there.
    told = generation.manifest["computed_from"][cell_id].get("released")
    row = next(row for row in generation.cells.table().to_pylist() if row["cell_id"] == cell_id)
    # No guarantee, or no private records: in the second case there was nothing to protect.
    if not told or not told["estimators"]:
        why = "no guarantee covers them" if told else "they are kept for runs on your own records: data: {path: ...}"
        raise UsageError(f"{experiment}: cell {cell_id} has released no parameters", why)
    try:
        model = generation.model(cell_id)
    except FileNotFoundError:
        raise missing(generation.folder, f"the parameters of cell {cell_id} are not there") from None
    except Damaged as error:
        raise missing(generation.folder, str(error)) from None
    chosen = estimator or model.estimators[0]
    if chosen not in model.estimators:
        raise UsageError(f"{experiment}: '{chosen}' is not released", f"released: {', '.join(model.estimators)}")
    if not 0 <= replicate < model.values.shape[1]:
        hint = "released: replicate 0" if model.values.shape[1] == 1 else f"released: 0 to {model.values.shape[1] - 1}"
        raise UsageError(f"{experiment}: replicate {replicate} is not released", f"{hint} (run.release)")
    code = dict(model.metadata["code"])
    since = tuple(changed(code, today(code))) if model.deployment else ()
    return ReleasedModel(
        experiment, cell_id, chosen, replicate, model.values[model.estimators.index(chosen), replicate], model.legend,
        row, model.deployment, since, *_others(model, generation.folder.root.parent),
    )  # fmt: skip


def _others(model: Model, results: Path) -> tuple[tuple[str, ...], str]:
    """When the records of a deployment were released into these results, where more than once, and what that spends."""
    told = receipts.of_records(receipts.receipts(results), model.records) if model.records else []
    if len(told) < 2:
        return (), ""
    return tuple(str(one["at"]) for one in told), receipts.together(told)


def predictions(model: ReleasedModel, table: Path, raw: bool = False) -> tuple[dict[str, Any], str]:
    """What a model predicts: document and csv text. A record without a prediction has its reason, on stderr too."""
    classes, shares, reasons, lost = model.predicted(table)
    for sentence in lost:
        warn(sentence)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["record", "prediction", *(f"probability of {name}" for name in model.classes)])
    told: list[dict[str, Any]] = []
    for number, (name, own) in enumerate(zip(classes, shares.tolist(), strict=True), 1):
        known = name is not None
        writer.writerow([number, csv_cell(name, raw), *(f"{share:.6g}" if known else "" for share in own)])
        told.append({"record": number, "prediction": name, "probabilities": own if known else None})
        if not known:
            told[-1]["why"] = reasons[number - 1]
    document = {"experiment": model.experiment, "cell_id": model.cell_id, "classes": model.classes, "predictions": told}
    return document, buffer.getvalue().rstrip("\n")


def model(
    result: str | Path,
    results: Path,
    cell: str | None,
    estimator: str | None,
    replicate: int,
    out: Path | None,
    predict: Path | None,
    raw: bool = False,
) -> tuple[dict[str, Any], str]:
    """Document and text; with `out` a file is written, and the text is its path."""
    formats = FORMATS if predict is None else PREDICTIONS
    if out is not None and out.suffix not in formats:
        what = "a model is" if predict is None else "predictions are"
        raise UsageError(f"{out}: {what} written as {' or '.join(formats)}")
    found = released_model(result, results, cell, estimator, replicate)
    if predict is None:
        if out is not None:
            found.save(out)
        return found.document(), found.text() if out is None else str(out)
    document, text = predictions(found, predict, raw)
    if out is not None:
        content = json.dumps(document, indent=2) if out.suffix == ".json" else text
        _write(out, f"{content}\n".encode())
    return document, text if out is None else str(out)


def _generation(result: str, results: Path) -> Generation:
    """The stored results of an experiment, by its name or its folder."""
    home = at_home(Path(result))
    folder = results / result
    if not (folder / "manifest.json").exists() and (home / "manifest.json").exists():
        folder = home if home.name not in ("", "..") else home.resolve()
    if not folder.is_dir() and results.is_dir():
        near = guess(result, experiments_in(results))
        if near:
            raise UsageError(f"no results of '{result}' in {results}", near.strip())
    return load_generation(folder.parent, folder.name)


def _cell(generation: Generation, experiment: str, wanted: str | None) -> str:
    """The id of the cell that is meant: by its first digits, or the only one that has released anything."""
    origins = generation.manifest["computed_from"]
    released = [i for i, origin in origins.items() if (origin.get("released") or {}).get("estimators")]
    if wanted is not None:
        found = [cell_id for cell_id in origins if cell_id.startswith(wanted)]
        if len(found) == 1:
            return str(found[0])
        what = f"{len(found)} cells begin with" if found else "no cell is called"
        raise UsageError(f"{experiment}: {what} '{wanted}'", f"{guess(wanted, origins)}cells: {few(list(origins), 10)}")
    # Where only one can be meant, nobody has to say which.
    if len(released) == 1 or len(origins) == 1:
        return str((released or list(origins))[0])
    if not released:
        return str(next(iter(origins)))
    listed = [f"{cell_id} ({setting})" for cell_id, setting in _settings(generation, released).items()]
    raise UsageError(f"{experiment}: {len(released)} cells have released parameters", f"--cell ID: {few(listed, 12)}")


def _settings(generation: Generation, cell_ids: Sequence[str]) -> dict[str, str]:
    """What tells cells apart, as it is spelled everywhere."""
    budgets = {row["cell_id"]: row["budget"] for row in generation.cells.table(["cell_id", "budget"]).to_pylist()}
    cells = [flat(generation.manifest["cells"][cell_id]) for cell_id in cell_ids]
    settings = named(cells, [str(budgets[cell_id]) for cell_id in cell_ids])
    names, words = varying(settings), Words(settings)
    return {cell_id: words.setting(names, own) for cell_id, own in zip(cell_ids, settings, strict=True)}


def _write(path: Path, content: bytes) -> None:
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a file to write")
    atomically(path, lambda temporary: temporary.write_bytes(content))
