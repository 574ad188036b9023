"""Final errors within results compared pair by pair, with intervals, paired where random numbers are shared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np

from dpexp.config.cell_settings import Words
from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.reporting.results.choose import ESTIMATOR
from dpexp.reporting.results.gather import Gathered, Line
from dpexp.reporting.results.labels import COEFFICIENTS
from dpexp.reporting.text_table import Column, Content, by_column
from dpexp.store.reading import OnlySummaries
from dpexp.store.stats import CI_LEVEL, interval, paired_difference
from dpexp.theory.slopes import t_quantile

MAIN = "param_distance_sq"
"""compared where all cells have it, else every metric that all have"""


class LinePair(NamedTuple):
    """Two lines, and the words for what they share and for what distinguishes them."""

    setting: str
    a: Line
    b: Line
    name_a: str = "A"
    name_b: str = "B"


def metrics_of(gathered: Gathered, names: Sequence[str] = ()) -> list[str]:
    """The metrics that are compared. Raises UsageError for one that not all cells have."""
    several = [gathered.coordinates if gathered.metric(name) == COEFFICIENTS else [name] for name in names]
    shared = gathered.metrics
    return list(chain(*several)) or ([MAIN] if MAIN in shared else shared)


def levels(lines: Sequence[Line], by: str, names: Sequence[str], words: Words) -> list[LinePair]:
    """All pairs of levels of one setting, everything else the same. Raises UsageError where there are none."""
    # estimators of one run are levels too
    known = [*names, ESTIMATOR]
    by = by if by in known else by.rpartition(".")[2]
    if by not in known:
        hint = f"{guess(by, known)}what varies: {', '.join(known)}"
        raise UsageError(f"--by {by}: it does not vary within the result", hint)
    others = [name for name in known if name != by]
    # a parameter that only some levels have, such as the clipping bound of one algorithm, does not tell settings apart
    partial = [name for name in others if any(line.settings.get(name) is None for line in lines)]
    shared = [name for name in others if name not in partial]
    # of those, one that follows from the level needs no word
    named = [name for name in partial if len({line.settings.get(name) for line in lines} - {None}) > 1]
    named = [name for name in (*shared, *named) if name != ESTIMATOR]
    groups: dict[tuple[str, ...], list[tuple[Line, dict[str, str]]]] = {}
    for line in lines:
        values = {name: words.value(name, line.settings.get(name)) for name in known}
        groups.setdefault((line.metric, *(values[name] for name in shared)), []).append((line, values))
    pairs = []
    for group in groups.values():
        for (a, own), (b, other) in combinations(group, 2):
            if own[by] != other[by] and all("-" in (own[n], other[n]) or own[n] == other[n] for n in partial):
                settings = {**a.settings, **{name: v for name, v in b.settings.items() if a.settings.get(name) is None}}
                pairs.append(LinePair(words.setting(named, settings), a, b, own[by], other[by]))
    if not pairs:
        also = f"; {', '.join(others)} differ too" if others else ""
        raise UsageError(f"--by {by}: no two settings differ only in {by}{also}", f"what varies: {', '.join(known)}")
    return pairs


def compared(pairs: Sequence[LinePair]) -> list[dict[str, Any]]:
    """The comparison of every pair, whose words all hold together."""
    replicates = cache(_replicates)  # a file is read once for all pairs that its line is in
    level = 1 - (1 - CI_LEVEL) / len(pairs)  # Bonferroni: all rows that are called significant are so with 95%
    return [_compare(pair, level, replicates(pair.a), replicates(pair.b)) for pair in pairs]


def _replicates(line: Line) -> np.ndarray:
    """Values by replicate at the last step; empty where the trajectories are not stored."""
    with suppress(OnlySummaries):
        # a copy: a view would hold all steps in memory
        return line.replicate_values()[-1].copy()
    return np.empty(0)


def _stream(line: Line) -> Any:
    """The seed of its random numbers; None on a user's records, where noise is secret (docs/privacy.md)."""
    return None if line.run.own_records else line.settings.get("run.seed", line.settings.get("seed"))


def _compare(pair: LinePair, level: float, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """The difference of one pair, its 95% interval, and whether the interval at `level` excludes 0.

    Pairs are identical if all their stored numbers agree bit for bit: summaries at every step, and final replicates.
    """
    a, b, first = pair.a, pair.b, ""
    divergence = f", {most} diverged" if (most := max(a.diverged, b.diverged)) else ""
    (mean_a, se_a, *_), (mean_b, se_b, *_) = a.last, b.last
    x, y = x[: len(y)], y[: len(x)]
    identical = a.rows.equals(b.rows) and np.array_equal(x, y, equal_nan=True)
    paired = len(x) > 1 and (a.run is b.run or _stream(a) == _stream(b) is not None)
    if paired:
        at = paired_difference(x, y)
        difference, ratio, ends = at.difference, at.ratio, [at.ci_lo, at.ci_hi]
        _, low, high = map(float, interval(x - y, level))
        if a.replicates != b.replicates:  # all numbers of the row are of the replicates that both have
            mean_a, mean_b, first = float(x.mean()), float(y.mean()), f", first {len(x)}"
    else:
        difference, ratio = mean_a - mean_b, mean_a / mean_b if mean_b else math.nan
        # unpaired: both errors add up, with the degrees of freedom of the smaller sample
        degrees, se = min(a.replicates, b.replicates) - 1, math.hypot(se_a, se_b)
        half, wide = (t_quantile(degrees, at) * se if degrees > 0 else math.inf for at in (CI_LEVEL, level))
        ends, low, high = [difference - half, difference + half], difference - wide, difference + wide
    return {
        "setting": pair.setting, "estimator": a.estimator if a.estimator == b.estimator else "",
        "metric": a.metric, "level_a": pair.name_a, "level_b": pair.name_b, "a": mean_a, "b": mean_b,
        "difference": difference, "ci": ends, "ratio": ratio, "paired": paired, "identical": identical,
        "certain": low > 0 or high < 0, "how": f"{'paired' if paired else 'unpaired'}{first}{divergence}",
    }  # fmt: skip


def table_of(rows: Sequence[dict[str, Any]], by: str) -> Content:
    """The comparisons as a person reads them; levels are in place of A and B where one setting is compared."""
    columns: dict[str, Column] = {
        "setting": "{setting}", "estimator": "{estimator}", "metric": "{metric}",
        **({f"{by} A": "{level_a}", f"{by} B": "{level_b}"} if by else {}),
        "A": "{a:.4g}", "B": "{b:.4g}", "A - B": "{difference:+.3g}", "95% interval": "[{ci[0]:+.3g}, {ci[1]:+.3g}]",
        "A / B": lambda row: f"{row['ratio']:{'.3f' if abs(row['ratio']) >= 0.1 else '.2g'}}", "how": "{how}",
        "difference": lambda row: "significant" if row["certain"] else "-",
    }  # fmt: skip
    if not any(row["setting"] for row in rows):  # nothing varies beside what is compared
        del columns["setting"]
    level = f"the {100 * (1 - (1 - CI_LEVEL) / len(rows)):.4g}% interval excludes 0"
    note = f"significant: {level}, so all rows so marked hold jointly at 95% (Bonferroni)"
    return by_column(columns, rows, note)
