"""Who is held out of a user's records in a deployment: drawn in secret, as its noise is, and kept nowhere.

Where records are replaced, places decide (docs/data.md). If their order is secret and uniform, the statement holds
whatever the order of the file is, also of one that is sorted. It stands by itself so that a cell needs no data.
"""

from __future__ import annotations

import secrets
from dataclasses import replace

from dpexp.config.cells import Cell


def dealt_in_secret(cell: Cell) -> Cell:
    """The cell with its records dealt into parts by a seed of the operating system; others have no parts."""
    return replace(cell, problem=cell.problem.dealt_anew(secrets.randbits(63)))
