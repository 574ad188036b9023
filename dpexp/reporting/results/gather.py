"""Stored results as lines of figures and tables, one estimator of one cell each, with curves of theory for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.config.cell_settings import Settings, Words, named, select, varying
from dpexp.config.cells import flat, stored_cell
from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.files import digest
from dpexp.core.text import counted, guess
from dpexp.reporting.results.choose import ESTIMATOR, FROM, TERM
from dpexp.reporting.results.labels import COEFFICIENTS, STATISTICS
from dpexp.store.folder import experiments_in
from dpexp.store.generation import Generation
from dpexp.store.reading import cell_of, cells_of, command_of, load_generation, say_once, summary_of
from dpexp.store.stats import is_coordinate

if TYPE_CHECKING:
    import pandas as pd

    from dpexp.config.cells import Cell

DEFAULT_METRICS = ("param_distance_sq", "loss_gap", "test_accuracy", "grad_norm", "objective", "train_loss")
"""the first of these that the results have is the default, else their first metric"""
OWN_RECORDS = "private: do not publish. These numbers were computed from private records and are covered by no budget."
"""before the numbers of a run on a user's own records"""
NUMBERS = ["step", "mean", "se", "ci_lo", "ci_hi", "q25", "q75", "n", "n_diverged"]
Curves = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class GatheredRun:
    """One cell of the result in a folder, with its row of cells.parquet and its parameters by column."""

    folder: Path
    generation: Generation
    row: dict[str, Any]
    settings: Settings

    @cached_property
    def cell(self) -> Cell | None:
        """The cell made again; None where it needs a plug-in, or has parameters of another version."""
        # pydantic's errors of parameters are ValueErrors
        with suppress(ResultsMissing, ValueError):
            return stored_cell(self.folder.name, self.generation.manifest["cells"][self.row["cell_id"]])
        return None

    @property
    def own_records(self) -> bool:
        """Whether it was computed from a user's own records."""
        return "released" in self.generation.manifest["computed_from"][self.row["cell_id"]]


@dataclass(frozen=True)
class Gathered:
    """Runs of one result or several, and the rows of their summaries, whose column `run` is the place in `runs`."""

    runs: tuple[GatheredRun, ...]
    summary: pd.DataFrame
    sections: dict[str, str]
    """section of every setting"""
    remarks: tuple[str, ...] = ()
    """on copies that are not current, and on cells that are missing"""

    @cached_property
    def words(self) -> Words:
        return Words(run.settings for run in self.runs)

    @property
    def names(self) -> str:
        """Those of the results."""
        return ", ".join(dict.fromkeys(run.folder.name for run in self.runs))

    @property
    def constants(self) -> str:
        """`name=value` of what all cells share, in the order of the config."""
        vary = {*varying(run.settings for run in self.runs), FROM}
        shared = [self.words.pair(k, v) for k, v in self.runs[0].settings.items() if k not in vary and v is not None]
        return f"The same in all: {', '.join(shared)}."

    @property
    def metrics(self) -> list[str]:
        """The metrics that every cell has."""
        counts = self.summary.groupby("metric", sort=False)["run"].nunique()
        return list(map(str, counts[counts == self.summary["run"].nunique()].index))

    @property
    def coordinates(self) -> list[str]:
        """Single parameters among the metrics."""
        return [name for name in self.metrics if is_coordinate(name)]

    def metric(self, name: str | None) -> str:
        """The metric of this name, or the default. Raises UsageError for an unknown one."""
        known = [*self.metrics, *([COEFFICIENTS] if self.coordinates else [])]
        if not known:
            raise UsageError("these results have no metric in common", "draw them one by one")
        _require("metric", [name] if name else [], known)
        return name or next((default for default in DEFAULT_METRICS if default in known), known[0])

    def of(self, estimators: Sequence[str], statistic: str) -> Gathered:
        """The same with these estimators, or all, and a statistic in the columns `mean`, `ci_lo` and `ci_hi`.

        Raises UsageError for an unknown name.
        """
        _require("estimator", estimators, list(self.summary["estimator"].unique()))
        _require("statistic", [statistic], list(STATISTICS))
        summary = self.summary[self.summary["estimator"].isin(list(estimators))] if estimators else self.summary
        columns = dict(zip(("mean", "ci_lo", "ci_hi"), STATISTICS[statistic].columns, strict=True))
        return replace(self, summary=summary.assign(**{name: summary[own] for name, own in columns.items()}))


def _require(option: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            hint = f"{guess(name, known)}{option}s: {', '.join(known)}"
            raise UsageError(f"--{option} {name}: the results do not have it", hint)


def gather(
    folders: Sequence[Path], only: str | None = None, partial: bool = True, needs: Sequence[str] = (),
    renamed: bool = False,
) -> Gathered:  # fmt: skip
    """Everything that figures and tables of the results in these folders need.

    `only` has conditions on the columns of cells, as `dpexp run --only` takes it. Where `partial`, missing and failed
    cells are left out with a remark; where `renamed`, a copy under another name is shown, of older code or config.
    Raises ResultsMissing where results are missing, stale or without one of the columns `needs`, UsageError where
    `only` is wrong or a part of it matches no cell.
    """
    import pandas as pd

    # compared with today's code once, and not once for every cell
    generations = {folder: load_generation(folder.parent, folder.name, renamed, partial) for folder in folders}
    known, remarks = list[dict[str, Settings]](), list[str]()
    for folder, generation in generations.items():
        if renamed and (why := generation.why_stale()):
            remarks.append(f"{folder} is not what today's code gives: {why}")
        # `only` selects a cell without a row by its parameters; rows have nan for what other cells have
        trees = generation.manifest["cells"]
        own, _ = named([flat(tree) for tree in trees.values()], [""] * len(trees))
        rows = {r["cell_id"]: r for r in cells_of(generation, needs).to_dict("records") if r["status"] != "failed"}
        both = ((cell, names, rows.get(cell, {}).items()) for cell, names in zip(trees, own, strict=True))
        known.append({cell: names | {str(k): v for k, v in r if v == v or k not in names} for cell, names, r in both})
    cells, frames = list[tuple[Path, Generation, Settings]](), list[pd.DataFrame]()
    selection = known if only is None else select(only, known)
    for (folder, generation), columns, selected in zip(generations.items(), known, selection, strict=True):
        shown = {cell: row for cell, row in columns.items() if cell in selected and "status" in row}
        if missing := len(selected) - len(shown):
            part = f"{missing} of {counted(len(selected), 'cell')}"
            remarks.append(f"{folder}: {part} not shown: missing or failed (run: {command_of(generation.folder)})")
            say_once(remarks[-1])
        summary, places = summary_of(generation), {cell: len(cells) + k for k, cell in enumerate(shown)}
        frames.append(summary.assign(run=summary["cell_id"].map(places)).dropna(subset="run").astype({"run": int}))
        cells += [(folder, generation, row) for row in shown.values()]
    if not cells:
        raise UsageError("no cell has results", "; ".join(remarks))
    flats = [flat(generation.manifest["cells"][row["cell_id"]]) for _, generation, row in cells]
    settings, section_of = named(flats, [str(row["budget"]) for *_, row in cells])
    # a result goes by its name, or by its path where two have the same name
    names = [folder.name for folder in folders]
    origins = {folder: folder.name if names.count(folder.name) == 1 else str(folder) for folder in folders}
    runs = tuple(GatheredRun(*cell, {FROM: origins[cell[0]], **own}) for cell, own in zip(cells, settings, strict=True))
    return Gathered(runs, pd.concat(frames, ignore_index=True), section_of | {FROM: FROM}, tuple(remarks))


def name_of(
    folders: Sequence[Path], shipped: Collection[str], options: Mapping[str, bool | str | Sequence[str]]
) -> str:
    """The name of the files of results, with the options that are given, so that no two calls write one file.

    It is never that of a shipped figure or table, or of another result in the same folder. What is long, or has signs
    that no name should have, ends in a digest.
    """
    names, parts = list(dict.fromkeys(folder.name for folder in folders)), []
    for key, value in {"": "_and_".join(names), **options}.items():
        words = [] if isinstance(value, bool) else [value] if isinstance(value, str) else list(value)
        if value:
            text = "-".join([key] * (key not in ("", "metric")) + words)
            safe = re.sub(r"[^\w.-]+", "-", text)
            parts.append(safe if len(safe) <= 80 and safe == text else f"{safe[:40].strip('-')}-{digest(text, 4)}")
    name, others = "_".join(parts), {other for folder in folders for other in experiments_in(folder.parent)}
    return f"{name}_result" if name in {*shipped, *(others - {*names})} else name


@dataclass(frozen=True, eq=False)
class Line:
    """One estimator of one cell: its settings, `estimator` among them, and NUMBERS by step."""

    run: GatheredRun
    estimator: str
    settings: Settings
    rows: pd.DataFrame
    metric: str

    @property
    def diverged(self) -> int:
        """How many replicates have diverged by the last step."""
        return int(self.rows["n_diverged"].iloc[-1])

    @property
    def replicates(self) -> int:
        return int(self.rows["n"].iloc[-1])

    @property
    def last(self) -> tuple[float, float, float, float]:
        """Mean, standard error and both ends at the last step."""
        mean, se, low, high = map(float, self.rows[["mean", "se", "ci_lo", "ci_hi"]].iloc[-1])
        return mean, se, low, high

    def replicate_values(self) -> np.ndarray:
        """By checkpoint and replicate, [K, R]; of the distance the square is stored. Raises OnlySummaries."""
        data = cell_of(self.run.generation, self.run.row["cell_id"])
        column = "param_distance_sq" if self.metric == "param_distance" else self.metric
        values = data.values[data.estimators.index(self.estimator), :, data.metrics.index(column)]
        return values if column == self.metric else np.sqrt(values)

    def curves(self, theories: Sequence[Theory], steps: np.ndarray, drawn: bool = False) -> dict[str, np.ndarray]:
        """Those of all theories, none for a cell that cannot be made again; `drawn`: as figures have them."""
        cell, curves = self.run.cell, dict[str, np.ndarray]()
        for theory in theories:
            if cell:
                curves |= ((drawn and theory.drawn) or theory.curves)(cell, self.estimator, self.metric, steps)
        return curves


@dataclass(frozen=True)
class Theory:
    """Predictions of one paper for cells of any experiment; its functions answer for unknown cells too.

    Of (cell, estimator, metric): `exponent` is the power of the step with which the mean falls, or None. `curves` of
    steps [K] as well are curves [K] by their names, such as `bound, Theorem 3`, nan where a curve says nothing; `drawn`
    the same for a figure, where a prediction may take seconds.
    """

    exponent: Callable[[Cell, str, str], float | None]
    curves: Callable[[Cell, str, str, np.ndarray], Curves]
    drawn: Callable[[Cell, str, str, np.ndarray], Curves] | None = None


def column_of(name: str) -> str:
    """A setting's column next to the numbers of a line, where `n` is the number of replicates."""
    return "run.n" if name == "n" else name


def lines_of(gathered: Gathered, metric: str) -> list[Line]:
    """The lines of one metric, by cell in the order of the config, and then by estimator; of `coefficients` by term."""
    if metric == COEFFICIENTS:
        by_term = [lines_of(gathered, name) for name in gathered.coordinates]
        return [replace(line, settings={**line.settings, TERM: line.metric}) for lines in by_term for line in lines]
    summary = gathered.summary[gathered.summary["metric"] == metric].sort_values(["run", "step"], kind="stable")
    lines = []
    for _, rows in summary.groupby(["run", "estimator"], sort=False):
        run, name = gathered.runs[rows["run"].iloc[0]], str(rows["estimator"].iloc[0])
        lines.append(Line(run, name, {**run.settings, ESTIMATOR: name}, rows[NUMBERS].reset_index(drop=True), metric))
    return lines
