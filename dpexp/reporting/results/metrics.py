"""What metrics and statistics are called on axes and in captions; a metric that is not listed goes by its name."""

from __future__ import annotations

from typing import NamedTuple

from dpexp.store.stats import CI_NAME, is_coordinate


class Metric(NamedTuple):
    """A metric in words and symbols."""

    symbol: str
    """in mathematics, for axes and LaTeX"""
    words: str
    unit: str
    error: bool = False
    """whether it is a distance from an optimum: a rate is a slope of its logarithm"""
    share: bool = False
    """whether it is between 0 and 1, so that a linear axis shows it best"""


class Statistic(NamedTuple):
    """A statistic of the replicates: columns of the summary for its value and its band, and words for the band."""

    columns: tuple[str, str, str]
    band: str
    short: str


STATISTICS = {
    "mean": Statistic(("mean", "ci_lo", "ci_hi"), CI_NAME, "mean and 95% CI"),
    "median": Statistic(
        ("median", "median_lo", "median_hi"), "95% interval of the median (order statistics)", "median and 95% CI"
    ),
    "quantiles": Statistic(("median", "q05", "q95"), "5% and 95% quantiles of the replicates", "median, 5% to 95%"),
}
CONTROLLED = "_controlled"
"""ends the name of the same mean from fewer replicates, by a control variate"""
COEFFICIENTS, TERM = "coefficients", "term"
"""all recorded parameters as one metric, and the setting that names the parameter"""
_SQUARE, _LOSS, _GRADIENT = "parameter squared", "loss", "loss per parameter"
_E, _C, _THETA, _GAP = r"\mathrm{E}\,", r"\mathrm{E}_c\,", r"\|\theta - \theta^*\|", r"F(\theta) - F(\theta^*)"
METRICS = {
    "param_distance_sq": Metric(f"{_E}{_THETA}^2", "mean squared distance to the optimum", _SQUARE, True),
    "param_distance": Metric(f"{_E}{_THETA}", "mean distance to the optimum", "parameter", True),
    "coef_distance_sq": Metric(rf"{_E}\|\beta - \beta^*\|^2", "mean squared coefficient distance", _SQUARE, True),
    "loss_gap": Metric(f"{_E}{_GAP}", "mean loss gap", _LOSS, True),
    "loss_gap_controlled": Metric(f"{_C}{_GAP}", "mean loss gap, linear part exact", _LOSS, True),
    "param_distance_sq_controlled": Metric(
        f"{_C}{_THETA}^2", "mean squared distance to the optimum, linear part exact", _SQUARE, True),
    COEFFICIENTS: Metric("", "coefficient", "parameter"),
    "projections": Metric("", "projections of the scale so far", "steps"),
    "test_accuracy": Metric("", "held-out accuracy", "share of records", False, True),
    "train_loss": Metric("", "training loss", _LOSS),
    "param_norm_sq": Metric(r"\mathrm{E}\,\|w\|^2", "mean squared norm of the parameter", _SQUARE),
    "objective": Metric(r"\mathrm{E}\,F(w)", "mean objective", _LOSS),
    "grad_norm": Metric(r"\mathrm{E}\,\|\nabla F\|", "mean gradient norm", _GRADIENT, True),
    "mean_grad_norm": Metric(
        r"\mathrm{E}\,\overline{\|\nabla F\|}", "mean gradient norm, averaged over the run", _GRADIENT, True),
    "direction_error": Metric("", "mean error of the direction", _GRADIENT, True),
    "lemma5_slack": Metric("", "least slack of Lemma 5", _GRADIENT),
}  # fmt: skip


def metric_of(name: str, statistic: str = "mean") -> Metric:
    """The metric of this name; of medians and quantiles the words name these, and no symbol is that of a mean."""
    known = Metric("", name.replace("_", " "), "parameter") if is_coordinate(name) else Metric("", name, "")
    metric = METRICS.get(name, known)
    if statistic == "mean":
        return metric
    return metric._replace(symbol="", words=f"median {metric.words.removeprefix('mean ')}")


def axis_label(name: str, final: bool, statistic: str = "mean") -> str:
    """For an axis: words, and the symbol where there is one, else the unit."""
    metric = metric_of(name, statistic)
    words = f"final {metric.words.removeprefix('mean ')}" if final and metric.symbol else metric.words
    return words + (f"\n${metric.symbol}$" if metric.symbol else f"  [{metric.unit}]" if metric.unit else "")
