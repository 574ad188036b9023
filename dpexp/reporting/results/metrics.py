"""What the metrics are called on axes and in captions, with their units; one that is not listed goes by its name."""

from __future__ import annotations

from typing import NamedTuple

from dpexp.store.stats import is_coordinate


class Metric(NamedTuple):
    """A metric in words and symbols."""

    symbol: str
    """in mathematics, for axes and LaTeX"""
    words: str
    unit: str
    error: bool = False
    """whether it is a distance from what is wanted: zero is perfect, and a rate is a slope of its logarithm"""
    share: bool = False
    """whether it lies between 0 and 1, so that a linear axis shows it best"""


CONTROLLED = "_controlled"
"""ends the name of the same mean from fewer replicates, by a control variate"""
COEFFICIENTS, TERM = "coefficients", "term"
"""all recorded parameters as one metric, and the setting that says which"""
METRICS = {
    "param_distance_sq": Metric(
        r"\mathrm{E}\,\|\theta - \theta^*\|^2", "mean squared distance to the optimum", "parameter squared", True
    ),
    "param_distance": Metric(r"\mathrm{E}\,\|\theta - \theta^*\|", "mean distance to the optimum", "parameter", True),
    "coef_distance_sq": Metric(
        r"\mathrm{E}\,\|\beta - \beta^*\|^2", "mean squared distance of the coefficients", "parameter squared", True
    ),
    "loss_gap": Metric(r"\mathrm{E}\,F(\theta) - F(\theta^*)", "mean loss gap", "loss", True),
    "param_distance_sq_controlled": Metric(
        r"\mathrm{E}_c\,\|\theta - \theta^*\|^2",
        "mean squared distance to the optimum, linear part exact",
        "parameter squared",
        True,
    ),
    "loss_gap_controlled": Metric(
        r"\mathrm{E}_c\,F(\theta) - F(\theta^*)", "mean loss gap, linear part exact", "loss", True
    ),
    COEFFICIENTS: Metric("", "coefficient", "parameter"),
    "projections": Metric("", "projections of the scale so far", "steps"),
    "test_accuracy": Metric("", "held-out accuracy", "share of records", False, True),
    "train_loss": Metric("", "training loss", "loss"),
    "param_norm_sq": Metric(r"\mathrm{E}\,\|w\|^2", "mean squared norm of the parameter", "parameter squared"),
    "objective": Metric(r"\mathrm{E}\,F(w)", "mean objective", "loss"),
    "grad_norm": Metric(r"\mathrm{E}\,\|\nabla F\|", "mean gradient norm", "loss per parameter", True),
    "mean_grad_norm": Metric(
        r"\mathrm{E}\,\overline{\|\nabla F\|}", "mean gradient norm, averaged over the run", "loss per parameter", True
    ),
    "direction_error": Metric("", "mean error of the direction", "loss per parameter", True),
    "lemma5_slack": Metric("", "least slack of Lemma 5", "loss per parameter"),
}


def metric_of(name: str, statistic: str = "mean") -> Metric:
    """The metric of this name; of medians and quantiles the words say so, and no symbol is that of an expectation."""
    known = Metric("", name.replace("_", " "), "parameter") if is_coordinate(name) else Metric("", name, "")
    metric = METRICS.get(name, known)
    if statistic == "mean":
        return metric
    return metric._replace(symbol="", words=f"median {metric.words.removeprefix('mean ')}")


def axis_label(name: str, final: bool, statistic: str = "mean") -> str:
    """For an axis: words, and the symbol where there is one, else the unit."""
    metric = metric_of(name, statistic)
    words = f"final {metric.words.removeprefix('mean ')}" if final and metric.symbol else metric.words
    symbol = f"\n${metric.symbol}$" if metric.symbol else ""
    return f"{words}{symbol}" + (f"  [{metric.unit}]" if metric.unit and not symbol else "")
