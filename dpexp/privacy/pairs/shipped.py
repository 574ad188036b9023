"""Pairs for a grid of mechanisms, from tight to loose, which come with the package: `shipped.json` beside this file.

Each entry has a mechanism, the smallest valid bound on its last iterate, what is attained where the others do nothing
(today's pair), and the certified pairs of a search. The file holds the hash of its entries, so that an edit by hand is
noticed. `python -m tools.shipped_pairs` searches for what is missing, and with `recheck` certifies every stored
pair again and computes the bounds anew.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpexp.core.digests import digest
from dpexp.core.errors import UsageError
from dpexp.privacy.exact.projected_run import ProjectedRun
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.pairs.kept import Known, known_of
from dpexp.privacy.pairs.projected import Pair

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
