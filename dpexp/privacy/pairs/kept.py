"""Pairs that searches found, kept for later statements: a folder of the user's, one file a mechanism.

The folder is `pairs` in DPEXP_CACHE, or in the user's cache folder; DPEXP_CACHE=off keeps nothing. A file holds the
mechanism in noise units, its pairs and a hash. A file that is damaged, of another mechanism, open to others, or that
holds a pair which breaks the clip is ignored. Nothing that a statement prints is read from it: the pairs are evaluated
anew, so that a wrong file can only make the bound weaker.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dpexp.core.digests import digest
from dpexp.core.files import Damaged, cache_folder, read_bytes_sealed, write_bytes_sealed
from dpexp.privacy.exact.projected_run import ProjectedRun
from dpexp.privacy.pairs.projected import Pair

VERSION = 1
MOST_PAIRS, MOST_KNOTS = 24, 200
"""of a file: more than a search leaves"""


def folder() -> Path | None:
    """Where pairs are kept, None where that is turned off."""
    return cache_folder("pairs", "pairs")


def decade(delta: float) -> int:
    """The exponent of the nearest power of ten."""
    return round(math.log10(delta))


Known = tuple[Pair, float]
"""a pair with the epsilon that was certified at its own delta"""


def one_a_decade(pairs: Iterable[Known]) -> list[Known]:
    """Of pairs with what they attain, the best of each decade of the delta at which they were searched for."""
    best: dict[int, Known] = {}
    for pair, eps in pairs:
        held = best.get(decade(pair.delta))
        if held is None or eps > held[1]:
            best[decade(pair.delta)] = (pair, eps)
    return [best[k] for k in sorted(best)]


def document_of(pair: Pair) -> dict[str, Any]:
    """Plain numbers; drifts to five digits, which keep the clip, since rounding does not leave [-1, 1]."""
    found = asdict(pair)
    return found | {key: [round(v, 5) for v in found[key]] for key in ("knots", "values")} | {
        "start": round(pair.start, 5)
    }  # fmt: skip


def pair_of(document: Any, run: ProjectedRun) -> Pair:
    """The pair of a document. Raises ValueError, TypeError or KeyError for what is no pair of this mechanism."""
    knots, values = (tuple(float(v) for v in document[key]) for key in ("knots", "values"))
    numbers = [float(document[key]) for key in ("start", "record", "delta")]
    pair = Pair(knots, values, *numbers)
    if len(knots) > MOST_KNOTS or not all(map(math.isfinite, (*knots, *values, *numbers))) or not 0 < pair.delta < 1:
        raise ValueError("no such pair")
    pair.updates(run)
    return pair


def known_of(document: Any, run: ProjectedRun) -> Known:
    """The same with its certified epsilon, which later statements are rounded down by, and which raises none."""
    eps = float(document["eps"])
    if not 0 <= eps < math.inf:
        raise ValueError("no such epsilon")
    return pair_of(document, run), eps


def read(run: ProjectedRun, place: Path | None) -> list[Known]:
    """The pairs that are kept for a mechanism; none where there is no file that can be used."""
    if place is None:
        return []
    try:
        found = json.loads(read_bytes_sealed(_file(run, place), private=True))
        if (found["version"], found["mechanism"]) != (VERSION, run.document()) or len(found["pairs"]) > MOST_PAIRS:
            return []
        return [known_of(entry, run) for entry in found["pairs"]]
    except (FileNotFoundError, Damaged, ValueError, TypeError, KeyError, RecursionError):
        return []


def write(run: ProjectedRun, pairs: Sequence[Known], place: Path | None) -> bool:
    """Keeps these pairs and no others. False where that cannot be done."""
    if place is None:
        return False
    entries = [document_of(pair) | {"eps": eps} for pair, eps in pairs[:MOST_PAIRS]]
    content = {"version": VERSION, "mechanism": run.document(), "pairs": entries}
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_bytes_sealed(_file(run, place), json.dumps(content).encode(), private=True)
        return True
    return False


def _file(run: ProjectedRun, place: Path) -> Path:
    return place / f"{digest(run.document())}.json"
