"""Final errors within results compared pair by pair, with intervals, paired where random numbers are shared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from dpexp.config.messages import suggest
from dpexp.config.settings import Settings, Words, varying
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.text import guess
from dpexp.reporting.of_results.gather import Gathered, Source
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
    row: dict[str, Any]
    """its row of the summary"""

    @property
    def settings(self) -> Settings:
        return self.line.run.settings

    @property
    def seed(self) -> Any:
        return self.settings.get("run.seed", self.settings.get("seed"))

    @property
    def own_records(self) -> bool:
        """Whether its noise is its own: settings on a user's records share none (docs/privacy.md).

        Records that are not where they were are such.
        """
        try:
            return bool(self.line.run.cell.problem.files())
        except DpexpError:
            return True

    def replicates(self) -> np.ndarray | None:
        """Values by replicate, where the trajectories are stored."""
        try:
            data = cell_of(self.line.run.generation, str(self.line.run.row["cell_id"]))
        except OnlySummaries:
            return None
        values: np.ndarray = data.values[
            data.estimators.index(self.line.estimator), -1, data.metrics.index(self.metric)
        ]
        return values


class Pair(NamedTuple):
    """Two of them that are compared, and the words for what they share and for what tells them apart."""

    setting: str
    a: Final
    b: Final
    name_a: str = "A"
    name_b: str = "B"


def finals(gathered: Gathered, source: Source) -> list[Final]:
    """The last step of everything in one result."""
    return [
        Final(line, metric, {str(k): v for k, v in line.rows.iloc[-1].items()})
        for metric in gathered.summary.metric.unique()
        for line in lines_of(gathered, metric)
        if line.run.source == source
    ]


def metrics_of(sides: Sequence[Sequence[Final]], wanted: str | None = None) -> list[str]:
    """The metrics that are compared. Raises UsageError where one is asked for that not all sides have."""
    known = [dict.fromkeys(final.metric for final in side) for side in sides]
    shared = [name for name in known[0] if all(name in side for side in known)]
    if wanted is not None and wanted not in shared:
        raise UsageError(f"--metric {wanted}: not in {'both results' if len(sides) > 1 else 'the result'}",
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


def between_levels(gathered: Gathered, by: str) -> list[dict[str, Any]]:
    """The comparisons of all pairs of levels of one setting of a result; raises as `levels` does."""
    side = finals(gathered, gathered.sources[0])
    names = varying(run.settings for run in gathered.runs)
    return compared(levels(side, by, names, metrics_of([side]), gathered.words))


def compared(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """The comparison of every pair, of which all words hold together."""
    # Bonferroni: all words of certainty hold together with 95%
    return [_compare(pair, 1 - (1 - CI_LEVEL) / len(pairs)) for pair in pairs]


def _compare(pair: Pair, level: float) -> dict[str, Any]:
    """The difference of one pair, its 95% interval, and whether the interval at `level` leaves out 0."""
    a, b = pair.a.row, pair.b.row
    one, other = pair.a.replicates(), pair.b.replicates()
    # settings on a user's own records share no noise (docs/privacy.md)
    shared = pair.a.seed == pair.b.seed and not (pair.a.own_records or pair.b.own_records)
    same_run = pair.a.line.run == pair.b.line.run  # two estimators of one run
    count = 0 if one is None or other is None else min(len(one), len(other))
    paired = (shared or same_run) and count > 1
    if paired and one is not None and other is not None:
        one, other = one[:count], other[:count]
        at = paired_difference(one, other)
        difference, ratio, ci = at.difference, at.ratio, [at.ci_lo, at.ci_hi]
        _, low, high = map(float, interval(one - other, level))
    else:
        difference = a["mean"] - b["mean"]
        ratio = a["mean"] / b["mean"] if b["mean"] else math.nan
        # unpaired: both errors add up, with the degrees of freedom of the smaller sample
        degrees, se = int(min(a["n"], b["n"])) - 1, math.hypot(a["se"], b["se"])
        half, wide = (t_quantile(degrees, at) * se if degrees > 0 else math.inf for at in (CI_LEVEL, level))
        ci, low, high = [difference - half, difference + half], difference - wide, difference + wide
    return {
        "setting": pair.setting,
        "estimator": pair.a.line.estimator if pair.a.line.estimator == pair.b.line.estimator else "",
        "metric": pair.a.metric,
        "level_a": pair.name_a,
        "level_b": pair.name_b,
        "a": a["mean"],
        "b": b["mean"],
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
