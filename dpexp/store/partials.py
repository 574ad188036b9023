"""Chunks: some cells of one pass and some replicates; how they are computed, and those that are stored on the disk.

A cell is found in a stored chunk whatever other cells were computed with it: its part is named by all that its numbers
depend on.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

import numpy as np

from dpexp.config.cells import Cell
from dpexp.config.resources import CHUNK_SETTINGS
from dpexp.core.errors import UsageError
from dpexp.core.files import Damaged, digest, read_bytes_sealed, write_bytes_sealed
from dpexp.engine.result import CellData
from dpexp.store.executors import Task, executed, on_cluster
from dpexp.store.fingerprint import arithmetic, code_of
from dpexp.store.simulating import Done, Failed, simulate

if TYPE_CHECKING:
    from dpexp.store.planning import CellPlan


@dataclass(frozen=True)
class Chunk:
    """Some cells of one pass, and the replicates to compute for all of them."""

    cells: tuple[Cell, ...]
    replicates: tuple[int, ...]
    deployment: bool = False
    """with seeds from the operating system: such a chunk is never stored, so no second run goes on with its noise"""

    @cached_property
    def seconds(self) -> float:
        """Estimated time on one core."""
        return len(self.replicates) * sum(cell.algorithm.seconds(cell.problem, cell.run.n) for cell in self.cells)

    @property
    def keys(self) -> list[str]:
        """Name the part of each cell: by the cell, code, data, replicates, arithmetic and the rule of its releases."""
        secret = ["deployment"] * self.deployment
        rules = [[cell.run.release] if cell.problem.files() else [] for cell in self.cells]
        return [
            digest([cell.cell_id, code_of(cell), self.replicates, arithmetic(), rule, secret], 20)
            for cell, rule in zip(self.cells, rules, strict=True)
        ]

    @property
    def key(self) -> str:
        """Names the chunk."""
        return digest(self.keys, 20)

    @property
    def single_cells(self) -> list[Chunk]:
        """The same, cell by cell."""
        return [replace(self, cells=(cell,)) for cell in self.cells]


def chunks_of(
    cells: Sequence[Cell], replicates: Sequence[int], lanes: int | None = None, settings: int = CHUNK_SETTINGS
) -> list[Chunk]:
    """Cut cells of one pass into chunks of at most `settings` cells and `lanes` replicates, the algorithm's own
    where None."""
    lanes = lanes or cells[0].algorithm.lanes
    return [
        Chunk(tuple(cells[c : c + settings]), tuple(replicates[r : r + lanes]))
        for c in range(0, len(cells), settings)
        for r in range(0, len(replicates), lanes)
    ]


def chunks_to_compute(plans: Iterable[CellPlan]) -> list[Chunk]:
    """The chunks of what these plans miss."""
    groups: dict[tuple[str, range], list[Cell]] = {}
    for p in plans:
        if len(p.replicates):
            groups.setdefault((p.cell.pass_key, p.replicates), []).append(p.cell)
    return [chunk for (_, replicates), cells in groups.items() for chunk in chunks_of(cells, replicates)]


def simulate_chunk(chunk: Chunk, key: str) -> list[Done] | Failed:
    """Compute a chunk that the run calls by this key. Raises UsageError where the name is another one here."""
    if key != chunk.key:
        message = f"the worker on {gethostname()} has other code, data, libraries or another kind of processor"
        raise UsageError(f"{message} than the run", "use the same for all workers, and restart them")
    cells = chunk.cells
    if chunk.deployment:
        # which records are held out is drawn in secret too and stored nowhere: where records are replaced, places
        # decide, and if their order is secret and uniform the statement holds whatever the file's order (docs/data.md)
        cells = tuple(replace(cell, problem=cell.problem.dealt_anew(secrets.randbits(63))) for cell in cells)
    return simulate(cells, chunk.replicates, chunk.deployment)


def computed(
    chunks: Iterable[Chunk], jobs: int, backend: str = "threads", scheduler: str = ""
) -> Generator[tuple[Chunk, list[Done] | Failed]]:
    """Chunks and their results as these come in. The cells of a chunk that fails are tried one by one, since only one
    of them may be the reason."""
    # the longest come first: at the end no worker waits long for another
    waiting = sorted(chunks, key=lambda chunk: -chunk.seconds)
    while waiting:
        retries: list[Chunk] = []
        tasks: list[Task] = [(simulate_chunk, (chunk, chunk.key)) for chunk in waiting]
        stream = on_cluster(tasks, scheduler) if backend == "dask" else executed(tasks, jobs, backend)
        with closing(stream) as results:
            for number, result in results:
                if isinstance(result, Failed) and len(waiting[number].cells) > 1:
                    retries += waiting[number].single_cells
                else:
                    yield waiting[number], result
        waiting = retries


# --- on the disk ---


def path_of(folder: Path, chunk: Chunk) -> Path:
    return folder / f"{chunk.key}.chunk"


def save(folder: Path, chunk: Chunk, parts: Sequence[Done]) -> None:
    """Store a finished chunk, in numpy's own format."""
    buffer, values = io.BytesIO(), np.stack([part.data.values for part in parts])
    models = {f"model {k}": part.model for k, part in enumerate(parts) if part.model is not None}
    np.savez(buffer, **(parts[0].data._asdict() | {"values": values, "keys": chunk.keys} | models))
    write_bytes_sealed(path_of(folder, chunk), buffer.getbuffer())


def stored_parts(folder: Path) -> dict[str, Done]:
    """The stored parts of single cells, by their key; a file that is damaged is removed."""
    parts = {}
    for path in sorted(folder.glob("[0-9a-f]" * 20 + ".chunk")):
        try:
            stored = np.load(io.BytesIO(read_bytes_sealed(path)))
            names = tuple(stored["estimators"].tolist()), tuple(stored["metrics"].tolist())
            steps, values = stored["steps"], stored["values"]
            for k, key in enumerate(stored["keys"].tolist()):
                parts[key] = Done(CellData(steps, *names, values[k]), stored.get(f"model {k}"))
        # but for the first, another version of dpexp wrote it
        except (Damaged, ValueError, KeyError):
            path.unlink(missing_ok=True)
    return parts
