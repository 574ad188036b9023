"""`dpexp diff`: final errors of two results, cell by cell, or of the levels of one setting within a result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from dpexp.commands.command_answer import RESULTS, Answer, Pathname, names_in
from dpexp.commands.figure_names import result_folder
from dpexp.config.cell_settings import Words, varying
from dpexp.core.errors import UsageError
from dpexp.core.text import counted
from dpexp.reporting.results.choose import FROM
from dpexp.reporting.results.compared import LinePair, compared, levels, metrics_of, table_of
from dpexp.reporting.results.gather import Line, gather, lines_of
from dpexp.reporting.text_table import folded, terminal_width
from dpexp.store.reading import load_generation

ACCURACIES = (
    "Intervals of accuracies are over replicates on one split. The held-out records are a sample too: n other ones "
    "would move an accuracy p by up to 1.96 sqrt(p (1 - p) / n)."
)


def diff(
    a: Pathname, b: Pathname | None = None, *, by: str = "", only: str | None = None,
    metric: str | Sequence[str] = (), results: Pathname = RESULTS,
) -> Answer:  # fmt: skip
    """Compare A with B, setting by setting, or within A the levels of the setting `by`, pair by pair.

    Settings match that agree in what varies within A or B. A comparison is paired where random numbers are shared. A
    difference is significant where the interval at level 1 - 0.05 / (number of rows) excludes 0, so that all rows so
    marked hold jointly at 95% (Bonferroni). `.frame()` has a row for each comparison; the exit code is 3 where a result
    is not current. Raises UsageError for a folder without results or an unknown name, ResultsMissing for a folder
    without a result that is current.
    """
    if bool(by) == (b is not None):
        raise UsageError("diff compares two results, or the levels of one setting", "dpexp diff A B, or A --by NAME")
    paths = [result_folder(Path(path), Path(results)) for path in (a, b) if path is not None]
    # A copy under another name is often what one compares with.
    gathered = gather(list(dict.fromkeys(paths)), only, renamed=True)
    metrics, words = metrics_of(gathered, names_in(metric)), gathered.words
    lines_of_all = [line for metric in metrics for line in lines_of(gathered, metric)]
    sides = [[line for line in lines_of_all if line.run.folder == path] for path in paths]
    settings = [[run.settings for run in gathered.runs if run.folder == path] for path in paths]
    # What varies within a result is a setting; what differs between both is written in one line.
    names = list(dict.fromkeys(name for side in settings for name in varying(side)))
    lines = [
        "means at the last step; " + ", ".join(f"{side} = {path}" for side, path in zip("AB", paths, strict=False))
    ]
    stale, code, changes = dict[str, str](), 0, dict[str, tuple[str, str]]()
    for side, path in zip("AB", paths, strict=False):
        generation = load_generation(path.parent, path.name, renamed=True, partial=True)
        if reason := generation.why_stale():
            stale[side] = reason
            lines.append(f"{side} is not what today's code gives: {reason}")
            # a copy under another name was kept to be compared
            code = 3 if generation.manifest["experiment"] == path.name else code
    if by:
        pairs, last = levels(sides[0], by, names, words), ""
    else:
        pairs, last = _matched(paths, sides, names, metrics, words)
        first, second = ({k: v for k, v in side[0].items() if k not in (*names, FROM)} for side in settings)
        for name in first | second:
            if first.get(name) != second.get(name):
                changes[name] = words.value(name, first.get(name)), words.value(name, second.get(name))
    if changes:
        lines.append("A and B differ in " + "; ".join(f"{name}: {x} / {y}" for name, (x, y) in changes.items()))
    rows = compared(pairs)
    identical = all(row["identical"] for row in rows)
    if identical:
        extent = f"{', '.join(metrics)} at every step, and every replicate at the last"
        lines.append(f"{'The levels of ' + by if by else 'A and B'} are identical "
                     f"({counted(len(rows), 'comparison')}: {extent} where it is stored).")  # fmt: skip
    else:
        table = table_of(rows, by)
        lines += ["", folded(table.head, table.rows), "", fill(table.note, terminal_width() or 10_000)]
    if "test_accuracy" in metrics:
        lines += ["", ACCURACIES]
    document = {
        "a": str(a), "b": None if b is None else str(b), "by": by or None, "metric": ", ".join(metrics),
        "identical": identical, "changes": changes, "not_current": stale, "rows": rows,
    }  # fmt: skip
    return Answer("\n".join([*lines, *(["", last] if last else [])]), document, code)


def _matched(
    paths: Sequence[Path], sides: Sequence[Sequence[Line]], names: Sequence[str], metrics: Sequence[str], words: Words
) -> tuple[list[LinePair], str]:
    """Settings that A and B have in common, and how many each of them has alone, in words."""
    # by the values of these names (None for a parameter that a cell does not have), the estimator and the metric
    cells: list[dict[tuple[Any, ...], Line]] = [
        {(*map(line.settings.get, names), line.estimator, line.metric): line for line in side} for side in sides
    ]
    assert [*map(len, cells)] == [*map(len, sides)], "two cells of one setting"
    common = [key for metric in metrics for key in cells[0] if key in cells[1] and key[-1] == metric]
    if not common:
        by = f"settings are matched by {', '.join(names)}" if names else "they have no metric in common"
        raise UsageError(f"{paths[0]} and {paths[1]} have no setting in common", by)
    pairs = [
        LinePair(words.setting(names, dict(zip(names, key, strict=False))), cells[0][key], cells[1][key])
        for key in common
    ]
    # Settings are counted, and not their estimators and metrics.
    alone = [len({key[:-2] for key in side} - {key[:-2] for key in common}) for side in cells]
    return pairs, f"{counted(alone[0], 'setting')} only in A, {alone[1]} only in B" if any(alone) else ""
