"""Stored results as rows for figures and tables: the settings of every cell, and its summaries."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.config.cell_settings import Settings, Words, named, sections, select
from dpexp.config.cells import flat, stored_cell
from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.files import digest
from dpexp.core.text import counted, guess
from dpexp.reporting.results.metrics import COEFFICIENTS, STATISTICS
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
OWN_RECORDS = "private: do not publish. These numbers were computed from private records and are covered by no budget."
"""before the numbers of a run on a user's own records"""


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
    def cell(self) -> Cell | None:
        """The cell made again; None where it needs a plug-in, or has parameters of another version."""
        with suppress(ResultsMissing):
            return _cell(self.source, self.parameters)
        return None

    @property
    def own_records(self) -> bool:
        """Whether it was computed from a user's own records."""
        return "released" in self.generation.manifest["computed_from"][str(self.row["cell_id"])]


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

    @cached_property
    def words(self) -> Words:
        return Words(run.settings for run in self.runs)

    @property
    def names(self) -> str:
        """Those of the results."""
        return ", ".join(dict.fromkeys(source.name for source in self.sources))

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
        if name:
            _require("metric", name, known)
        return name or next((default for default in DEFAULT_METRICS if default in known), known[0])

    def of(self, estimators: Sequence[str], statistic: str) -> Gathered:
        """The same with these estimators, or all, and a statistic in the columns `mean`, `ci_lo` and `ci_hi`.

        Raises UsageError for an unknown name.
        """
        for name in estimators:
            _require("estimator", name, list(self.summary["estimator"].unique()))
        _require("statistic", statistic, list(STATISTICS))
        summary = self.summary[self.summary["estimator"].isin(list(estimators))] if estimators else self.summary
        columns = dict(zip(("mean", "ci_lo", "ci_hi"), STATISTICS[statistic].columns, strict=True))
        return replace(self, summary=summary.assign(**{name: summary[own] for name, own in columns.items()}))


def _require(option: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        hint = f"{guess(name, known)}{option}s: {', '.join(known)}"
        raise UsageError(f"--{option} {name}: the results do not have it", hint)


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

    # compared with today's code once, and not once for every cell
    generations = [load_generation(source.results, source.name, source.renamed, partial) for source in sources]
    results = list(zip(sources, generations, strict=True))
    selection = [frozenset(generation.manifest["cells"]) for generation in generations]
    if only is not None:
        trees = ((source, generation.manifest["cells"]) for source, generation in results)
        selection = select(
            only, [{k: _cell(source, tree).columns() for k, tree in own.items()} for source, own in trees]
        )
    cells: list[tuple[Source, dict[str, Any], dict[str, Any], Generation]] = []
    frames, remarks = [], []
    for (source, generation), selected in zip(results, selection, strict=True):
        table = cells_of(generation, needs)
        rows = {str(row["cell_id"]): row for row in table[table["status"] != "failed"].to_dict("records")}
        if source.renamed and (why := generation.why_stale()):
            remarks.append(f"{source.path} is not what today's code gives: {why}")
        own = {k: tree for k, tree in generation.manifest["cells"].items() if k in selected}
        if missing := len(own.keys() - rows.keys()):
            part = f"{missing} of {counted(len(generation.manifest['cells']), 'cell')}"
            remarks.append(f"{source.path}: {part} not shown: missing or failed (run: {command_of(generation.folder)})")
            say_once(remarks[-1])
        places = {cell_id: len(cells) + k for k, cell_id in enumerate(name for name in own if name in rows)}
        cells += [(source, own[k], {str(name): v for name, v in rows[k].items()}, generation) for k in places]
        summary = summary_of(generation)
        frames.append(summary.assign(run=summary["cell_id"].map(places)).dropna(subset="run").astype({"run": int}))
    if not cells:
        raise UsageError("no selected cell has results", "; ".join(remarks))
    flats = [flat(tree) for _, tree, _, _ in cells]
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


def name_of(
    sources: Sequence[Source], shipped: Collection[str], options: Mapping[str, bool | str | Sequence[str]]
) -> str:
    """The name of the files of results, with the options that are given, so that no two calls write one file.

    It is never that of a shipped figure or table, or of another result in the same folder. What is long, or has signs
    that no name should have, ends in a digest.
    """
    names, parts = list(dict.fromkeys(source.name for source in sources)), []
    options = {"names": "_and_".join(names), **options}
    for key, value in ((key, value) for key, value in options.items() if value):
        words = [] if isinstance(value, bool) else [value] if isinstance(value, str) else value
        text = "-".join([key] * (key not in ("names", "")) + list(words))
        safe = re.sub(r"[^\w.-]+", "-", text)
        parts.append(safe if len(safe) <= 80 and safe == text else f"{safe[:40].strip('-')}-{digest(text, 4)}")
    name, others = "_".join(parts), {other for source in sources for other in experiments_in(source.results)}
    return f"{name}_result" if name in {*shipped, *(others - {*names})} else name
