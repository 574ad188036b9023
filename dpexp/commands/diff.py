"""`dpexp diff`: final errors of two results, cell by cell, or of the levels of one setting within a result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from dpexp.config.messages import suggest
from dpexp.config.settings import Settings, Words, varying
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.text import counted, guess
from dpexp.reporting.accuracies import said_of_records
from dpexp.reporting.of_results.gather import FROM, Gathered, Source, gather
from dpexp.reporting.of_results.lines import Line, lines_of
from dpexp.reporting.terminal_tables import fitting_columns, terminal_width
from dpexp.store import cell_of, load_generation
from dpexp.store.folder import experiments_in, holds_results
from dpexp.store.reading import OnlySummaries
from dpexp.store.staleness import why_stale
from dpexp.store.stats import CI_LEVEL, interval, paired_difference, t_quantile

MAIN = "param_distance_sq"
"""compared where both have it, else every metric of both"""


class Compared(NamedTuple):
    """A comparison: for programs, as text, and 3 where a result is not current, else 0."""

    document: dict[str, Any]
    text: str
    exit_code: int


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


def diff(a: Path, b: Path | None = None, metric: str | None = None, by: str = "", only: str | None = None) -> Compared:
    """Compare A with B, setting by setting, or within A the levels of the setting `by`, pair by pair.

    Settings match that agree in what varies within A or B. A comparison is paired where random numbers are shared. A
    difference is called certain where the interval at level 1 - 0.05 / (number of rows) leaves out 0, so that all these
    words hold together with 95% (Bonferroni). Raises UsageError for a folder without results or an unknown name,
    ResultsMissing for an incomplete folder.
    """
    if bool(by) == (b is not None):
        raise UsageError("diff compares two results, or the levels of one setting", "dpexp diff A B, or A --by NAME")
    paths = [_folder(path) for path in (a, b) if path is not None]
    for path in paths:
        if not holds_results(path):
            near = guess(str(path), [str(path.parent / name) for name in experiments_in(path.parent)])
            raise UsageError(f"{path} holds no results", f"{near}give folders such as results/NAME")
    sources = [Source(path.parent, path.name, renamed=True) for path in paths]
    gathered = gather(list(dict.fromkeys(sources)), only)
    sides = [_finals(gathered, source) for source in sources]
    settings = [[run.settings for run in gathered.runs if run.source == source] for source in sources]
    words = gathered.words
    names = list(dict.fromkeys(name for side in settings for name in varying(side)))
    metrics = _metrics(sides, metric)
    lines = [
        f"means at the last step; {', '.join(f'{side} = {path}' for side, path in zip('AB', paths, strict=False))}"
    ]
    stale = dict(_not_current(paths))
    lines += [f"{side} is not what today's code, data and config give: {why}" for side, (why, _) in stale.items()]
    changes: dict[str, tuple[str, str]] = {}
    if by:
        pairs = _levels(sides[0], by, names, metrics, words)
    else:
        pairs, left = _matched(paths, sides, names, metrics, words)
        changes = {k: (words.value(k, x), words.value(k, y)) for k, (x, y) in _changes(settings, names).items()}
    if changes:
        lines.append("A and B differ in " + "; ".join(f"{k}: {x} / {y}" for k, (x, y) in changes.items()))
    rows = [_compare(pair, 1 - (1 - CI_LEVEL) / len(pairs)) for pair in pairs]
    said = certainty(len(rows))
    head, words_of_rows = shown(rows, by)
    lines += ["", fitting_columns(words_of_rows, head), "", fill(said, width) if (width := terminal_width()) else said]
    if "test_accuracy" in metrics:
        accuracies = [[one.line for one in side if one.metric == "test_accuracy"] for side in sides]
        lines += ["", *dict.fromkeys(map(said_of_records, accuracies))]
    if not by and any(left):
        lines += ["", f"{counted(left[0], 'setting')} only in A, {left[1]} only in B"]
    document = {
        "a": str(a),
        "b": None if b is None else str(b),
        "by": by or None,
        "metric": ", ".join(metrics),
        "changes": changes,
        "not_current": {side: why for side, (why, _) in stale.items()},
        "rows": rows,
    }
    return Compared(document, "\n".join(lines), 3 if any(not kept for _, kept in stale.values()) else 0)


def certainty(rows: int) -> str:
    """What the word certain means beside so many comparisons."""
    level = 100 * (1 - (1 - CI_LEVEL) / rows)
    return (
        f"certain: the interval at level {level:.4g}% leaves out 0; all these words hold together with 95% (Bonferroni)"
    )


def _folder(path: Path) -> Path:
    """A folder with a name; of one word also the experiment of that name in `results`."""
    if not path.exists() and len(path.parts) == 1 and holds_results(Path("results") / path):
        return Path("results") / path
    return path if path.name not in ("", "..") else path.resolve()


def _finals(gathered: Gathered, source: Source) -> list[Final]:
    """The last step of everything in one result."""
    return [
        Final(line, metric, {str(k): v for k, v in line.rows.iloc[-1].items()})
        for metric in gathered.summary.metric.unique()
        for line in lines_of(gathered, metric)
        if line.run.source == source
    ]


def _not_current(paths: Sequence[Path]) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Which sides are not current, why, and whether each is a copy of another name that was kept to be compared."""
    for side, path in zip("AB", paths, strict=False):
        generation = load_generation(path.parent, path.name, renamed=True)
        if why := why_stale(generation):
            yield side, (why, generation.manifest["experiment"] != path.name)


def _changes(settings: Sequence[Any], names: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """What differs between A and B as wholes."""
    one, other = ({k: v for k, v in side[0].items() if k not in (*names, FROM)} for side in settings)
    return {k: (one.get(k), other.get(k)) for k in one | other if one.get(k) != other.get(k)}


def _metrics(sides: Sequence[Sequence[Final]], wanted: str | None) -> list[str]:
    known = [dict.fromkeys(final.metric for final in side) for side in sides]
    shared = [name for name in known[0] if all(name in side for side in known)]
    if wanted is not None and wanted not in shared:
        raise UsageError(f"--metric {wanted}: not in {'both results' if len(sides) > 1 else 'the result'}",
                         suggest(wanted, shared))  # fmt: skip
    return [wanted] if wanted else [MAIN] if MAIN in shared else shared


def _by_key(side: Sequence[Final], names: Sequence[str]) -> dict[tuple[Any, ...], Final]:
    """The last steps by what tells them apart: the values of these names, the estimator and the metric."""
    found = {}
    for final in side:
        key = (*(final.settings.get(name) for name in names), final.line.estimator, final.metric)
        assert key not in found, f"{final.line.run.source.path}: two cells of one setting"
        found[key] = final
    return found


def _matched(
    paths: Sequence[Path], sides: Sequence[Sequence[Final]], names: Sequence[str], metrics: Sequence[str], words: Words
) -> tuple[list[Pair], list[int]]:
    """Settings that A and B have in common, and how many each of them has alone."""
    one, other = (_by_key(side, names) for side in sides)
    matched = [key for key in one if key in other]
    if not matched:
        by = f"settings are matched by {', '.join(names)}" if names else "they have no metric in common"
        raise UsageError(f"{paths[0]} and {paths[1]} have no setting in common", by)
    pairs = [
        Pair(words.setting(names, dict(zip(names, key, strict=False))), one[key], other[key])
        for metric in metrics
        for key in matched
        if key[-1] == metric
    ]
    alone = [len({key[:-2] for key in side}) - len({key[:-2] for key in matched}) for side in (one, other)]
    return pairs, alone


def _levels(side: Sequence[Final], by: str, names: Sequence[str], metrics: Sequence[str], words: Words) -> list[Pair]:
    """All pairs of levels of one setting, everything else the same. Raises UsageError where there are none."""
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


def _compare(pair: Pair, level: float) -> dict[str, Any]:
    """The difference of one pair, its 95% interval, and whether the interval at `level` leaves out 0."""
    a, b = pair.a.row, pair.b.row
    one, other = pair.a.replicates(), pair.b.replicates()
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
