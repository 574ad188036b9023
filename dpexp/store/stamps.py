"""What is known of stored numbers: with which code they are what today's run would give, and what witnesses it.

A trajectory file says what it was computed with. The manifest can say more: that other code was confirmed to give the
same numbers. For that it holds a witness of every cell, the digests of its first replicates and of their summary. A
process without trajectories can then compute these replicates again and compare (`dpexp.store.confirming`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpexp.core.text import counted
from dpexp.engine.result import CellData
from dpexp.store.cell_files import Stored, digest_of
from dpexp.store.fingerprint import changed, code_of, statement_of
from dpexp.store.stats import summary_columns

if TYPE_CHECKING:
    from dpexp.config.cells import Cell


class Stamp(NamedTuple):
    """What a cell's numbers are known to come from."""

    code: dict[str, str]
    """of the simulation"""
    received: dict[str, list[Any]] | None
    """what the simulation received from the first stage; None where a plug-in took part, which has one stage"""
    witness: dict[str, Any] | None
    """None for results of a dpexp that kept none"""
    statement: dict[str, str] | None = None
    """of both stages and of the row; None where no manifest tells"""
    confirmed: str = ""
    """how it was found that this code gives these numbers; empty where it computed them"""


_TYPES = {"O": "string", "i": "int64", "f": "double"}
"""of columns, by numpy's kinds, as the summary's file calls them"""


def witness_of(cell: Cell, data: CellData) -> dict[str, Any]:
    """What proves a cell's numbers, from replicates that begin with the first: digests of them and of their summary."""
    count = min(cell.algorithm.witnesses, data.values.shape[-1])
    few = data._replace(values=np.ascontiguousarray(data.values[..., :count]))
    hashed = hashlib.sha256()
    for name, column in summary_columns(cell, few).items():
        hashed.update(f"{name} {_TYPES[column.dtype.kind]}".encode())
        hashed.update("\n".join(column).encode() if column.dtype == object else np.ascontiguousarray(column).data)
    return {"replicates": count, "numbers": digest_of(few), "summary": hashed.hexdigest()[:32]}


def confirmed_by(witness: Mapping[str, Any]) -> str:
    """How a cell was confirmed, in words."""
    return f"one chunk of {counted(witness['replicates'], 'replicate')}"


def stamp_in(manifest: Mapping[str, Any], cell_id: str) -> Stamp:
    """What a manifest says of a cell that it holds."""
    origin = manifest["computed_from"][cell_id]
    code, statement = (manifest["code"][origin[name]] for name in ("code", "statement"))
    return Stamp(code, origin.get("received"), origin.get("witness"), statement, origin.get("confirmed", ""))


def stamp_of(cell: Cell, file: Stored, manifest: Mapping[str, Any] | None) -> Stamp:
    """What is known of a trajectory file: by the manifest, where it speaks of these numbers and knows more."""
    own = Stamp(file.code, file.metadata.get("received"), file.metadata.get("witness"))
    origin = {} if manifest is None else manifest["computed_from"].get(cell.cell_id, {})
    if manifest is None or (origin.get("numbers"), origin.get("replicates")) != (file.numbers, file.replicates):
        return own
    # the file's own word counts where the manifest names the same code, or where that of the file is today's
    told = stamp_in(manifest, cell.cell_id)
    if told.code == own.code or own.code == code_of(cell):
        return own._replace(statement=told.statement if told.received == own.received else None)
    return told


def moved(cell: Cell, stamp: Stamp, resolve: bool = True) -> tuple[list[str], list[str]]:
    """Files of the simulation that have changed since; and where none has, what the run receives that is another one.

    (a) Files of the simulation decide. (b) Where those of both stages and of the row are the same too, no question is
    left. (c) Where only the first stage has changed it is resolved again, and its values alone decide; unless `resolve`
    says to spare that: then its files count.
    """
    # (a)
    if files := changed(stamp.code, code_of(cell)):
        return files, []
    # (b)
    if stamp.statement == statement_of(cell):
        return [], []
    # (c)
    if not resolve and stamp.statement is not None:
        return changed(stamp.statement, statement_of(cell)), []
    if (now := cell.received_numbers) == stamp.received:
        return [], []
    then, now = stamp.received or {}, now or {}
    return [], sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
