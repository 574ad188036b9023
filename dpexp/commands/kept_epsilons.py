"""Epsilons that an earlier confirmation of this machine has found by the same code: the next one believes them.

Noise is set and rows are stated by hundreds of them, and an edit of the engine leaves their code as it is. They lie in
a private file of the cache folder, under a hash of their code and of the arithmetic; a run does not read them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dpexp.core.digests import digest
from dpexp.core.files import Damaged, cache_folder, read_bytes_sealed, write_bytes_sealed
from dpexp.plugins.loaded import patching
from dpexp.privacy.accounting.loss_distributions import answering
from dpexp.store.fingerprint import closure, edited_after
from dpexp.store.provenance import arithmetic

MOST_KEPT = 10_000
"""epsilons: ten times those of the shipped experiments"""


@contextmanager
def kept_epsilons() -> Iterator[None]:
    """Meanwhile an epsilon that is kept is not found anew, and what is found is kept."""
    code = closure(("dpexp.privacy.accounting.loss_distributions",))
    made_by, place = digest([code, arithmetic()]), cache_folder("epsilons", "epsilons")
    kept: dict[str, Any] = {}
    if place is not None:
        with suppress(FileNotFoundError, Damaged):
            kept = json.loads(read_bytes_sealed(place / "found", private=True))
    found: dict[str, float] = dict(kept["found"]) if kept.get("made_by") == made_by and not patching() else {}
    before = len(found)
    with answering(found):
        yield
    if place is not None and len(found) > before and not patching() and not edited_after([code], 0):
        with suppress(OSError):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            content = json.dumps({"made_by": made_by, "found": dict([*found.items()][-MOST_KEPT:])})
            write_bytes_sealed(place / "found", content.encode(), private=True)
