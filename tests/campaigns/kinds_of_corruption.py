"""Ways in which stored results may be wrong, each as an alteration of an experiment's runs; and those that have a size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from dpexp.reporting.evidence import Run
from tests.campaigns.altered_runs import Alteration, Change, relabelled, through

LOSS = ("loss_gap", "loss_gap_controlled")
DISTANCE = ("param_distance_sq", "param_distance_sq_controlled", "coef_distance_sq")
GRADIENT = ("grad_norm", "mean_grad_norm")
SIZES = (*LOSS, *DISTANCE, *GRADIENT)
"""metrics that are positive and small where all is well"""
ACCURACY = "test_accuracy"
FACTORS = (0.5, 0.9, 1.1, 2.0)


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


def mapped(function: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Every metric that has a size, through a function of its values [K, R]."""
    return on(lambda run, _, values: function(values), (*SIZES, ACCURACY))


# --- whose numbers they are -------------------------------------------------------------------------------------


def numbers_of(runs: Sequence[Run], others: Sequence[Run]) -> list[Run]:
    """Each run with the numbers of another, where both were recorded at as many steps and replicates."""

    def alike(run: Run, other: Run) -> bool:
        return run.data.values.shape == other.data.values.shape and run.data.metrics == other.data.metrics

    pairs = zip(runs, others, strict=True)
    return [with_data(a, values=b.data.values) if alike(a, b) and a is not b else a for a, b in pairs]


def within(key: Callable[[Run], Any], move: Callable[[list[Run]], list[Run]]) -> Alteration:
    """Numbers exchanged among the runs that share a key, by a reordering of them."""

    def alter(runs: list[Run]) -> list[Run]:
        out: dict[int, Run] = {}
        for value in dict.fromkeys(key(run) for run in runs):
            group = [run for run in runs if key(run) == value]
            out |= {id(run): new for run, new in zip(group, numbers_of(group, move(group)), strict=True)}
        return [out[id(run)] for run in runs]

    return alter


def neighbours(runs: list[Run]) -> list[Run]:
    """First and second exchanged, third and fourth, and so on."""
    out = list(runs)
    for k in range(0, len(runs) - 1, 2):
        out[k], out[k + 1] = runs[k + 1], runs[k]
    return out


def alpha_of(run: Run) -> Any:
    """None where there is none, also where a table says so by a number that is not equal to itself."""
    alpha = run.row.get("alpha")
    return None if alpha is None or np.isnan(float(alpha)) else round(float(alpha), 9)


def each(change: Callable[[Run], Run]) -> Alteration:
    """Every run by itself."""
    return lambda runs: [change(run) for run in runs]


def with_data(run: Run, **data: np.ndarray) -> Run:
    """The run with other values, or at other steps."""
    return replace(run, data=run.data._replace(**data))


def everything(values: Callable[[np.ndarray], np.ndarray]) -> Alteration:
    """All numbers [estimators, K, metrics, R] of every run through a function."""
    return each(lambda run: with_data(run, values=values(run.data.values)))


def estimators(order: list[int]) -> Alteration:
    """The numbers of the iterate and of the average in this order, where there are both."""
    return everything(lambda values: values[order] if len(values) > 1 else values)


def columns_exchanged(one: str, other: str) -> Alteration:
    """Two metrics under each other's names."""

    def change(run: Run, estimator: str, metric: str, values: np.ndarray) -> np.ndarray:
        if metric not in (one, other):
            return values
        data = run.data
        return data.values[data.estimators.index(estimator), :, data.metrics.index(other if metric == one else one)]

    return through(change, lambda run: {one, other} <= set(run.data.metrics))


def algorithms_exchanged(one: str, other: str) -> Alteration:
    """Numbers of the first estimator of two algorithms exchanged, run by run of the same data."""

    def with_first_of(run: Run, other: Run) -> Run:
        return with_data(run, values=np.concatenate([other.data.values[:1], run.data.values[1:]]))

    def alter(runs: list[Run]) -> list[Run]:
        mine, theirs = ([r for r in runs if r.cell.algorithm.name == name] for name in (one, other))
        out = {id(run): run for run in runs}
        for run in mine:
            alike = [t for t in theirs if t.data.values.shape[1:] == run.data.values.shape[1:]]
            partner = next((t for t in alike if t.row.get("data") == run.row.get("data")), None)
            if partner is not None:
                out[id(run)], out[id(partner)] = with_first_of(run, partner), with_first_of(partner, run)
        return [out[id(run)] for run in runs]

    return alter


# --- replicates, seeds and steps --------------------------------------------------------------------------------


def replicates(pick: Callable[[np.ndarray], np.ndarray]) -> Alteration:
    """Other replicates: `pick` gives their numbers from all of them."""
    return everything(lambda values: values[..., pick(np.arange(values.shape[-1]))])


def other_seeds(keep: Callable[[Run], bool]) -> Alteration:
    """Replicates of some runs in another order: they are no longer on common random numbers with the others."""

    def mixed(run: Run, seed: int) -> Run:
        order = np.random.default_rng(seed).permutation(run.data.values.shape[-1])
        return with_data(run, values=run.data.values[..., order]) if keep(run) else run

    return lambda runs: [mixed(run, k) for k, run in enumerate(runs)]


def steps_times(factor: float) -> Alteration:
    """Checkpoints that say another number of users than there were."""

    def change(run: Run) -> Run:
        steps = np.maximum.accumulate(np.maximum(np.round(run.steps * factor), np.arange(1, len(run.steps) + 1)))
        return with_data(run, steps=steps.astype(np.int64))

    return each(change)


def checkpoints(keep: Callable[[Run], np.ndarray]) -> Alteration:
    """Only some of the checkpoints."""
    return each(lambda run: with_data(run, steps=run.steps[keep(run)], values=run.data.values[:, keep(run)]))


def late(values: np.ndarray) -> np.ndarray:
    """Every checkpoint with the numbers of the one before it."""
    return np.concatenate([values[:, :1], values[:, :-1]], axis=1)


def one_wrong(value: float) -> Alteration:
    """One number of every run, in the middle of the first replicate."""

    def alter(values: np.ndarray) -> np.ndarray:
        out = values.copy()
        out[:, -1, :, 0] = value
        return out

    return everything(alter)


def one_outlier(factor: float) -> Alteration:
    """The first replicate's path times a factor."""
    return through(on(lambda run, _, v: np.where(np.arange(v.shape[1]) == 0, factor * v, v), SIZES))


def survivors(share: float) -> Change:
    """The largest values at every checkpoint replaced by its median: a mean over what did not go wrong."""

    def change(values: np.ndarray) -> np.ndarray:
        limit = np.quantile(values, 1 - share, axis=-1, keepdims=True)
        return np.where(values > limit, np.median(values, axis=-1, keepdims=True), values)

    return mapped(change)


def jitter(relative: float) -> Change:
    """Noise of its own on every number."""
    return mapped(lambda v: v * np.exp(relative * np.random.default_rng(0).standard_normal(v.shape)))


def rounded(digits: int) -> Change:
    """Stored with so many significant digits."""

    def change(values: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = 10.0 ** (np.floor(np.log10(np.abs(values))) - digits + 1)
            return np.where(values == 0, 0.0, np.round(values / unit) * unit)

    return mapped(change)


# --- what rows and cells say ------------------------------------------------------------------------------------


def rows(keep: Callable[[Run], bool] = lambda run: True, plus: float = 0.0, **factors: float) -> Alteration:
    """Columns of the table of cells times a factor, and plus a number."""

    def change(run: Run) -> Run:
        have = {k: plus + f * run.row[k] for k, f in factors.items() if isinstance(run.row.get(k), int | float)}
        return relabelled(run, **have) if have and keep(run) else run

    return each(change)


def setting(part: str, **factors: float) -> Alteration:
    """Parameters of a cell's problem or schedule times a factor, where it has them."""

    def change(run: Run) -> Run:
        section = getattr(run.cell, part)
        have = {k: getattr(section, k) * f for k, f in factors.items() if isinstance(getattr(section, k, None), float)}
        changed = {part: section.model_copy(update=have)}
        return replace(run, cell=replace(run.cell, **changed)) if have else run

    return each(change)


def budgets_exchanged(runs: list[Run]) -> list[Run]:
    """What cells say of their budgets, exchanged within an alpha: labels and columns, not numbers."""
    out: dict[int, Run] = {}
    for value in dict.fromkeys(alpha_of(run) for run in runs):
        group = [run for run in runs if alpha_of(run) == value]
        for run, other in zip(group, group[::-1], strict=True):
            names = [k for k in ("mu", "budget", "gdp_mu", "gdp_mu_exact", "mu_mean_inverse_square") if k in run.row]
            new = relabelled(run, **{k: other.row[k] for k in names}) if run is not other else run
            out[id(run)] = replace(new, cell=replace(run.cell, privacy=other.cell.privacy)) if run is not other else run
    return [out[id(run)] for run in runs]


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
    Family("the stated privacy parameter", lambda f: rows(gdp_mu_exact=f)),
    Family("all errors", lambda t: through(tilted(t), lambda r: len(r.steps) > 1), "exponent"),
    Family("the average's errors", lambda t: through(tilted(t, SIZES, ("asgd",)), _by("asgd")), "exponent"),
    Family("the iterate's errors", lambda t: through(tilted(t, SIZES, ("sgd",)), _by("sgd")), "exponent"),
)  # fmt: skip
"""corruptions with a size, of which the smallest that changes a verdict is looked for"""

KINDS: dict[str, Alteration] = {
    **{f"{one.words} x {f:g}": one.make(f) for one in FAMILIES if not one.tilt for f in FACTORS},
    **{f"exponent of {one.words} {t:+g}": one.make(t) for one in FAMILIES if one.tilt for t in (-0.1, -0.05, 0.05, 0.1)},
    **{f"first checkpoint x {f:g}": through(at(0, f)) for f in FACTORS},
    **{f"steps x {f:g}": steps_times(f) for f in FACTORS},
    **{f"slopes of the loss gap {t:+g}": through(tilted(t, LOSS), lambda r: "loss_gap" in r.data.metrics) for t in (-0.1, 0.1)},
    **{f"stated gdp_mu x {f:g}": rows(gdp_mu=f) for f in FACTORS},
    **{f"stated mu x {f:g}": rows(private, mu=f) for f in FACTORS},
    **{f"stated eps x {f:g}": rows(eps=f) for f in (0.5, 2.0)},
    "stated N x 2": rows(N=2.0),
    "stated alpha + 0.05": rows(plus=0.05, alpha=1.0),
    "schedule: alpha x 0.9": setting("schedule", alpha=0.9),
    "schedule: eta x 1.1": setting("schedule", eta=1.1),
    "problem: c x 1.1": setting("problem", c=1.1),
    "problem: sigma x 1.1": setting("problem", sigma=1.1),
    "problem: beta x 1.1": setting("problem", beta=1.1),
    "budgets' labels reversed": budgets_exchanged,
    "numbers of budgets reversed": within(alpha_of, lambda runs: runs[::-1]),
    "numbers of neighbouring budgets": within(alpha_of, neighbours),
    "numbers of exponents reversed": within(lambda r: r.budget, lambda runs: runs[::-1]),
    "numbers of cells rotated": within(lambda r: None, lambda runs: [*runs[1:], *runs[:1]]),
    "numbers of cells reversed": within(lambda r: None, lambda runs: runs[::-1]),
    "one run's numbers for all": within(lambda r: None, lambda runs: [runs[0]] * len(runs)),
    "estimators exchanged": estimators([1, 0]),
    "the average for both": estimators([1, 1]),
    "loss for distance": columns_exchanged("loss_gap", "param_distance_sq"),
    "coefficients for all parameters": columns_exchanged("coef_distance_sq", "param_distance_sq"),
    "grad_norm for mean_grad_norm": columns_exchanged(*GRADIENT),
    "dp-sgld and dp-sgd exchanged": algorithms_exchanged("dp-sgld", "dp-sgd"),
    "both momentum algorithms exchanged": algorithms_exchanged("tree-momentum", "reduced-momentum"),
    "half of the replicates": replicates(lambda k: k[: len(k) // 2]),
    "three replicates": replicates(lambda k: k[:3]),
    "every replicate twice": replicates(lambda k: np.repeat(k, 2)),
    "one replicate for all": replicates(lambda k: np.zeros_like(k)),
    "other seeds for every run": other_seeds(lambda run: True),
    "other seeds for private runs": other_seeds(private),
    "last decade cut": checkpoints(lambda run: run.steps <= run.steps[-1] / 10),
    "every second checkpoint": checkpoints(lambda run: np.arange(len(run.steps)) % 2 == (len(run.steps) - 1) % 2),
    "checkpoints shifted by one": everything(late),
    "constant at the last value": everything(lambda v: np.broadcast_to(v[:, -1:], v.shape).copy()),
    "constant at the first value": everything(lambda v: np.broadcast_to(v[:, :1], v.shape).copy()),
    "constant at the mean over steps": everything(lambda v: np.broadcast_to(v.mean(axis=1, keepdims=True), v.shape).copy()),
    "time reversed": everything(lambda v: v[:, ::-1].copy()),
    "one nan": one_wrong(np.nan),
    "one inf": one_wrong(np.inf),
    "one replicate x 1000": one_outlier(1000.0),
    "one replicate x -1": one_outlier(-1.0),
    "without the largest 5%": through(survivors(0.05)),
    "geometric for arithmetic means": through(mapped(lambda v: np.exp(np.log(np.maximum(v, 1e-300)).mean(axis=-1, keepdims=True)) * v / v.mean(axis=-1, keepdims=True))),
    "squares for values": through(mapped(np.square)),
    "roots for squares": through(mapped(lambda v: np.sqrt(np.abs(v)))),
    "10% of noise": through(jitter(0.1)),
    "one significant digit": through(rounded(1)),
    "slack lowered by its mean": through(lowered(1.0), lambda r: "lemma5_slack" in r.data.metrics),
}  # fmt: skip
