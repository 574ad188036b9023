"""What every figure and table must do: come from the results that it declares, and from nothing else."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from dpexp.conformance.check import Check, Subject
from dpexp.conformance.experiments import Failed, NotTried, ToyExperiments
from dpexp.core.errors import ResultsMissing
from dpexp.core.standard_json import BESIDE
from dpexp.core.text import counted
from dpexp.reporting.figure import Figure, written
from dpexp.reporting.table import Table
from dpexp.reporting.table_formats import FORMATS, render


def _function(thing: Figure | Table) -> Any:
    return thing.draw if isinstance(thing, Figure) else thing.build


def members(subject: Subject[Any], toys: ToyExperiments) -> str:
    thing, at = subject.value, _function(subject.value)
    words = (thing.caption, thing.place) if isinstance(thing, Figure) else (thing.title,)
    if not (thing.name and thing.paper and all(words)):
        raise Failed("says no name, paper, caption, place or title", at)
    if not (isinstance(thing.needs, tuple) and all(isinstance(name, str) for name in thing.needs)):
        raise Failed(f"needs is a tuple of experiments, not {thing.needs!r}", at)
    for experiment in thing.needs:
        if toys.config_of(experiment) is None:
            raise Failed(f"needs the experiment '{experiment}', of which there is no config", at)
    return f"needs {', '.join(thing.needs) or 'no results'}"


def _drawn(subject: Subject[Any], toys: ToyExperiments, out: Path) -> list[Path]:
    figure: Figure = subject.value
    results = toys.results(figure.needs)
    try:
        return written(figure, results, out, ["png"]).files
    except ResultsMissing as error:
        raise Failed(f"asks for results that `needs` does not declare: {error.message}", figure.draw) from None


def numbers_of(subject: Subject[Figure], toys: ToyExperiments) -> Path:
    """The CSV of a figure drawn from toy results: once for all who ask, where `toys` keeps figures."""
    from filelock import FileLock

    out = toys.figures or Path(tempfile.mkdtemp(dir=toys.root))
    out.mkdir(parents=True, exist_ok=True)
    at, csv = subject.value.draw, out / f"{subject.name}.csv"
    with FileLock(out / f"{subject.name}.lock"):
        if csv.exists():
            return csv
        with tempfile.TemporaryDirectory(dir=out) as folder:
            paths = _drawn(subject, toys, Path(folder))
            if not paths[0].read_bytes().startswith(b"\x89PNG"):
                raise Failed("is no PNG when written as one", at)
            # It is drawn twice if it shows stored results; a figure of theory alone may take long, and is drawn once.
            if subject.value.needs:
                again = _drawn(subject, toys, Path(folder) / "again")
                if [p.read_bytes() for p in paths] != [p.read_bytes() for p in again]:
                    raise Failed("other bytes when drawn again", at)
            # Moved in one step: whoever finds the file finds all of it.
            paths[1].replace(csv)
    return csv


def figure(subject: Subject[Figure], toys: ToyExperiments) -> str:
    import numpy as np
    import pandas as pd
    from matplotlib import pyplot

    at = subject.value.draw
    data = pd.read_csv(numbers_of(subject, toys))
    # Figures that pyplot knows stay open until the process ends.
    pyplot.close("all")
    if not len(data):
        raise Failed("its CSV has no rows: the plotted numbers", at)
    numbers = data.select_dtypes("number")
    # A column may have gaps, as where a curve begins late, but something has to be in it.
    bad = [str(name) for name in numbers if not np.isfinite(numbers[name].to_numpy(dtype=float)).any()]
    if numbers.shape[1] == 0 or bad:
        raise Failed(f"its CSV has no finite number in {', '.join(bad) or 'any column'}", at)
    return f"{counted(len(data), 'row')} of {', '.join(map(str, data.columns))}"[:200]


def table(subject: Subject[Table], toys: ToyExperiments) -> str:
    thing = subject.value
    results = toys.results(thing.needs)
    try:
        texts = {form: render(thing, results, form) for form in FORMATS}
    except ResultsMissing as error:
        raise Failed(f"asks for results that `needs` does not declare: {error.message}", thing.build) from None
    rows = json.loads(texts["json"])["rows"]
    # beside a number that JSON does not have stands a key that says which it was
    columns = {tuple(k for k in row if not (k.endswith(BESIDE) and k.removesuffix(BESIDE) in row)) for row in rows}
    if len(columns) != 1:
        raise Failed("its records are not rows of the same columns", thing.build)
    # Columns are aligned: a bar or a line break inside a cell makes its line shorter or longer than the others.
    lines = [line for line in texts["md"].splitlines() if line.startswith("|")]
    if len({len(line) for line in lines}) != 1:
        raise Failed("its rows have different numbers of cells", thing.build)
    # LaTeX counts the ampersands that are not escaped.
    body = texts["tex"].split("\\midrule\n")[1].split("\n\\bottomrule")[0].splitlines()
    if len({line.replace(r"\&", "").count("&") for line in body}) != 1:
        raise Failed("its rows have different numbers of cells in LaTeX", thing.build)
    return f"{counted(len(lines) - 2, 'row')}, {counted(len(rows), 'record')}, in {', '.join(FORMATS)}"


def computes_nothing(subject: Subject[Any], toys: ToyExperiments) -> str:
    """What is shown comes from stored results: without them it is refused with the command to run."""
    thing = subject.value
    if not thing.needs:
        raise NotTried("needs no results")
    # What is shown of an empty folder was computed here, or read somewhere else.
    with tempfile.TemporaryDirectory() as folder:
        try:
            _function(thing)(Path(folder))
        except ResultsMissing as error:
            if not error.hint:
                raise Failed("refuses without the command to run", _function(thing)) from None
            return error.message.removeprefix(folder).lstrip("/")
    raise Failed("is made although there are no results", _function(thing))


FIGURE_CHECKS: tuple[Check[Figure], ...] = (
    Check("members", "It has a name, a caption and a place, and its experiments have configs.", members),
    Check(
        "drawn", "It is drawn from toy results of what it declares, the same bytes again, with finite numbers.", figure
    ),
    Check("missing", "Without results it is refused with the command to run.", computes_nothing),
)
TABLE_CHECKS: tuple[Check[Table], ...] = (
    Check("members", "It has a name and a title, and its experiments have configs.", members),
    Check("built", "It is built from toy results of what it declares, in every format.", table),
    Check("missing", "Without results it is refused with the command to run.", computes_nothing),
)
