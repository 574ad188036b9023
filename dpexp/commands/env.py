"""`dpexp env`: versions, commit and machine."""

from __future__ import annotations

from typing import Any

from dpexp.core.text import columns
from dpexp.store.provenance import environment


def env() -> tuple[dict[str, Any], str]:
    """Document and text."""
    document = environment()
    rows = [*document["versions"].items(), ("commit", document["commit"] or "not in a git checkout")]
    rows += [("uncommitted changes", document["dirty"]), *document["machine"].items()]
    return document, columns([[str(k), str(v)] for k, v in rows])
