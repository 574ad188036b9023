"""Two neighbouring files: all that leaves runs on either of them, from the reading of the file to what is printed.

A run is what the command itself does, with noise of its own, and its *leaves* are everything that it hands out, by
name: numbers, arrays of parameters, words.

(a) What a leaf says with noise is held against the claim for all of them together, by the tests of every audit.
(b) What says the same in all runs of a file, and another thing of the other file, has no noise: it tells the files
apart, whatever is claimed.
(c) Before any noise the encoded records of the files may differ in no more records than the files do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.core.terminal import tell
from dpexp.core.text import counted
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.audit.claim import claim_of
from dpexp.reporting.audit.auditable import Attained, Look, Seen, coins

FIRST = 300
"""runs on each file that choose what is looked at, and show what never changes; no test counts them"""
APART = 2**40
"""added to the seed of these"""
MOST = 12
"""numbers that are looked at together: those whose means differ most by the first runs"""
Leaves = Mapping[str, Any]


class TwoFiles:
    """An audit of what leaves runs on two files; the canary is that it was the second one."""

    attained: Sequence[Attained] = ()

    def __init__(
        self, algorithm: str, label: str, stated: Analysis, relation: str, runs: tuple[Callable[[int], Leaves], ...]
    ) -> None:
        self.algorithm, self.label, self._runs = algorithm, label, runs
        self.size = f"the runs themselves, {counted(FIRST, 'run')} on each file beforehand"
        claim = claim_of(stated)
        self.looks = [Look("all that leaves", f"neighbours: {relation}", "joint ratio", claim, stated)]

    @cached_property
    def first(self) -> tuple[list[Leaves], list[Leaves]]:
        found: tuple[list[Leaves], list[Leaves]] = ([], [])
        for k in range(FIRST):
            tell(f"{self.label}: first run {k + 1} of {FIRST}")
            for world, seen in enumerate(found):
                seen.append(self._runs[world](APART + 2 * k + world))
        return found

    @cached_property
    def columns(self) -> list[Column]:
        """What changes from run to run, and most between the files; none where all is the same.

        An array is looked at along its own direction and along that of the most telling array of its shape.
        """
        # (a): what hides one array may cancel in a sum of two, but only where both are seen along the same direction
        values = {name: [[leaves.get(name) for leaves in seen] for seen in self.first] for name in _names(self.first)}
        own = sorted((c for name, v in values.items() for c in _column(name, v)), key=_least_telling_last)
        shared = {c.direction.shape: c.direction for c in reversed(own) if c.direction is not None}
        others = [
            c
            for name, _, _, direction in own
            if direction is not None and direction is not shared[direction.shape]
            for c in _column(name, values[name], shared[direction.shape])
        ]
        return sorted([*own, *others], key=_least_telling_last)[:MOST]

    def observe(self, seed: int, replicates: range) -> Sequence[Seen]:
        canary = coins(seed, replicates)
        found = np.empty((len(replicates), len(self.columns)))
        for k, r in enumerate(replicates):
            leaves = self._runs[int(canary[k])]((seed << 24) + r)
            found[k] = [column.number(leaves.get(column.name)) for column in self.columns]
        return [Seen(found, canary)]


class Column(NamedTuple):
    """How a leaf becomes a number."""

    name: str
    telling: float
    """how many standard deviations apart its means are, by the first runs"""
    number: Callable[[Any], float]
    direction: np.ndarray | None
    """what an array is projected on"""


def _least_telling_last(column: Column) -> float:
    return -column.telling


def _column(name: str, values: list[list[Any]], direction: np.ndarray | None = None) -> Iterator[Column]:
    """A number is itself, an array its projection, and else whether it is as at first; `values` are those of each file.

    Without a `direction`, an array is projected on what its means differ by, over the variance of each entry.
    """
    every = [value for seen in values for value in seen]
    number: Callable[[Any], float]
    if _are_arrays(every):
        if direction is None:
            # that tells the files apart best if entries are normal and independent
            zero, one = (np.array(seen, float) for seen in values)
            spread = zero.var(axis=0) + one.var(axis=0)
            direction = np.divide(one.mean(0) - zero.mean(0), spread, out=np.zeros(spread.shape), where=spread > 0)
        number = lambda value: float(np.sum(value * direction))  # noqa: E731
    elif all(_is_number(value) for value in every):
        number = lambda value: float(value) if _is_number(value) else 0.0  # noqa: E731
    else:
        usual = repr(every[0])
        number = lambda value: float(repr(value) == usual)  # noqa: E731
    # what never changes is no column: of that `bare` speaks
    a, b = (np.array([number(value) for value in seen]) for seen in values)
    if a.std() + b.std() > 0:
        yield Column(name, abs(a.mean() - b.mean()) / float(np.sqrt(a.var() + b.var())), number, direction)


def _are_arrays(values: Sequence[Any]) -> bool:
    """Whether all are arrays of one shape."""
    shapes = {value.shape if isinstance(value, np.ndarray) else None for value in values}
    return len(shapes) == 1 and None not in shapes


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def _names(first: tuple[list[Leaves], list[Leaves]]) -> Iterable[str]:
    return dict.fromkeys(name for seen in first for leaves in seen for name in leaves)


def bare(first: tuple[list[Leaves], list[Leaves]]) -> Iterator[str]:
    """Leaves that say one thing in all runs of one file, and another in all runs of the other."""
    for name in _names(first):
        said = [[leaves.get(name) for leaves in seen] for seen in first]
        if _are_arrays([value for seen in said for value in seen]):
            zero, one = (np.array(seen) for seen in said)
            # (b), entry by entry: noise on the others hides none of them
            still = (np.ptp(zero, axis=0) == 0) & (np.ptp(one, axis=0) == 0)
            if np.any(still & (zero[0] != one[0])):
                yield name
        elif all(len(set(map(repr, seen))) == 1 for seen in said) and repr(said[0][0]) != repr(said[1][0]):
            yield f"{name}: {_short(said[0][0])} or {_short(said[1][0])}"


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of a document, by the way to them."""
    inner: Any = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield name, value
    else:
        for key, held in inner:
            yield from flat(held, f"{name}.{key}" if name else str(key))


def rows_of(path: Path) -> Counter[tuple[str, ...]]:
    """The rows of a table as text, each with how often it stands there."""
    # and not what a run reads with, whose mistakes would be made again here
    import pandas as pd

    if path.suffix == ".parquet":
        frame = pd.read_parquet(path).astype(str)
    elif path.is_file():
        try:
            frame = pd.read_csv(path, dtype=str, keep_default_na=False, header=None)
        # of pandas, for rows of several lengths, and for encodings
        except ValueError as error:
            raise UsageError(f"{path} cannot be read: {error}") from None
    else:
        raise UsageError(f"{path}: no such file", "--data names two tables, csv or parquet")
    return Counter(frame.itertuples(index=False, name=None))


def other_records(one: Sequence[tuple[Any, ...]], other: Sequence[tuple[Any, ...]], rows: int) -> list[str]:
    """What is wrong with encoded records (part, values ...) of two files that differ in `rows`; empty where nothing is.

    Others keep their places, but where a record goes to another part.
    """
    # (c), as bags of records, and then their places, which batches may follow
    gone, new = Counter(one) - Counter(other), Counter(other) - Counter(one)
    most = max(new.total(), gone.total())
    if most > rows:
        return [f"records before noise: {most:,} are read otherwise or are in another part, where {rows} differ"]
    alike = True
    if not gone or not new:
        few, many = sorted((one, other), key=len)
        # every record is looked for behind the one before, in what is left of the others
        rest = iter(many)
        alike = all(record in rest for record in few)
    elif [record[0] for record in one] == [record[0] for record in other]:
        alike = sum(a != b for a, b in zip(one, other, strict=True)) <= rows
    return [] if alike else ["records before noise: those that did not change stand in other places"]


def neighbours(paths: Sequence[Path], relation: str, unit: str | None = None) -> int:
    """In how many rows two files differ: one, or all rows of one `unit`. Raises UsageError unless they are neighbours.

    `unit` is the column of persons; its rows all differ in one of its values.
    """
    one, other = (rows_of(path) for path in paths)
    gone, new = (one - other).total(), (other - one).total()
    right = max(gone, new) == 1 if unit is None else max(gone, new) > 0
    if relation == "replace-one":
        right &= gone == new or unit is not None
    else:
        right &= min(gone, new) == 0
    if not right:
        what = f"{counted(gone, 'row')} of the first are not in the second, and {new} of the second not in the first"
        hint = "one row more" if relation == "add-remove" else "one row in the place of another"
        raise UsageError(f"{paths[0]} and {paths[1]} are no neighbours ({relation}): {what}", f"neighbours: {hint}")
    return max(gone, new)
