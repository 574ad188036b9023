"""Stored results that were altered in memory: runs whose values pass through a change, and evidence made of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd

from dpexp.config.cells import stored_cell
from dpexp.core.errors import ResultsMissing
from dpexp.reporting.evidence import Evidence, Run
from dpexp.store import cell_of, load_cells, load_generation, load_summary
from dpexp.store.stats import summarise, too_far, with_distance
from dpexp.theory.theorem import Theorem

Change = Callable[[Run, str, str, np.ndarray], np.ndarray]
"""(run, estimator, metric, values [K, R]) -> values"""
Alteration = Callable[[list[Run]], list[Run]]
"""all runs of an experiment -> what they are turned into; runs that it does not concern are the same objects"""


@dataclass(frozen=True)
class Altered(Run):
    """A run whose values pass through a change when they are asked for: a check asks for few of them."""

    change: Change = lambda run, estimator, metric, values: values

    def values(self, estimator: str, metric: str) -> np.ndarray:
        if metric == "param_distance":
            return np.sqrt(self.values(estimator, "param_distance_sq"))
        return self.change(self, estimator, metric, super().values(estimator, metric))


def whole(run: Run) -> Run:
    """The run with all its values changed, as one that was stored so."""
    if not isinstance(run, Altered):
        return run
    metrics = [[run.values(e, m) for m in run.data.metrics] for e in run.data.estimators]
    values = np.stack([np.stack(own, axis=1) for own in metrics])
    return Run(run.cell, run.row, run.data._replace(values=values))


def through(change: Change, keep: Callable[[Run], bool] = lambda run: True) -> Alteration:
    """Every run that is kept, through a change of its values."""
    return lambda runs: [Altered(r.cell, r.row, r.data, change) if keep(r) else r for r in runs]


def order(run: Run) -> tuple[float, float, str]:
    """As evidence sorts its runs, also where there is no alpha."""
    alpha, mu = run.row.get("alpha"), run.row.get("gdp_mu")
    return float(alpha or 0.0), float(np.nan_to_num(mu if mu is not None else 0.0, nan=0.0)), str(run.row["budget"])


class Stored:
    """Results as they are stored, read once."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self._runs: dict[str, list[Run]] = {}

    def runs(self, experiment: str) -> list[Run]:
        if experiment not in self._runs:
            generation, runs = load_generation(self.results, experiment), []
            for row in load_cells(self.results, experiment).to_dict("records"):
                cell_id = str(row["cell_id"])
                cell = stored_cell(experiment, generation.manifest["cells"][cell_id])
                runs.append(Run(cell, {str(k): v for k, v in row.items()}, cell_of(generation, cell_id)))
            self._runs[experiment] = sorted(runs, key=order)
        return self._runs[experiment]

    def has(self, experiment: str) -> bool:
        try:
            return bool(self.runs(experiment))
        except ResultsMissing:
            return False


class AlteredEvidence(Evidence):
    """Evidence that passes through an alteration."""

    def __init__(self, stored: Stored, alteration: Alteration = lambda runs: runs) -> None:
        super().__init__(stored.results)
        self._stored, self._alteration = stored, alteration
        self._frames: dict[str, pd.DataFrame] = {}

    def require(self, experiment: str) -> None:
        """Everything was there when it was read."""

    def _load(self, experiment: str) -> list[Run]:
        return sorted(self._alteration(self._stored.runs(experiment)), key=order)

    def summary(self, experiment: str) -> pd.DataFrame:
        """What `load_summary` gives of these runs."""
        if experiment not in self._frames:
            if experiment not in self._runs:
                self._runs[experiment] = self._load(experiment)
            self._frames[experiment] = summary_of(self._runs[experiment])
        return self._frames[experiment]


def summary_of(runs: Sequence[Run]) -> pd.DataFrame:
    """Summaries of runs joined with the columns of their cells, all cells of one shape at a time."""
    frames = []
    alike: dict[Any, list[Run]] = {}
    for run in map(whole, runs):
        alike.setdefault((run.data.estimators, run.data.metrics, run.data.values.shape), []).append(run)
    for (estimators, _, _), group in alike.items():
        named = [with_distance(run.data) for run in group]
        metrics = [name for name, _ in named[0]]
        values = np.stack([np.stack([column for _, column in own], axis=1) for own in named])  # [cells, e, m, K, R]
        lost = np.stack([too_far(run.data, run.cell.run.diverged_above) for run in group])[:, :, None]
        summary = summarise(values, np.broadcast_to(lost, values.shape))
        cells, e, m, k, _ = values.shape
        columns = {
            "cell_id": np.repeat([run.row["cell_id"] for run in group], e * m * k),
            "estimator": np.tile(np.repeat(estimators, m * k), cells),
            "step": np.concatenate([np.tile(run.steps, e * m) for run in group]),
            "metric": np.tile(np.repeat(metrics, k), cells * e),
        }
        frames.append(pd.DataFrame({**columns, **{name: column.ravel() for name, column in summary.items()}}))
    table = pd.concat(frames, ignore_index=True)
    rows = pd.DataFrame([run.row for run in runs])
    shared = set(table.columns) - {"cell_id"}
    return table.merge(rows.drop(columns=[c for c in rows.columns if c in shared]), on="cell_id")


@contextmanager
def read_from(evidence: AlteredEvidence) -> Iterator[None]:
    """Checks that read summaries get those of this evidence."""
    with ExitStack() as patches:
        for name, module in list(sys.modules.items()):
            if name.startswith("dpexp.papers") and getattr(module, "load_summary", None) is load_summary:
                altered = lambda results, experiment, needs=(), renamed=False: evidence.summary(experiment)  # noqa: E731
                patches.enter_context(patch.object(module, "load_summary", altered))
        yield


@contextmanager
def remembered_theorems() -> Iterator[None]:
    """A theorem at numbers that it was asked about before is not computed again: evidence changes, bounds do not."""
    plain, known = Theorem.__call__, {}

    def call(self: Theorem, constants: Any) -> Any:
        numbers = {name: v.tobytes() if isinstance(v, np.ndarray) else repr(v) for name, v in constants.items()}
        place = self.place, self.form, self.function, *sorted(numbers.items())
        if place not in known:
            known[place] = plain(self, constants)
        return known[place]

    with patch.object(Theorem, "__call__", call):
        yield


LOSS = ("loss_gap", "loss_gap_controlled")
DISTANCE = ("param_distance_sq", "param_distance_sq_controlled", "coef_distance_sq")
GRADIENT = ("grad_norm", "mean_grad_norm")
SIZES = (*LOSS, *DISTANCE, *GRADIENT)
"""metrics that are positive and small where all is well"""
ACCURACY = "test_accuracy"


def private(run: Run) -> bool:
    return run.budget != "non-private" and bool(np.isfinite(run.row.get("mu", np.inf) or np.inf))


def on(
    function: Callable[[Run, str, np.ndarray], np.ndarray],
    metrics: Sequence[str],
    estimators: Sequence[str] | None = None,
) -> Change:
    """A function of the run, the metric and its values, for some metrics and estimators alone."""

    def change(run: Run, estimator: str, metric: str, values: np.ndarray) -> np.ndarray:
        concerned = metric in metrics and (estimators is None or estimator in estimators)
        return function(run, metric, values) if concerned else values

    return change


def scaled(factor: float, metrics: Sequence[str] = SIZES, estimators: Sequence[str] | None = None) -> Change:
    """Metrics times a factor; held-out accuracy by its error."""
    return on(lambda run, metric, v: 1 - factor * (1 - v) if metric == ACCURACY else factor * v, metrics, estimators)


def tilted(exponent: float, metrics: Sequence[str] = SIZES, estimators: Sequence[str] | None = None) -> Change:
    """Metrics times (n / last n)^exponent: another rate to the same last value."""
    return on(lambda run, _, v: v * ((run.steps / run.steps[-1]) ** exponent)[:, None], metrics, estimators)


def spread(factor: float, estimators: Sequence[str] | None = None) -> Change:
    """Deviations over replicates times a factor, of the logarithms where all values are positive; the means stay."""

    def change(run: Run, estimator: str, metric: str, values: np.ndarray) -> np.ndarray:
        if estimators is not None and estimator not in estimators:
            return values
        mean = values.mean(axis=-1, keepdims=True)
        if not np.all(values > 0):
            return mean + factor * (values - mean)
        wider = (values / mean) ** factor
        return mean * wider / wider.mean(axis=-1, keepdims=True)

    return change


def lowered(share: float) -> Change:
    """Signed metrics less a share of their mean size."""
    return on(lambda run, _, v: v - share * np.abs(v).mean(), ("lemma5_slack",))


def noise_power(factor: float) -> Alteration:
    """What the privacy noise adds to the errors of the non-private run with the same seeds, times a factor."""

    def alter(runs: list[Run]) -> list[Run]:
        exponents = all(run.row.get("alpha") is not None for run in runs)
        public = {run.alpha: run for run in runs if not private(run)} if exponents else {}

        def change(run: Run, estimator: str, metric: str, values: np.ndarray) -> np.ndarray:
            base = public[run.alpha].data
            free = base.values[base.estimators.index(estimator), :, base.metrics.index(metric)]
            return free + factor * (values - free) if metric in SIZES else values

        return through(change, lambda run: bool(public) and private(run) and run.alpha in public)(runs)

    return alter


def at(index: int, factor: float) -> Change:
    """One checkpoint times a factor."""
    return on(lambda run, _, v: np.where((np.arange(len(v)) == index % len(v))[:, None], factor * v, v), SIZES)


def stated(factor: float) -> Alteration:
    """The privacy parameter that results state, times a factor."""

    def change(run: Run) -> Run:
        mu = run.row.get("gdp_mu_exact")
        return replace(run, row={**run.row, "gdp_mu_exact": factor * mu}) if isinstance(mu, int | float) else run

    return lambda runs: [change(run) for run in runs]


class Family(NamedTuple):
    """Corruptions of one sort that differ in their size alone."""

    words: str
    """what is altered, as it ends the sentence 'would notice a factor 1.1 in ...'"""
    make: Callable[[float], Alteration]
    sort: Literal["level", "shape", "exponent"] = "level"
    """what is altered is how large numbers are, how they are spread, or the exponent of n, to which the size is added"""

    @property
    def tilt(self) -> bool:
        return self.sort == "exponent"


def _on(metric: str) -> Callable[[Run], bool]:
    return lambda run: metric in run.data.metrics


def _by(estimator: str) -> Callable[[Run], bool]:
    return lambda run: estimator in run.data.estimators


FAMILIES = (
    Family("the loss gap", lambda f: through(scaled(f, LOSS), _on("loss_gap"))),
    Family("the squared distance", lambda f: through(scaled(f, DISTANCE), _on("param_distance_sq"))),
    Family("the coefficients' squared distance", lambda f: through(scaled(f, DISTANCE[-1:]), _on("coef_distance_sq"))),
    Family("the errors of the iterate", lambda f: through(scaled(f, SIZES, ("sgd",)), _by("sgd"))),
    Family("the errors of the average", lambda f: through(scaled(f, SIZES, ("asgd",)), _by("asgd"))),
    Family("the errors of private runs", lambda f: through(scaled(f, (*SIZES, ACCURACY)), private)),
    Family("the held-out error", lambda f: through(scaled(f, (ACCURACY,)), _on(ACCURACY))),
    Family("the held-out error of DP-SGLD", lambda f: through(scaled(f, (ACCURACY,)), lambda r: r.cell.algorithm.name == "dp-sgld")),
    Family("the held-out error with more parameters", lambda f: through(scaled(f, (ACCURACY,)), lambda r: getattr(r.cell.problem, "random_features", None) is not None)),
    Family("the gradient norms", lambda f: through(scaled(f, GRADIENT), _on("grad_norm"))),
    Family("the gradient norms of Algorithm 2", lambda f: through(scaled(f, GRADIENT), lambda r: r.cell.algorithm.name == "reduced-momentum")),
    Family("the gradient norms at the largest N", lambda f: lambda runs: through(scaled(f, GRADIENT), lambda r: r.row.get("N") == max(x.row.get("N", 0) for x in runs) and _on("grad_norm")(r))(runs)),
    Family("the power of the privacy noise", noise_power),
    Family("the last checkpoint", lambda f: through(at(-1, f), lambda r: len(r.steps) > 1), "shape"),
    Family("the spread over replicates", lambda f: through(spread(f)), "shape"),
    Family("the spread of the average over replicates", lambda f: through(spread(f, ("asgd",)), _by("asgd")), "shape"),
    Family("the gap between slack and 0", lambda f: through(lowered(f - 1), _on("lemma5_slack"))),
    Family("the stated privacy parameter", stated),
    Family("all errors", lambda t: through(tilted(t), lambda r: len(r.steps) > 1), "exponent"),
    Family("the average's errors", lambda t: through(tilted(t, SIZES, ("asgd",)), _by("asgd")), "exponent"),
    Family("the iterate's errors", lambda t: through(tilted(t, SIZES, ("sgd",)), _by("sgd")), "exponent"),
)  # fmt: skip
"""corruptions with a size, of which the smallest that changes a verdict is looked for"""
