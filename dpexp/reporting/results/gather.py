"""Stored results as rows for figures and tables: the settings of every cell, and its summaries."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.config.cell_settings import Settings, Words, named, sections, select
from dpexp.config.cells import flat, stored_cell
from dpexp.core.digests import digest
from dpexp.core.errors import DpexpError, ResultsMissing, UsageError
from dpexp.core.text import counted, guess
from dpexp.reporting.results.metrics import COEFFICIENTS
from dpexp.store import load_generation
from dpexp.store.folder import experiments_in
from dpexp.store.reading import cells_of, command_of, say_once, summary_of
from dpexp.store.stats import is_coordinate

if TYPE_CHECKING:
    import pandas as pd

    from dpexp.config.cells import Cell
    from dpexp.store.generation import Generation

FROM = "result"
"""the setting that distinguishes runs of several results"""
DEFAULT_METRICS = ("param_distance_sq", "loss_gap", "test_accuracy", "grad_norm", "objective", "train_loss")
"""the first of these that the results have is the default, else their first metric"""
COLUMNS = ["cell_id", "estimator", "step", "metric", "n", "n_diverged", "mean", "se", "ci_lo", "ci_hi"]
"""of a summary"""


class Unreadable(ResultsMissing):
    """Results with parameters that this version does not take."""


@dataclass(frozen=True)
class Source:
    """A results folder of one experiment."""

    results: Path
    name: str
    renamed: bool = False
    """a copy under another name, which may be of older code or config: shown with a remark"""

    @property
    def path(self) -> Path:
        return self.results / self.name


@dataclass(frozen=True, eq=False)
class Run:
    """One cell of a result."""

    source: Source
    parameters: dict[str, Any]
    """those from which the cell was made, as the manifest has them"""
    settings: Settings
    """every parameter by the name of its column"""
    row: dict[str, Any]
    """its row of cells.parquet"""
    generation: Generation

    @cached_property
    def cell(self) -> Cell:
        """The cell made again. Raises ResultsMissing where it needs a plug-in, or parameters of another version."""
        return _cell(self.source, self.parameters)

    @cached_property
    def known(self) -> Cell | None:
        """The cell, or None where it cannot be made again."""
        with suppress(ResultsMissing):
            return self.cell
        return None

    @property
    def own_records(self) -> bool:
        """Whether it was computed from a user's own records."""
        return "released" in self.generation.manifest["computed_from"][str(self.row["cell_id"])]

    @property
    def steps_are_its_own(self) -> bool:
        """Whether the number of steps follows from the other parameters (a toy run takes fewer)."""
        with suppress(DpexpError):
            if (cell := self.known) is not None:
                own = cell.algorithm.steps(cell.problem, cell.schedule, cell.privacy.mu)
                return own is not None and cell.run.n <= own
        return False


OWN_RECORDS = "Private: do not publish. These numbers were computed from private records and are covered by no budget."
"""before the metrics of a run on a user's own records"""


@dataclass(frozen=True)
class Gathered:
    """Runs of one result or several, and the rows of their summaries."""

    sources: tuple[Source, ...]
    runs: tuple[Run, ...]
    summary: pd.DataFrame
    """summary.parquet with the column `run`, the place of a row's cell in `runs`"""
    sections: dict[str, str]
    """section of every setting"""
    remarks: tuple[str, ...] = ()
    """on copies that are not current, and on cells that are missing"""
    statistic: str = "mean"
    """in the columns `mean`, `ci_lo` and `ci_hi`: a name of `statistic.STATISTICS`"""

    @cached_property
    def words(self) -> Words:
        return Words(run.settings for run in self.runs)

    @property
    def derived(self) -> tuple[str, ...]:
        """Settings that follow from others by definition: steps that follow from epochs."""
        return ("n",) if all(run.steps_are_its_own for run in self.runs) else ()

    @property
    def estimators(self) -> list[str]:
        return list(self.summary.estimator.unique())

    @property
    def metrics(self) -> list[str]:
        """The metrics that every cell has."""
        counts = self.summary.groupby("metric", sort=False).run.nunique()
        return [str(name) for name, count in counts.items() if count == self.summary.run.nunique()]

    @property
    def coordinates(self) -> list[str]:
        """Single parameters among the metrics."""
        return [name for name in self.metrics if is_coordinate(name)]

    def metric(self, name: str | None) -> str:
        """The metric of this name, or the default. Raises UsageError for an unknown one."""
        known = [*self.metrics, *([COEFFICIENTS] if self.coordinates else [])]
        if not known:
            raise UsageError("these results have no metric in common", "draw them one by one")
        if name is not None and name not in known:
            hint = f"{guess(name, known)}metrics: {', '.join(known)}"
            raise UsageError(f"--metric {name}: the results do not have it", hint)
        return name or next((default for default in DEFAULT_METRICS if default in known), known[0])

    def estimated(self, names: Sequence[str]) -> Gathered:
        """The same with these estimators, or all where no name is given. Raises UsageError for an unknown one."""
        known = self.estimators
        for name in names:
            if name not in known:
                hint = f"{guess(name, known)}estimators: {', '.join(known)}"
                raise UsageError(f"--estimator {name}: the results do not have it", hint)
        return replace(self, summary=self.summary[self.summary.estimator.isin(list(names))]) if names else self


def _cell(source: Source, parameters: dict[str, Any]) -> Cell:
    """The cell of stored parameters. Raises Unreadable, and ResultsMissing where it needs a plug-in."""
    from pydantic import ValidationError

    try:
        return stored_cell(source.name, parameters)
    except ValidationError as error:
        why = "; ".join(fault["msg"].removeprefix("Value error, ") for fault in error.errors())
        raise Unreadable(f"{source.path}: {why}", "dpexp run CONFIG computes it with this version") from error


def gather(
    sources: Sequence[Source], only: str | None = None, partial: bool = True, needs: Sequence[str] = ()
) -> Gathered:
    """Everything that figures and tables of these results need.

    `only` has conditions on the columns of cells, as `dpexp run --only` takes it. Where `partial`, missing and failed
    cells are left out with a remark. Raises ResultsMissing where results are missing, stale or without one of the
    columns `needs`, UsageError where `only` is wrong or a part of it matches no cell.
    """
    import pandas as pd

    cells: list[tuple[Source, dict[str, Any], dict[str, Any], Generation]] = []
    flats, frames, remarks = [], [], []
    # compared with today's code once, and not once for every cell
    generations = [load_generation(source.results, source.name, source.renamed, partial) for source in sources]
    columns = [
        {cell_id: _cell(source, tree).columns() for cell_id, tree in generation.manifest["cells"].items()}
        for source, generation in zip(sources if only is not None else (), generations, strict=False)
    ]
    selection = None if only is None else select(only, columns)
    for number, (source, generation) in enumerate(zip(sources, generations, strict=True)):
        rows = {str(row["cell_id"]): row for row in cells_of(generation, needs).to_dict("records")}
        if source.renamed and (why := generation.why_stale()):
            remarks.append(f"{source.path} is not what today's code gives: {why}")
        place, missing = {}, 0
        for cell_id, tree in generation.manifest["cells"].items():
            if selection is not None and cell_id not in selection[number]:
                continue
            if cell_id not in rows or rows[cell_id]["status"] == "failed":
                missing += 1
                continue
            place[cell_id] = len(cells)
            flats.append(flat(tree))
            cells.append((source, tree, {str(k): v for k, v in rows[cell_id].items()}, generation))
        if missing:
            part = f"{missing} of {counted(len(generation.manifest['cells']), 'cell')}"
            remarks.append(f"{source.path}: {part} not shown: missing or failed (run: {command_of(generation.folder)})")
            say_once(remarks[-1])
        summary = summary_of(generation, COLUMNS)
        if only is not None:
            summary = summary[summary.cell_id.isin(list(place))]
        frames.append(summary[COLUMNS[1:]].assign(run=summary.cell_id.map(place)))
    if not cells:
        raise UsageError("no selected cell has results", "; ".join(remarks))
    settings = named(flats, [str(row["budget"]) for _, _, row, _ in cells])
    # a name, or a path where two results have the same name
    names = [source.name for source in sources]
    origins = {s.path: s.name if names.count(s.name) == 1 else str(s.path) for s in sources}
    runs = [
        Run(source, tree, {**({FROM: origins[source.path]} if len(origins) > 1 else {}), **own}, row, generation)
        for (source, tree, row, generation), own in zip(cells, settings, strict=True)
    ]
    section_of = {**sections(flats), FROM: FROM}
    return Gathered(tuple(sources), tuple(runs), pd.concat(frames, ignore_index=True), section_of, tuple(remarks))


def name_of(sources: Sequence[Source], shipped: Collection[str], *marks: str) -> str:
    """The name of the files of results, with the options in it; never that of a shipped figure or table, or of another
    result in the same folder."""
    names = list(dict.fromkeys(source.name for source in sources))
    name = "_".join([_short("_and_".join(names), 80), *filter(None, marks)])
    others = {*shipped, *(other for source in sources for other in experiments_in(source.results))} - {*names}
    return f"{name}_result" if name in others or name in shipped else name


def mark(option: str, *values: str) -> str:
    """An option and its values as a part of the name of a file; empty where the option is not given."""
    text = "-".join(values)
    word = re.sub(r"[^\w.]+", "-", text)
    # signs that no file name should have become a digest
    suffix = f"-{digest(text, 4)}" if word != text else ""
    return f"{option}-{_short(word.strip('-'), 40)}{suffix}" if text else ""


def _short(word: str, length: int) -> str:
    return word if len(word) <= length else f"{word[:length]}-{digest(word, 4)}"
