"""Medians and quantiles over replicates in place of means: order statistics of the stored trajectories.

A replicate that has diverged counts as infinite, so that nothing is taken over survivors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.text import guess
from dpexp.reporting.results.gather import Gathered
from dpexp.reporting.results.lines import replicates_of
from dpexp.store.reading import OnlySummaries, cell_of, command_of
from dpexp.store.stats import CI_LEVEL, CI_NAME

STATISTICS = {
    "mean": CI_NAME,
    "median": "95% interval of the median (order statistics)",
    "quantiles": "5% and 95% quantiles of the replicates",
}
"""what is drawn of the replicates, and what its band is"""


def of_replicates(gathered: Gathered, metrics: Sequence[str], statistic: str) -> Gathered:
    """The same results with `mean`, `ci_lo` and `ci_hi` of these metrics replaced by the statistic.

    Raises UsageError for an unknown one, ResultsMissing where the trajectories are not stored.
    """
    if statistic not in STATISTICS:
        raise UsageError(f"--statistic {statistic}: it is one of {', '.join(STATISTICS)}", guess(statistic, STATISTICS))
    if statistic == "mean":
        return gathered
    summary = gathered.summary[gathered.summary.metric.isin(list(metrics))].copy()
    for key, rows in summary.groupby(["run", "metric", "estimator"], sort=False):
        run, (metric, estimator) = gathered.runs[int(rows.run.iloc[0])], map(str, key[1:])
        try:
            data = cell_of(run.generation, str(run.row["cell_id"]))
        except OnlySummaries:
            hint = f"run: {command_of(run.generation.folder)}"
            raise ResultsMissing(f"{run.source.path}: --statistic {statistic} needs the trajectories", hint) from None
        values = replicates_of(data, estimator, metric)[np.searchsorted(data.steps, rows.step.to_numpy())]
        columns = ordered(values, statistic)
        summary.loc[rows.index, ["mean", "ci_lo", "ci_hi"]] = np.stack(columns, axis=1)
    return replace(gathered, summary=summary, statistic=statistic)


def ordered(values: np.ndarray, statistic: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The median of values [K, R] over replicates and both ends of its band, [K] each.

    The interval of a median is free of distributions: its ends are the order statistics that binomial probabilities
    of a half give (David and Nagaraja, Order Statistics, section 7.1); with fewer than six replicates it is unbounded.
    """
    from scipy.stats import binom

    count = values.shape[1]
    rank = np.sort(np.where(np.isnan(values), np.inf, values), axis=1)
    middle = (rank[:, (count - 1) // 2] + rank[:, count // 2]) / 2
    if statistic == "quantiles":
        low, high = (int(np.ceil(share * count)) - 1 for share in (0.05, 0.95))
        return middle, rank[:, low], rank[:, high]
    below = int(binom.ppf((1 - CI_LEVEL) / 2, count, 0.5))
    if below == 0:
        return middle, np.full(len(values), -np.inf), np.full(len(values), np.inf)
    return middle, rank[:, below - 1], rank[:, count - below]
