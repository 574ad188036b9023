"""Pairs that are known before a search: those that come with the package, and those that a user's searches found.

(a) Kept are the user's, for later statements: one file a mechanism in the folder `pairs` of DPEXP_CACHE, or in the
user's cache folder; DPEXP_CACHE=off keeps nothing. A file holds the mechanism in noise units, its pairs and a hash. A
file that is damaged, of another mechanism, open to others, or that holds a pair which breaks the clip is ignored.
Nothing that a statement prints is read from it: the pairs are evaluated anew, so that a wrong file can only make the
bound weaker.
(b) Shipped are pairs for a grid of mechanisms, from tight to loose, in `shipped.json` beside this file. Each entry has
a mechanism, the smallest valid bound on its last iterate, what is attained where the others do nothing (today's pair),
and the certified pairs of a search. The file holds the hash of its entries, so that an edit by hand is noticed.
`python -m tools.shipped_pairs` searches for what is missing, and with `recheck` certifies every stored pair again and
computes the bounds anew.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpexp.core.digests import digest
from dpexp.core.errors import UsageError
from dpexp.core.files import Damaged, own_folder, read_bytes_sealed, write_bytes_sealed
from dpexp.privacy.exact.projected_run import Pair, ProjectedRun
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.privacy.mechanisms.mechanism import Mechanism

VERSION = 1
MOST_PAIRS, MOST_KNOTS = 24, 200
"""of a file: more than a search leaves"""


def folder(made: bool = False) -> Path | None:
    """Where pairs are kept, None where that is turned off, or where it is not there and not to be `made`."""
    return own_folder("pairs", made=made)


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


STORE = Path(__file__).with_name("shipped.json")
DELTA = 1e-5
"""at which the map is drawn"""


@dataclass(frozen=True)
class Entry:
    """One mechanism of the map; epsilons at `DELTA`."""

    mechanism: Mechanism
    analysis: str
    """the smallest valid bound on the last iterate"""
    bound: float
    before: float
    """attained where the others do nothing, rounded down"""
    after: float
    """attained by the certified pairs, rounded down; never below `before`"""
    pairs: tuple[Pair, ...]
    certified: tuple[float, ...]
    """what each pair attains at its own delta"""

    @property
    def run(self) -> ProjectedRun:
        return self.mechanism.projected_run()


@lru_cache(maxsize=1)
def stored() -> tuple[Entry, ...]:
    """The map. Raises UsageError if the file was changed by hand."""
    if not STORE.exists():
        return ()
    document = json.loads(STORE.read_text(encoding="utf-8"))
    if digest(document["entries"]) != document["sha256"]:
        raise UsageError(
            f"{STORE}: the shipped pairs do not match their hash", "install again, or delete the file and search again"
        )
    return tuple(_read(entry) for entry in document["entries"])


@lru_cache(maxsize=64)
def pairs_of(space: ProjectedRun) -> tuple[Known, ...]:
    """The shipped pairs of a mechanism with what was certified, none if it is not on the map.

    Sampling and sizes have to be the same, lengths to 1e-9.
    """
    for entry in stored():
        if _same(entry.run, space):
            return tuple(zip(entry.pairs, entry.certified, strict=True))
    return ()


def _same(a: ProjectedRun, b: ProjectedRun) -> bool:
    mine, theirs = a.document(), b.document()
    return all(
        math.isclose(v, theirs[k], rel_tol=1e-9, abs_tol=0) if isinstance(v, float) else v == theirs[k]
        for k, v in mine.items()
    )


def _read(entry: dict[str, Any]) -> Entry:
    mechanism = MECHANISMS[entry["mechanism"]](**entry["parameters"])
    space = mechanism.projected_run()
    pairs, certified = (tuple(part) for part in zip(*(known_of(held, space) for held in entry["pairs"]), strict=True))
    numbers = (entry["bound"], entry["before"], entry["after"])
    return Entry(mechanism, entry["analysis"], *numbers, pairs, certified)
