"""Final errors within results compared pair by pair, with intervals, paired where random numbers are shared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from dpexp.config.messages import suggest
from dpexp.config.settings import Settings, Words, varying
from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.reporting.of_results.gather import Gathered, Run, Source
from dpexp.reporting.of_results.lines import Line, lines_of
from dpexp.store import cell_of
from dpexp.store.reading import OnlySummaries
from dpexp.store.stats import CI_LEVEL, interval, paired_difference, t_quantile

MAIN = "param_distance_sq"
"""compared where both have it, else every metric of both"""


class Final(NamedTuple):
    """The last step of one setting, estimator and metric."""

    line: Line
    metric: str

    @property
    def settings(self) -> Settings:
        return self.line.run.settings

    @property
    def seed(self) -> Any:
        return self.settings.get("run.seed", self.settings.get("seed"))

    @property
    def own_records(self) -> bool:
        """Whether its noise is its own: settings on a user's records share none (docs/privacy.md)."""
        return self.line.run.own_records


class Pair(NamedTuple):
    """Two of them that are compared, and the words for what they share and for what tells them apart."""

    setting: str
    a: Final
    b: Final
    name_a: str = "A"
    name_b: str = "B"


def finals(gathered: Gathered, source: Source, metrics: Sequence[str]) -> list[Final]:
    """The last steps of one result in these metrics."""
    found = ((line, metric) for metric in metrics for line in lines_of(gathered, metric))
    return [Final(line, metric) for line, metric in found if line.run.source == source]


def metrics_of(gathered: Gathered, wanted: str | None = None) -> list[str]:
    """The metrics that are compared. Raises UsageError where one is asked for that not all results have."""
    summary, several = gathered.summary, len(gathered.sources) > 1
    sources = summary["run"].map({k: run.source for k, run in enumerate(gathered.runs)})
    known = [list(some.unique()) for _, some in summary.metric.groupby(sources, sort=False)]
    shared = [str(name) for name in known[0] if all(name in side for side in known)]
    if wanted is not None and wanted not in shared:
        raise UsageError(f"--metric {wanted}: not in {'both results' if several else 'the result'}",
                         suggest(wanted, shared))  # fmt: skip
    return [wanted] if wanted else [MAIN] if MAIN in shared else shared


def levels(side: Sequence[Final], by: str, names: Sequence[str], metrics: Sequence[str], words: Words) -> list[Pair]:
    """All pairs of levels of one setting, everything else the same. Raises UsageError where there are none."""
    # estimators of one run are levels too
    known = [*names, "estimator"]
    by = by if by in known else by.rpartition(".")[2]
    if by not in known:
        hint = f"{guess(by, known)}what varies: {', '.join(known)}"
        raise UsageError(f"--by {by}: it does not vary within the result", hint)
    rest = [name for name in names if name != by]

    def level(final: Final) -> str:
        return final.line.estimator if by == "estimator" else words.value(by, final.settings.get(by))

    groups: dict[tuple[Any, ...], list[Final]] = {}
    for final in side:
        estimator = "" if by == "estimator" else final.line.estimator
        # all that may not differ within a pair
        key = (*(final.settings.get(name) for name in rest), estimator, final.metric)
        groups.setdefault(key, []).append(final)
    pairs = [
        Pair(words.setting(rest, a.settings), a, b, level(a), level(b))
        for metric in metrics
        for key, group in groups.items()
        if key[-1] == metric
        for a, b in combinations(group, 2)
    ]
    if not pairs:
        raise UsageError(f"--by {by}: no two settings differ in nothing else", f"what varies: {', '.join(known)}")
    return pairs


def between_levels(gathered: Gathered, by: str) -> list[Pair]:
    """All pairs of levels of one setting of a result; raises as `levels` does."""
    metrics = metrics_of(gathered)
    side = finals(gathered, gathered.sources[0], metrics)
    return levels(side, by, varying(run.settings for run in gathered.runs), metrics, gathered.words)


def compared(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """The comparison of every pair, of which all words hold together."""
    # a file is read once for all pairs that its cell is in
    replicates = cache(_replicates)
    # Bonferroni: all words of certainty hold together with 95%
    level = 1 - (1 - CI_LEVEL) / len(pairs)
    return [_compare(pair, level, *(replicates(f.line.run, f.metric) for f in (pair.a, pair.b))) for pair in pairs]


def _replicates(run: Run, metric: str) -> dict[str, np.ndarray]:
    """Values by replicate at the last step, by estimator; none where the trajectories are not stored."""
    try:
        data = cell_of(run.generation, str(run.row["cell_id"]))
    except OnlySummaries:
        return {}
    # a copy: a view would keep all steps
    return dict(zip(data.estimators, data.values[:, -1, data.metrics.index(metric)].copy(), strict=True))


def _compare(
    pair: Pair, level: float, of_a: Mapping[str, np.ndarray], of_b: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """The difference of one pair, its 95% interval, and whether the interval at `level` leaves out 0."""
    mean_a, mean_b = float(pair.a.line.rows.mean[-1]), float(pair.b.line.rows.mean[-1])
    one, other = of_a.get(pair.a.line.estimator), of_b.get(pair.b.line.estimator)
    # settings on a user's own records share no noise (docs/privacy.md)
    shared = pair.a.seed == pair.b.seed and not (pair.a.own_records or pair.b.own_records)
    same_run = pair.a.line.run is pair.b.line.run  # two estimators of one run
    count = 0 if one is None or other is None else min(len(one), len(other))
    paired = (shared or same_run) and count > 1
    if paired and one is not None and other is not None:
        one, other = one[:count], other[:count]
        at = paired_difference(one, other)
        difference, ratio, ci = at.difference, at.ratio, [at.ci_lo, at.ci_hi]
        _, low, high = map(float, interval(one - other, level))
    else:
        difference = mean_a - mean_b
        ratio = mean_a / mean_b if mean_b else math.nan
        # unpaired: both errors add up, with the degrees of freedom of the smaller sample
        degrees = min(pair.a.line.replicates, pair.b.line.replicates) - 1
        se = math.hypot(pair.a.line.rows.se[-1], pair.b.line.rows.se[-1])
        half, wide = (t_quantile(degrees, at) * se if degrees > 0 else math.inf for at in (CI_LEVEL, level))
        ci, low, high = [difference - half, difference + half], difference - wide, difference + wide
    return {
        "setting": pair.setting,
        "estimator": pair.a.line.estimator if pair.a.line.estimator == pair.b.line.estimator else "",
        "metric": pair.a.metric,
        "level_a": pair.name_a,
        "level_b": pair.name_b,
        "a": mean_a,
        "b": mean_b,
        "difference": difference,
        "ci": ci,
        "ratio": ratio,
        "paired": paired,
        "certain": low > 0 or high < 0,
    }


def certainty(rows: int) -> str:
    """What the word certain means beside so many comparisons."""
    level = 100 * (1 - (1 - CI_LEVEL) / rows)
    return (
        f"certain: the interval at level {level:.4g}% leaves out 0; all these words hold together with 95% (Bonferroni)"
    )


def shown(rows: Sequence[dict[str, Any]], by: str) -> tuple[list[str], list[list[str]]]:
    """Head and rows as a person reads them; levels stand for A and B where one setting is compared."""
    head = ["setting", "estimator", "metric", *([f"{by} A", f"{by} B"] if by else []), "A", "B", "A - B",
            "95% interval", "A / B", "how", "certain"]  # fmt: skip
    found = [
        [r["setting"], r["estimator"], r["metric"], *([r["level_a"], r["level_b"]] if by else []),
         f"{r['a']:.4g}", f"{r['b']:.4g}", f"{r['difference']:+.3g}", f"[{r['ci'][0]:+.3g}, {r['ci'][1]:+.3g}]",
         f"{r['ratio']:.3f}", "paired" if r["paired"] else "unpaired", "certain" if r["certain"] else "-"]
        for r in rows
    ]  # fmt: skip
    return head, found
