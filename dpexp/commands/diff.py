"""`dpexp diff`: final errors of two results, cell by cell, or of the levels of one setting within a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

from dpexp.config.cell_settings import Words, varying
from dpexp.core.errors import UsageError
from dpexp.core.text import counted, guess
from dpexp.reporting.accuracies import error_of_records
from dpexp.reporting.results.compared import Final, Pair, certainty, compared, finals, levels, metrics_of, shown
from dpexp.reporting.results.gather import FROM, Source, gather
from dpexp.reporting.text_table import fitting_columns, terminal_width
from dpexp.store import load_generation
from dpexp.store.folder import experiments_in, holds_results


class Compared(NamedTuple):
    """A comparison: for programs, as text, and 3 where a result is not current, else 0."""

    document: dict[str, Any]
    text: str
    exit_code: int


def diff(
    a: Path,
    b: Path | None = None,
    metrics: Sequence[str] = (),
    by: str = "",
    only: str | None = None,
    results: Path = Path("results"),
) -> Compared:
    """Compare A with B, setting by setting, or within A the levels of the setting `by`, pair by pair.

    Settings match that agree in what varies within A or B. A comparison is paired where random numbers are shared. A
    difference is significant where the interval at level 1 - 0.05 / (number of rows) excludes 0, so that all rows so
    marked hold jointly at 95% (Bonferroni). Raises UsageError for a folder without results or an unknown name,
    ResultsMissing for a folder without a result that is current.
    """
    if bool(by) == (b is not None):
        raise UsageError("diff compares two results, or the levels of one setting", "dpexp diff A B, or A --by NAME")
    paths = [_folder(path, results) for path in (a, b) if path is not None]
    for path in paths:
        if not holds_results(path):
            near = guess(str(path), [str(path.parent / name) for name in experiments_in(path.parent)])
            raise UsageError(f"{path} holds no results", f"{near}give folders such as results/NAME")
    # A copy under another name is often what one compares with.
    sources = [Source(path.parent, path.name, renamed=True) for path in paths]
    gathered = gather(list(dict.fromkeys(sources)), only)
    metrics = metrics_of(gathered, metrics)
    sides = [finals(gathered, source, metrics) for source in sources]
    settings = [[run.settings for run in gathered.runs if run.source == source] for source in sources]
    words = gathered.words
    # What varies within a result is a setting; what differs between both is said in one line.
    names = list(dict.fromkeys(name for side in settings for name in varying(side)))
    lines = [
        f"means at the last step; {', '.join(f'{side} = {path}' for side, path in zip('AB', paths, strict=False))}"
    ]
    stale = dict(_not_current(paths))
    lines += [f"{side} is not what today's code gives: {why}" for side, (why, _) in stale.items()]
    changes: dict[str, tuple[str, str]] = {}
    if by:
        pairs = levels(sides[0], by, names, metrics, words)
    else:
        pairs, left = _matched(paths, sides, names, metrics, words)
        changes = {k: (words.value(k, x), words.value(k, y)) for k, (x, y) in _changes(settings, names).items()}
    if changes:
        lines.append("A and B differ in " + "; ".join(f"{k}: {x} / {y}" for k, (x, y) in changes.items()))
    rows = compared(pairs)
    said = certainty(len(rows))
    head, words_of_rows = shown(rows, by)
    identical = all(row["identical"] for row in rows)
    if identical:
        what = (
            f"{counted(len(rows), 'comparison')}: {', '.join(metrics)} at every step, and every replicate at the last"
        )
        lines.append(f"{'The levels of ' + by if by else 'A and B'} are identical ({what} where it is stored).")
    else:
        lines += ["", fitting_columns(words_of_rows, head), ""]
        lines.append(fill(said, width) if (width := terminal_width()) else said)
    if "test_accuracy" in metrics:
        accuracies = [[one.line for one in side if one.metric == "test_accuracy"] for side in sides]
        lines += ["", *dict.fromkeys(map(error_of_records, accuracies))]
    if not by and any(left):
        lines += ["", f"{counted(left[0], 'setting')} only in A, {left[1]} only in B"]
    document = {
        "a": str(a),
        "b": None if b is None else str(b),
        "by": by or None,
        "metric": ", ".join(metrics),
        "identical": identical,
        "changes": changes,
        "not_current": {side: why for side, (why, _) in stale.items()},
        "rows": rows,
    }
    return Compared(document, "\n".join(lines), 3 if any(not kept for _, kept in stale.values()) else 0)


def _folder(path: Path, results: Path) -> Path:
    """A folder with a name; of one word also the experiment of that name in `results`."""
    if not path.exists() and len(path.parts) == 1 and holds_results(results / path):
        return results / path
    return path if path.name not in ("", "..") else path.resolve()


def _not_current(paths: Sequence[Path]) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Which sides are not current, why, and whether each is a copy of another name that was kept to be compared."""
    for side, path in zip("AB", paths, strict=False):
        generation = load_generation(path.parent, path.name, renamed=True, partial=True)
        if why := generation.why_stale():
            yield side, (why, generation.manifest["experiment"] != path.name)


def _changes(settings: Sequence[Any], names: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """What differs between A and B as wholes."""
    one, other = ({k: v for k, v in side[0].items() if k not in (*names, FROM)} for side in settings)
    return {k: (one.get(k), other.get(k)) for k in one | other if one.get(k) != other.get(k)}


def _by_key(side: Sequence[Final], names: Sequence[str]) -> dict[tuple[Any, ...], Final]:
    """The last steps by what tells them apart: the values of these names, the estimator and the metric."""
    found = {}
    for final in side:
        # None stands for a parameter that this cell does not have.
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
    # Settings are counted, and not their estimators and metrics.
    alone = [len({key[:-2] for key in side}) - len({key[:-2] for key in matched}) for side in (one, other)]
    return pairs, alone
