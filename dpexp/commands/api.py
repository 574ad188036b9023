"""dpexp from Python: each function is the command of its name, and what the command prints it returns.

    import dpexp

    experiment = dpexp.load("configs/linear_d5.yaml", replicates=20)
    result = dpexp.run(experiment)
    result.summary                     # a DataFrame, as `results/linear_d5/summary.parquet` holds it

Mistakes raise `dpexp.core.errors.DpexpError` with the message of the command, which names the place and a way out.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

# Every function here needs it. Imported from deep inside other imports it takes .05 s longer: Python 3.11 keeps frames
# in chunks, and where a loop of calls begins at the end of one, each call asks the system for another.
import numpy as np

from dpexp.core.errors import PrivateWarning

if TYPE_CHECKING:
    import pandas as pd

    from dpexp.commands.check import Verdict
    from dpexp.commands.fit_result import FitResult
    from dpexp.commands.judge import judge as judge
    from dpexp.commands.released_model import ReleasedModel
    from dpexp.config.cells import Experiment
    from dpexp.reporting.audit.bracket import Audited
    from dpexp.reporting.figure import Drawing
    from dpexp.reporting.receipt_answer import Receipt
    from dpexp.reporting.statement import Statement

    Config = Experiment | Mapping[str, Any] | str | os.PathLike[str]

Pathname = str | os.PathLike[str]
Statistic = Literal["mean", "median", "quantiles"]
RESULTS = Path("results")
DEEPEST = 20
"""levels of lists and dicts in a config"""


@dataclass(frozen=True)
class Result:
    """Stored results of one experiment, checked each time they are read."""

    experiment: str
    folder: Path

    @property
    def summary(self) -> pd.DataFrame:
        """One row per cell, estimator, step and metric: mean, interval, quantiles; parameters are columns too."""
        from dpexp.store.reading import load_summary

        return load_summary(self.folder.parent, self.folder.name)

    @property
    def cells(self) -> pd.DataFrame:
        """One row per cell: its parameters, its privacy and its state."""
        from dpexp.store.reading import load_cells

        return load_cells(self.folder.parent, self.folder.name)

    def trajectories(self, cell_id: str | None = None) -> pd.DataFrame:
        """One row per cell, replicate, estimator and step, of every cell or of one."""
        from dpexp.store.reading import load_trajectories

        return load_trajectories(self.folder.parent, self.folder.name, None if cell_id is None else [cell_id])


def load(
    config: Config, *, set: Sequence[str] = (), replicates: int | None = None,
    profile: Literal["paper", "smoke"] = "paper",
) -> Experiment:  # fmt: skip
    """The experiment of a config: a file, `@NAME` of a shipped one, or its sections as a dict.

    `set` changes values as `--set` does: ["run.n=1000"]. Raises ConfigError with everything that is wrong.
    """
    from dpexp.config.cells import Experiment
    from dpexp.config.experiment_file import load_experiment, read_experiment
    from dpexp.core.scalars import yaml_in_line

    # Changes are read with the config, and would be lost on what is read already.
    if isinstance(config, Experiment):
        if set or replicates is not None or profile != "paper":
            raise TypeError("this experiment is loaded: give set, replicates and profile to the call that loads it")
        return config
    if isinstance(config, Mapping):
        # Through the reader of files, so that a dict has the same checks, defaults and messages.
        text = "".join(f"{key}: {yaml_in_line(_builtin(value, key))}\n" for key, value in config.items())
        return read_experiment(text, "dict", set, replicates, profile)
    return load_experiment(os.fspath(config), set, replicates, profile)


def run(
    config: Config, *, results: Pathname = RESULTS, jobs: int | None = None, only: str | None = None,
    force: bool = False, quiet: bool = True, deployment: bool = False, again: bool = False,
    scheduler: str | None = None, replicates: int | None = None,
) -> Result:  # fmt: skip
    """Compute what is missing or stale of an experiment. Raises DpexpError where a cell fails.

    `replicates` is another number of them than the config has, of a config that is not loaded yet.
    `scheduler` is the address of a dask cluster that computes, in place of threads of this process.
    `deployment` releases on private records: its noise is drawn from the operating system and cannot be drawn again.
    Records that were released into these results before are refused, unless `again` spends a second budget.
    """
    from dpexp.commands import run as command
    from dpexp.commands.progress import progress
    from dpexp.core.errors import CellFailed

    experiment = load(config, replicates=replicates)
    # A cluster has workers of its own.
    jobs = jobs or (0 if scheduler else os.cpu_count() or 1)
    request = command.Request(
        (experiment,), only=only, jobs=jobs, backend="dask" if scheduler else "", scheduler=scheduler,
        profile=experiment.profile, results=Path(results), force=force, quiet=quiet, deployment=deployment, again=again,
    )  # fmt: skip
    with nullcontext() if quiet else progress("run"):
        document, _, code = command.run(request)
    if code:
        # A command has an exit code, a function an error.
        failed = [cell for cell in document["cells"] if cell["status"] == "failed"]
        raise CellFailed(f"{len(failed)} cells failed, the first with: {failed[0]['reason']}")
    folder = Path(document["experiments"][0]["folder"])
    return Result(folder.name, folder)


def read(name: Pathname, *, results: Pathname = RESULTS) -> Result:
    """Stored results by the experiment's name, or by their folder. Raises ResultsMissing, with the command to run."""
    from dpexp.store.reading import load_generation

    # A folder that is there wins over an experiment's name.
    folder = Path(name) if (Path(name) / "manifest.json").is_file() else Path(results) / os.fspath(name)
    load_generation(folder.parent, folder.name)
    return Result(folder.name, folder)


def plot(
    *names: Pathname, results: Pathname = RESULTS, theory: bool = False, metric: str | None = None, x: str = "",
    hue: str = "", facet: Sequence[str] = (), estimator: Sequence[str] = (),
    log: Literal["x", "y", "xy", "none", ""] = "", only: str | None = None,
    statistic: Statistic = "mean", kind: Literal["line", "box"] = "line", style: str = "", width: float | None = None,
    style_file: Pathname | None = None, title: bool = True,
) -> Drawing:  # fmt: skip
    """The figure of one or several results, or a shipped figure by its name; nothing is written.

    `.canvas` is the matplotlib figure, `.data` the numbers in it, `.caption` what it shows.
    """
    from dpexp.commands import plot as command
    from dpexp.reporting.figure import Look

    request = command.asked(metric, x, hue, facet, estimator, log, only, theory, statistic, kind, style, width)
    return command.drawing(
        [os.fspath(name) for name in names], Path(results), request, Look(width, _path(style_file), title)
    )


def table(
    *names: Pathname, results: Pathname = RESULTS, metric: str | Sequence[str] = (), estimator: Sequence[str] = (),
    only: str | None = None, statistic: Statistic = "mean", theory: bool = False,
) -> pd.DataFrame:  # fmt: skip
    """The numbers of the table of one or several results or files of fits, or of a shipped table, with all digits."""
    import pandas as pd

    from dpexp.commands import table as command

    request = command.Request(_several(metric), tuple(estimator), only, statistic, theory)
    return pd.DataFrame(command.one_table([os.fspath(name) for name in names], Path(results), request).records)


def predict(
    result: Pathname, table: object = None, *, cell: str | None = None, estimator: str | None = None,
    replicate: int = 0, results: Pathname = RESULTS,
) -> ReleasedModel | FitResult | pd.DataFrame:  # fmt: skip
    """What a fit (its file or folder) or a run on your own records has released, or predictions for a table.

    Without a table a fit, or the parameters of a run: `.names`, `.classes` and `.values` are in the units of your
    columns, `.predict(table)` takes a file or a DataFrame, `.save(path)` writes .npz or .json. Raises ResultsMissing
    for what is missing or stale, with the command to run.
    """
    from dpexp.commands.predict import read_release

    found = read_release(os.fspath(result), Path(results), cell, estimator, replicate)
    return found if table is None else found.predict(table)


def privacy(
    what: Config, *, invalid: bool = False, tradeoff: bool = False, results: Pathname = RESULTS, **parameters: Any
) -> Statement:
    """The privacy statement of a config, or of a mechanism by its name and parameters.

    `.text()` is what the command prints, `.document()` the same for programs. `results` gets the figures of `tradeoff`.
    """
    from dpexp.commands import privacy as command
    from dpexp.privacy.mechanisms import MECHANISMS

    figures = Path(results) / "figures" if tradeoff else None
    if isinstance(what, str) and what in MECHANISMS:
        return command.of_mechanism(what, _pairs(parameters), invalid, figures)
    if parameters or invalid:
        raise TypeError("parameters belong to a mechanism, and a config is changed by load(..., set=[...])")
    return command.StatementOfConfig(load(what), figures=figures)


def calibrate(
    mechanism: str = "sampled-gaussian", *, target: Mapping[str, Any] | None = None,
    released: Literal["all-iterates", "last-iterate"] = "all-iterates", analysis: str | None = None,
    invalid: bool = False, **parameters: Any,
) -> dict[str, Any]:  # fmt: skip
    """The least noise of a mechanism that meets a target, such as eps=1, delta=1e-5.

    It is among the parameters, or apart: target={"tpr": 0.25, "fpr": 0.1}.
    """
    from dpexp.commands import calibrate as command

    return command.solve(mechanism, [*_pairs(target or {}), *_pairs(parameters)], released, analysis, invalid)[0]


def receipt(card: Pathname | object | None = None, **fields: Any) -> Receipt:
    """What holds for a training program that is not dpexp: by a card's path, its fields, or an event of dp_accounting.

    `.text()` is what the command prints, `.document()` the same for programs, and `.exit_code` is 0 where all that is
    stated holds, 1 where it is refuted, 3 else.
    """
    from dpexp.commands import receipt as command

    return command.of_anything(card, fields)


def fit(
    data: object, *, target: str = "", formula: str | None = None,
    model: str = "huber-linear", method: str | None = None, mu: float | None = None,
    mu_column: str | None = None, eps: float | None = None, delta: float | None = None, central: bool = False,
    public: Pathname | Mapping[str, object] | None = None, level: float = 0.95, person: str | None = None,
    untested: bool = False, deployment: bool = False, seed: int | None = None, out: Pathname | None = None,
    again: bool = False, weights: Literal["budget", "equal"] = "budget", contrasts: Sequence[str] = (),
    plan: int | None = None, widths: Mapping[str, float] | None = None,
) -> FitResult:  # fmt: skip
    """Private regression with confidence intervals on a table of your own; a deployment keeps it in `out`.

    `data` is a path, a frame of pandas, polars or pyarrow, a Series, a mapping of columns or an array [n, k] (columns
    x[0], x[1] and so on); `public` a path, or a mapping with the keys of such a file. What an owner should know about
    the table, such as how many records cannot be read, is a warning; it is private.

    With `plan`, a number of records, no record is read and `data` may be None: what is returned says how long intervals
    will be, and how many records it takes for all of them to be finite, and for those of `widths` to be +- so much.

    `str` of it is the text that the command prints, `.document()` the same for programs, `.exit_code` 3 where no
    interval is finite. `.params`, `.bse`, `.pvalues`, `.conf_int()`, `.frame()`, `.glance()`, `.covariance`,
    `.contrasts`, `.predict(table)` and `.forest()` follow from it.
    """
    from dpexp.commands import fit as command
    from dpexp.commands.fit_request import Request
    from dpexp.config.public_file import read_public

    # As texts, which is how a command line has them: all digits are kept.
    mu_, eps_, delta_ = (None if value is None else repr(float(value)) for value in (mu, eps, delta))
    source = Path(data) if isinstance(data, str | os.PathLike) else data
    stated = read_public(Path(public) if isinstance(public, str | os.PathLike) else public)
    lengths = tuple(f"{name}={width!r}" for name, width in (widths or {}).items())
    request = Request(
        source, target, model, mu_, mu_column, eps_, delta_, central, method, stated, level, person, plan is not None,
        None if plan is None else str(plan), untested, deployment, seed, _path(out), again, weights, tuple(contrasts),
        formula, widths=lengths,
    )  # fmt: skip
    report = command.fit(request)
    for remark in report.remarks:
        warnings.warn(remark, PrivateWarning, stacklevel=2)
    return report


def audit(
    config: Pathname, *, set: Sequence[str] = (), runs: int = 10_000, confidence: float = 0.999, seed: int = 0
) -> Audited:
    """A lower bound on the privacy loss of a config's runs, and what is claimed: `.rows`, `.text()`, `.document()`."""
    from dpexp.commands import audit as command

    return command.of_config(Path(config), set, runs, confidence, seed)


def diff(
    a: Pathname, b: Pathname | None = None, *, by: str = "", only: str | None = None,
    metric: str | Sequence[str] = (), results: Pathname = RESULTS,
) -> pd.DataFrame:  # fmt: skip
    """Final errors of two results, or of the levels of the setting `by` of one: a row for each comparison."""
    import pandas as pd

    from dpexp.commands import diff as command

    compared = command.diff(Path(a), _path(b), _several(metric), by, only, Path(results))
    return pd.DataFrame(compared.document["rows"])


def check(file: Pathname | None = None) -> Verdict:
    """The conformance suite on a plug-in, or on all that is built in: `.failed`, `.text`, `.document`."""
    from dpexp.commands import check as command

    return command.check(_path(file))


def report(
    target: Pathname = RESULTS, *, out: Pathname | None = None, title: str = "", text: Pathname | None = None
) -> Path:
    """Write one HTML page of a results folder, or of one experiment's; its path. `text` is the path of a file."""
    from dpexp.commands import report as command

    return command.report(Path(target), _path(out), title, _path(text))


def validate(*configs: Pathname, set: Sequence[str] = ()) -> list[dict[str, Any]]:
    """For every config whether it is valid, and everything that is wrong with it, each with its place."""
    from dpexp.commands import validate as command

    return [one.document for one in command.validate([Path(config) for config in configs], set, "paper")]


def claims(
    paper: str | None = None, *, ids: Sequence[str] = (), judge: bool = False, results: Pathname = RESULTS
) -> pd.DataFrame:
    """The ledger, one row per claim: what a paper says, what was measured, and the verdict with its `state`.

    Claims that are named by `ids` are judged from the stored results; the others are rows of the ledger,
    `claims.json`, which `judge` judges and writes.
    """
    import pandas as pd

    from dpexp.commands import claims as command

    request = command.Request(tuple(ids), paper, (), "json", None, Path(results), judge, quiet=True)
    return pd.DataFrame(json.loads(command.claims(request).text))


def _path(name: Pathname | None) -> Path | None:
    return None if name is None else Path(name)


def _several(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """One name, or several."""
    return (names,) if isinstance(names, str) else tuple(names or ())


def _builtin(value: Any, where: str, depth: int = 0) -> Any:
    """A value as YAML has it: numbers of numpy and fractions as Python's, arrays and ranges as lists.

    Raises ConfigError that names the key of a value of another type.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if depth < DEEPEST and isinstance(value, Mapping):
        return {str(key): _builtin(one, f"{where}.{key}", depth + 1) for key, one in value.items()}
    if depth < DEEPEST and isinstance(value, list | tuple | range):
        return [_builtin(one, where, depth + 1) for one in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    from dpexp.config.yamlfile import ConfigError, Issue, Position  # loads yaml, which a good value does not need

    message = f"{where} is a {type(value).__name__}, which no config can hold"
    raise ConfigError([Issue(Position("dict"), message, "give numbers, text, lists and dicts, as in a file")])


def _pairs(parameters: Mapping[str, Any]) -> list[str]:
    """key=value as a command line has them; a list is written with commas."""
    from dpexp.core.scalars import yaml_in_line

    def written(value: Any) -> str:
        return ",".join(map(yaml_in_line, value)) if isinstance(value, list) else yaml_in_line(value)

    return [f"{key}={written(_builtin(value, key))}" for key, value in parameters.items()]
