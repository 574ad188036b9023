"""Stored results as rows for figures and tables: the settings of every cell, and its summaries."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.config.cell_settings import Settings, Words, named, sections
from dpexp.config.cells import flat, stored_cell
from dpexp.config.only import matches
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
"""the name under which runs of several results are told apart"""
DEFAULT_METRICS = ("param_distance_sq", "loss_gap", "test_accuracy", "grad_norm", "objective", "train_loss")
"""what is shown where nobody says: the first of these that the results have, else their first metric"""

KEPT = ("cell_id", "estimator", "step", "metric", "n", "n_diverged", "mean", "se", "ci_lo", "ci_hi")
"""what is read of a summary"""


class Unreadable(ResultsMissing):
    """Results that are there, whose parameters this version does not take."""


@dataclass(frozen=True)
class Source:
    """A results folder of one experiment."""

    results: Path
    name: str
    renamed: bool = False
    """a copy under another name, which may be of older code or config; whatever it is, is said"""

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
    """what it belongs to, held against today's code once for all its cells"""

    @cached_property
    def cell(self) -> Cell:
        """The cell made again. Raises ResultsMissing where it needs a plug-in, or parameters of another version."""
        return _cell(self.source, self.parameters)

    @cached_property
    def known(self) -> Cell | None:
        """The cell, or None where it cannot be made again."""
        try:
            return self.cell
        except ResultsMissing:
            return None

    @property
    def own_records(self) -> bool:
        """Whether it learnt from a user's own records."""
        return "released" in self.generation.manifest["computed_from"][str(self.row["cell_id"])]

    @property
    def steps_are_its_own(self) -> bool:
        """Whether the algorithm knows the number of steps from the other parameters (a toy run takes fewer)."""
        # asked of the algorithm, which may derive its steps from epochs and records
        with suppress(DpexpError):
            if (cell := self.known) is not None:
                own = cell.algorithm.steps(cell.problem, cell.schedule, cell.privacy.mu)
                return own is not None and cell.run.n <= own
        return False


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
    """what is said of copies that are not what today's code gives, and of cells that are missing"""
    statistic: str = "mean"
    """of the replicates, which the columns `mean`, `ci_lo` and `ci_hi` hold: a name of `statistic.STATISTICS`"""

    @cached_property
    def words(self) -> Words:
        return Words(run.settings for run in self.runs)

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

    def metric(self, wanted: str | None) -> str:
        """The metric that is asked for, or the one that is shown by default. Raises UsageError for an unknown one."""
        known = [*self.metrics, *([COEFFICIENTS] if self.coordinates else [])]
        if not known:
            raise UsageError("these results have no metric in common", "draw them one by one")
        if wanted is not None and wanted not in known:
            raise UsageError(
                f"--metric {wanted}: the results do not have it", f"{guess(wanted, known)}metrics: {', '.join(known)}"
            )
        return wanted or next((name for name in DEFAULT_METRICS if name in known), known[0])

    def estimated(self, wanted: Sequence[str]) -> Gathered:
        """The same with some estimators alone. Raises UsageError for an unknown one."""
        known = self.estimators
        for name in wanted:
            if name not in known:
                hint = f"{guess(name, known)}estimators: {', '.join(known)}"
                raise UsageError(f"--estimator {name}: the results do not have it", hint)
        if not wanted:
            return self
        chosen = self.summary[self.summary.estimator.isin(list(wanted))]
        return replace(self, summary=chosen)


def _cell(source: Source, parameters: dict[str, Any]) -> Cell:
    """The cell of stored parameters. Raises Unreadable, and ResultsMissing where it needs a plug-in."""
    from pydantic import ValidationError

    try:
        return stored_cell(source.name, parameters)
    except ValidationError as error:
        why = "; ".join(one["msg"].removeprefix("Value error, ") for one in error.errors())
        raise Unreadable(f"{source.path}: {why}", "dpexp run CONFIG computes it with this version") from error


def gather(
    sources: Sequence[Source], only: str | None = None, partial: bool = True, needs: Sequence[str] = ()
) -> Gathered:
    """Everything that figures and tables of these results need.

    `only` has conditions on the columns of cells, as `dpexp run --only` takes it. Of a result of which some cells
    are missing or failed the others are shown with a remark, where it may be `partial`. Raises ResultsMissing where
    results are missing, stale or without one of the columns `needs`, UsageError where the expression is wrong or holds
    for no cell.
    """
    import pandas as pd

    found: list[tuple[Source, dict[str, Any], dict[str, Any], Generation]] = []
    flats, labels, frames, remarks = [], [], [], []
    # held against today's code once, and not once for every cell
    generations = [load_generation(source.results, source.name, source.renamed, partial) for source in sources]
    columns = [
        {cell_id: _cell(source, tree).columns() for cell_id, tree in generation.manifest["cells"].items()}
        for source, generation in zip(sources if only is not None else (), generations, strict=False)
    ]
    # an expression may name a column that only some cells have
    known = dict.fromkeys(name for own in columns for names in own.values() for name in names)
    for number, (source, generation) in enumerate(zip(sources, generations, strict=True)):
        rows = {str(row["cell_id"]): row for row in cells_of(generation, needs).to_dict("records")}
        summary = summary_of(generation, KEPT)
        if source.renamed and (why := generation.why_stale()):
            remarks.append(f"{source.path} is not what today's code gives: {why}")
        place, lacking = {}, 0
        for cell_id, tree in generation.manifest["cells"].items():
            if only is not None and not matches(only, columns[number][cell_id], known):
                continue
            if cell_id not in rows or rows[cell_id]["status"] == "failed":
                lacking += 1
                continue
            row = {str(k): v for k, v in rows[cell_id].items()}
            place[cell_id] = len(found)
            flats.append(flat(tree))
            labels.append(str(row["budget"]))
            found.append((source, tree, row, generation))
        if lacking:
            remarks.append(_lacking(source, generation, lacking))
        # what no cell of interest has is not carried along
        if only is not None:
            summary = summary[summary.cell_id.isin(list(place))]
        frames.append(summary[list(KEPT[1:])].assign(run=summary.cell_id.map(place)))
    if not found:
        raise UsageError(f"--only {only!r} holds for no cell", "dpexp validate --show CONFIG lists the parameters")
    settings = named(flats, labels)
    # where a result comes from is a setting only if there are several
    several = len({source.path for source in sources}) > 1
    names = {source.path: _name(source, sources) for source in sources}
    runs = [
        Run(source, tree, {**({FROM: names[source.path]} if several else {}), **own}, row, generation)
        for (source, tree, row, generation), own in zip(found, settings, strict=True)
    ]
    place_of = {**sections(flats), FROM: FROM}
    return Gathered(tuple(sources), tuple(runs), pd.concat(frames, ignore_index=True), place_of, tuple(remarks))


def _lacking(source: Source, generation: Generation, cells: int) -> str:
    """What is not shown of a result that is not whole; said at once, and once."""
    of = f"{cells} of {counted(len(generation.manifest['cells']), 'cell')}"
    said = f"{source.path}: {of} not shown: missing or failed (run: {command_of(generation.folder)})"
    say_once(said)
    return said


def _name(source: Source, sources: Sequence[Source]) -> str:
    """The name of a result, or its path where another one has the same name."""
    alike = [other for other in sources if other.name == source.name]
    return source.name if len(alike) == 1 else str(source.path)


def name_of(sources: Sequence[Source], taken: Collection[str], *marks: str) -> str:
    """The name of the files of results: theirs, with what was asked for; never that of a shipped figure or table, or of
    another result beside one of these."""
    names = list(dict.fromkeys(source.name for source in sources))
    name = _short("_and_".join(names), 80)
    marked = "_".join([name, *filter(None, marks)])
    others = {*taken, *(one for source in sources for one in experiments_in(source.results))} - {*names}
    return f"{marked}_result" if marked in others or marked in taken else marked


def mark(option: str, *values: str) -> str:
    """An option and its values as a part of the name of a file; empty where the option is not given."""
    said = "-".join(values)
    word = re.sub(r"[^\w.]+", "-", said)
    # signs that no file name should have are told apart by a digest
    unlike = f"-{digest(said, 4)}" if word != said else ""
    return f"{option}-{_short(word.strip('-'), 40)}{unlike}" if said else ""


def _short(word: str, most: int) -> str:
    return word if len(word) <= most else f"{word[:most]}-{digest(word, 4)}"
