"""Final errors within results compared pair by pair, with intervals, paired where random numbers are shared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from dpexp.config.cell_settings import Settings, Words, varying
from dpexp.config.error_messages import suggest
from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.reporting.results.gather import Gathered, Run, Source
from dpexp.reporting.results.lines import Line, lines_of, replicates_of
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


def metrics_of(gathered: Gathered, wanted: Sequence[str] = ()) -> list[str]:
    """The metrics that are compared. Raises UsageError where one is asked for that not all results have."""
    summary, several = gathered.summary, len(gathered.sources) > 1
    sources = summary["run"].map({k: run.source for k, run in enumerate(gathered.runs)})
    known = [list(some.unique()) for _, some in summary.metric.groupby(sources, sort=False)]
    shared = [str(name) for name in known[0] if all(name in side for side in known)]
    for name in wanted:
        if name not in shared:
            where = "both results" if several else "the result"
            raise UsageError(f"--metric {name}: not in {where}", suggest(name, shared))
    return list(wanted) or ([MAIN] if MAIN in shared else shared)


def levels(side: Sequence[Final], by: str, names: Sequence[str], metrics: Sequence[str], words: Words) -> list[Pair]:
    """All pairs of levels of one setting, everything else the same. Raises UsageError where there are none."""
    # estimators of one run are levels too
    known = [*names, "estimator"]
    by = by if by in known else by.rpartition(".")[2]
    if by not in known:
        hint = f"{guess(by, known)}what varies: {', '.join(known)}"
        raise UsageError(f"--by {by}: it does not vary within the result", hint)
    others = [name for name in names if name != by]
    # a parameter that only some levels have, such as the clipping bound of one algorithm, does not tell settings apart
    own = [name for name in others if any(final.settings.get(name) is None for final in side)]
    shared = [name for name in others if name not in own]
    # of those, one that follows from the level needs no word
    told = [name for name in own if len({final.settings.get(name) for final in side} - {None}) > 1]

    def level(final: Final) -> str:
        return final.line.estimator if by == "estimator" else words.value(by, final.settings.get(by))

    def alike(a: Final, b: Final) -> bool:
        both = ((a.settings.get(name), b.settings.get(name)) for name in own)
        return all(one is None or other is None or one == other for one, other in both) and level(a) != level(b)

    def setting(a: Final, b: Final) -> str:
        found = {name: b.settings.get(name) if a.settings.get(name) is None else a.settings[name] for name in told}
        return words.setting([*shared, *told], {**a.settings, **found})

    groups: dict[tuple[Any, ...], list[Final]] = {}
    for final in side:
        estimator = "" if by == "estimator" else final.line.estimator
        # all that may not differ within a pair
        key = (*(final.settings.get(name) for name in shared), estimator, final.metric)
        groups.setdefault(key, []).append(final)
    pairs = [
        Pair(setting(a, b), a, b, level(a), level(b))
        for metric in metrics
        for key, group in groups.items()
        if key[-1] == metric
        for a, b in combinations(group, 2)
        if alike(a, b)
    ]
    if not pairs:
        also = f"; {', '.join(others)} differ too" if others else ""
        raise UsageError(f"--by {by}: no two settings differ only in {by}{also}", f"what varies: {', '.join(known)}")
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
    # Bonferroni: all rows that are called significant are so together with 95%
    level = 1 - (1 - CI_LEVEL) / len(pairs)
    return [_compare(pair, level, *(replicates(f.line.run, f.metric) for f in (pair.a, pair.b))) for pair in pairs]


def _replicates(run: Run, metric: str) -> dict[str, np.ndarray]:
    """Values by replicate at the last step, by estimator; none where the trajectories are not stored."""
    try:
        data = cell_of(run.generation, str(run.row["cell_id"]))
    except OnlySummaries:
        return {}
    # a copy: a view would keep all steps
    return {estimator: replicates_of(data, estimator, metric)[-1].copy() for estimator in data.estimators}


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
        "identical": _identical(pair, of_a.get(pair.a.line.estimator), of_b.get(pair.b.line.estimator)),
        "certain": low > 0 or high < 0,
    }


def _identical(pair: Pair, one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Whether all stored numbers of both agree bit for bit: summaries at every step, and final values by replicate."""
    steps = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(pair.a.line.rows, pair.b.line.rows, strict=True))
    if one is None or other is None:
        return steps
    return steps and np.array_equal(one, other, equal_nan=True)


def certainty(rows: int) -> str:
    """What the word significant means beside so many comparisons."""
    level = 100 * (1 - (1 - CI_LEVEL) / rows)
    return f"significant: the {level:.4g}% interval excludes 0, so all rows so marked hold jointly at 95% (Bonferroni)"


def shown(rows: Sequence[dict[str, Any]], by: str) -> tuple[list[str], list[list[str]]]:
    """Head and rows as a person reads them; levels stand for A and B where one setting is compared."""
    head = ["setting", "estimator", "metric", *([f"{by} A", f"{by} B"] if by else []), "A", "B", "A - B",
            "95% interval", "A / B", "how", "difference"]  # fmt: skip
    found = [
        [r["setting"], r["estimator"], r["metric"], *([r["level_a"], r["level_b"]] if by else []),
         f"{r['a']:.4g}", f"{r['b']:.4g}", f"{r['difference']:+.3g}", f"[{r['ci'][0]:+.3g}, {r['ci'][1]:+.3g}]",
         f"{r['ratio']:.3f}", "paired" if r["paired"] else "unpaired", "significant" if r["certain"] else "-"]
        for r in rows
    ]  # fmt: skip
    first = int(not any(row[0] for row in found))  # nothing varies beside what is compared
    return head[first:], [row[first:] for row in found]
