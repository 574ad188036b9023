"""`dpexp env`: versions, commit, machine, and where compiled code is kept."""

from __future__ import annotations

from typing import Any

from dpexp.core.text import columns
from dpexp.store.provenance import environment


def env() -> tuple[dict[str, Any], str]:
    """Document and text."""
    from dpexp.engine.compiled import folder

    # A folder of compiled code that others could write to is not used.
    place = folder()
    document = {**environment(), "compiled_code": None if place is None else str(place)}
    rows = [*document["versions"].items(), ("commit", document["commit"] or "not in a git checkout")]
    rows += [("uncommitted changes", document["dirty"]), *document["machine"].items()]
    rows += [
        (
            "compiled code in",
            place or "nowhere: every process compiles (DPEXP_CACHE is off, or its folder is not ours alone)",
        )
    ]
    return document, columns([[str(k), str(v)] for k, v in rows])
