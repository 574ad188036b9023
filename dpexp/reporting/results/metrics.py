"""What metrics and statistics are called on axes and in captions, and symbols; what is not listed goes by its name."""

from __future__ import annotations

from typing import NamedTuple

from dpexp.store.stats import CI_NAME


class Metric(NamedTuple):
    """A metric in words and symbols."""

    words: str
    symbol: str = ""
    """in mathematics, for axes and LaTeX"""
    error: bool = False
    """whether it is a distance from an optimum: a rate is a slope of its logarithm"""
    share: bool = False
    """whether it is between 0 and 1, so that a linear axis shows it best"""
    sampled: bool = True
    """whether it is over replicates, with a band"""


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
SYMBOLS = {
    "mu": r"\mu", "eps": r"\varepsilon", "delta": r"\delta", "alpha": r"\alpha", "eta": r"\eta", "tau": r"\tau",
    "sigma": r"\sigma", "beta": r"\beta", "lambda": r"\lambda", "gamma": r"\gamma",
    "d": "d", "n": "n", "N": "N", "c": "c",
}  # fmt: skip
"""symbols of parameters in figures, as papers write them"""
CONTROLLED = "_controlled"
"""ends the name of the same mean from fewer replicates, by a control variate"""
COEFFICIENTS, TERM = "coefficients", "term"
"""all recorded parameters as one metric, and the setting that names the parameter"""
_E, _C, _THETA, _GAP = r"\mathrm{E}\,", r"\mathrm{E}_c\,", r"\|\theta - \theta^*\|", r"F(\theta) - F(\theta^*)"
METRICS = {
    "param_distance_sq": Metric("mean squared distance to the optimum", f"{_E}{_THETA}^2", True),
    "param_distance": Metric("mean distance to the optimum", f"{_E}{_THETA}", True),
    "coef_distance_sq": Metric("mean squared coefficient distance", rf"{_E}\|\beta - \beta^*\|^2", True),
    "loss_gap": Metric("mean loss gap", f"{_E}{_GAP}", True),
    "loss_gap_controlled": Metric("mean loss gap, linear part exact", f"{_C}{_GAP}", True),
    "param_distance_sq_controlled": Metric(
        "mean squared distance to the optimum, linear part exact", f"{_C}{_THETA}^2", True),
    COEFFICIENTS: Metric("coefficient"),
    "projections": Metric("projections of the scale so far"),
    "test_accuracy": Metric("held-out accuracy", share=True),
    "train_loss": Metric("training loss"),
    "param_norm_sq": Metric("mean squared norm of the parameter", r"\mathrm{E}\,\|w\|^2"),
    "objective": Metric("mean objective", r"\mathrm{E}\,F(w)"),
    "grad_norm": Metric("mean gradient norm", r"\mathrm{E}\,\|\nabla F\|", True),
    "mean_grad_norm": Metric(
        "mean gradient norm, averaged over the run", r"\mathrm{E}\,\overline{\|\nabla F\|}", True),
    "direction_error": Metric("mean error of the direction", error=True),
    "lemma5_slack": Metric("least slack of Lemma 5"),
}  # fmt: skip


def metric_of(name: str, statistic: str = "mean") -> Metric:
    """The metric of this name; of medians and quantiles the words name these, and no symbol is that of a mean."""
    metric = METRICS.get(name, Metric(name.replace("_", " ")))
    if statistic == "mean":
        return metric
    return metric._replace(symbol="", words=f"median {metric.words.removeprefix('mean ')}")
