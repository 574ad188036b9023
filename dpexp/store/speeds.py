"""What computing took on this machine when it was last done, beside what was estimated of it: for the next estimate.

A file beside the compiled code holds, for each kind of work, the processor's seconds over the estimated ones. The same
work on the same machine takes about the same time again, whatever runs beside it. Nothing but estimates is read from
it, so that a file which is damaged, old or someone else's makes an estimate wrong and no number.
"""

from __future__ import annotations

import contextlib
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.core.digests import digest
from dpexp.core.files import atomically, cache_folder, read_ordinary

if TYPE_CHECKING:
    from dpexp.config.cells import Cell

MOST_KEPT = 2000
"""kinds of work; the oldest are forgotten first"""
MOST_BYTES = 1_000_000
SHORT_S = 0.2
"""estimated seconds of all work of a kind that are too few to tell of more: loading compiled code takes as long"""


def kinds(cell: Cell, settings: int) -> tuple[str, str]:
    """Of the work on a cell in a pass of so many settings: the very same, and what is like it.

    Settings share random numbers, so that one of few takes several times as long as one of many.
    """
    like = f"{cell.algorithm.name} {cell.problem.name} {settings.bit_length()}"
    return digest([str(cell.algorithm.common(cell.problem)), settings], 20), like


def beside(cells: Sequence[Cell]) -> tuple[str, str]:
    """Of what a run of these cells does beside its simulation."""
    names = sorted({cell.algorithm.name for cell in cells})
    return digest(sorted(cell.cell_id for cell in cells), 20), f"beside {' '.join(names)} {len(cells).bit_length()}"


def kept() -> dict[str, float]:
    """The factors by kind; none where nothing is kept."""
    place = _file()
    if place is not None:
        with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
            found = json.loads(read_ordinary(place, MOST_BYTES))
            return {str(kind): float(factor) for kind, factor in found.items() if 0 < float(factor) < 1e6}
    return {}


def factor(known: Mapping[str, float], of: Iterable[str]) -> float:
    """By how much an estimate is wrong here, as far as is known."""
    return next((known[kind] for kind in of if kind in known), 1.0)


def learn(measured: Sequence[tuple[tuple[str, ...], float, float]]) -> float:
    """Keep what chunks took: their kinds, seconds and estimated seconds. Returns the seconds that this explains."""
    by_kind: dict[str, list[tuple[float, float]]] = {}
    for of, seconds, estimated in measured:
        for kind in of:
            by_kind.setdefault(kind, []).append((seconds, estimated))
    ratios: dict[str, float] = {}
    for kind, found in by_kind.items():
        # of kinds with little work what is beyond the estimate belongs to what is beside the work
        if sum(estimated for _, estimated in found) >= SHORT_S:
            # a chunk that had to load or compile is one among others of its kind: the median is not changed by it
            ratios[kind] = statistics.median_low(seconds / estimated for seconds, estimated in found if estimated > 0)
    _keep(ratios)
    return sum(estimated * factor(ratios, of) for of, _, estimated in measured)


def _keep(ratios: Mapping[str, float]) -> None:
    place = _file()
    if place is None or not ratios:
        return
    new = {kind: float(f"{ratio:.4g}") for kind, ratio in ratios.items()}
    every = {kind: value for kind, value in kept().items() if kind not in new} | new
    text = json.dumps(dict([*every.items()][-MOST_KEPT:]))
    with contextlib.suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomically(place, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def _file() -> Path | None:
    place = cache_folder("speeds", "speeds")
    return None if place is None else place / "factors.json"
