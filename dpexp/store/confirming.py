"""After an edit: the first replicates, computed again, prove whether stored numbers are those of today's code.

Of every pass one chunk is computed and compared with the witness in the manifest, and every row of cells.parquet is
computed again. What agrees is stamped with today's code, with how that was proved; the rest is stale. Trajectories are
not needed. Nothing is computed on a user's own records: that would be another run on them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpexp.config.cells import Cell, Experiment
from dpexp.core.digests import digest
from dpexp.core.files import Damaged
from dpexp.core.terminal import note
from dpexp.core.text import few
from dpexp.store.cell_rows import Ended, agree, row_of
from dpexp.store.documents import table_of, write_document, write_table
from dpexp.store.fingerprint import changed, code_of, watch
from dpexp.store.folder import Folder
from dpexp.store.generation import Generation, read_generation
from dpexp.store.manifest import Manifest, proof_by, stamp, witness_of
from dpexp.store.partials import chunks_of, computed
from dpexp.store.planning import CellPlan, plan
from dpexp.store.simulating import Done


def confirm(
    experiment: Experiment, results: Path, jobs: int = 1, only: Collection[str] | None = None, quiet: bool = False
) -> list[CellPlan]:
    """Prove which stored summaries are what today's code gives, and stamp these; the others are not computed."""
    folder, why = Folder(results, experiment.name), ""
    with folder.locked():
        moved = prove(experiment, folder, jobs, only, quiet)
        plans = [p for p in plan(experiment, results, summaries=True) if only is None or p.cell.cell_id in only]
        with suppress(FileNotFoundError, Damaged):
            why = read_generation(folder).why_stale()
    # cells may all be right and the folder not: it has settings that the config does not name any more
    if why and only is None and all(p.status == "current" for p in plans):
        moved = {p.cell.cell_id: why for p in plans}
    if moved:
        reasons = few(list(dict.fromkeys(moved.values())))
        note(f"{experiment.name}: {len(moved)} of {len(plans)} cells are stale: {reasons}", quiet)
    return [replace(p, status="stale", reason=moved[p.cell.cell_id]) if p.cell.cell_id in moved else p for p in plans]


def prove(
    experiment: Experiment, folder: Folder, jobs: int, only: Collection[str] | None = None, quiet: bool = False
) -> dict[str, str]:
    """The same under the folder's lock: the cells that moved, by id, and why."""
    plans = plan(experiment, folder.root.parent, summaries=True)
    cells = [p.cell for p in plans if p.status == "unconfirmed" and (only is None or p.cell.cell_id in only)]
    if not cells:
        return {}
    generation = read_generation(folder)
    # before and after, so that no edit in between is taken for the code that ran
    require_unchanged = watch(experiment, cells)
    witnesses = _witnesses(cells, generation.manifest, jobs)
    require_unchanged()
    rows = {row["cell_id"]: row for row in generation.cells.table().to_pylist()}
    moved, proved, differing = dict[str, str](), list[Cell](), list[set[str]]()
    for cell in cells:
        name, now = cell.cell_id, witnesses[cell.cell_id]
        then = generation.manifest["computed_from"][name]["witness"]
        if now != then:
            computed_again = f"its numbers are not what is stored ({proof_by(then)} computed again)"
            moved[name] = now if isinstance(now, str) else computed_again
            continue
        proved.append(cell)
        # a row is one line: it is computed again in full, and written where it states something else now
        row = rows[name]
        anew = row_of(cell, experiment.deltas, Ended(row["replicates"], row["n_diverged"], row.get("projections")))
        if keys := {key for key in anew.keys() | row.keys() if not agree(anew.get(key), row.get(key))}:
            rows[name] = anew
            differing.append(keys)
    if differing:
        columns = sorted(set[str]().union(*differing))
        note(f"{experiment.name}: {len(differing)} rows state something else now: {few(columns)}", quiet)
    right = {p.cell.cell_id for p in plans if p.status == "current"} | {cell.cell_id for cell in proved}
    if proved:
        _stamp(generation, proved, right, [*rows.values()] if differing else [])
    return moved


def _witnesses(cells: Sequence[Cell], manifest: Manifest, jobs: int) -> dict[str, dict[str, Any] | str]:
    """The witness of every cell as today's code gives it, from one chunk of every pass; or why there is none."""
    passes: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        count = manifest["computed_from"][cell.cell_id]["witness"]["replicates"]
        passes.setdefault((cell.pass_key, count), []).append(cell)
    chunks = [chunk for (_, count), own in passes.items() for chunk in chunks_of(own, range(count), lanes=count)]
    return {
        cell.cell_id: witness_of(cell, result.passed.of(k)) if isinstance(result, Done) else result.error
        for chunk, result in computed(chunks, jobs)
        for k, cell in enumerate(chunk.cells)
    }


def _stamp(generation: Generation, proved: Sequence[Cell], right: set[str], rows: list[dict[str, Any]]) -> None:
    """Record that today's code gives what was proved, and write rows that state something else; numbers stay.

    Where all stored cells are `right` and only dpexp's code is another one, a stamp is enough, and the manifest stays.
    """
    manifest = generation.manifest
    origins, codes = dict(manifest["computed_from"]), dict(manifest["code"])
    others = {name for cell in proved for name in changed(codes[origins[cell.cell_id]["code"]], code_of(cell))}
    if right >= origins.keys() and not rows and others == {"dpexp"}:
        stamp(generation.folder, code_of(proved[0])["dpexp"])
        return
    for cell in proved:
        codes[key := digest(code_of(cell), 12)] = code_of(cell)
        origin = origins[cell.cell_id]
        origins[cell.cell_id] = origin | {"code": key, "confirmed": proof_by(origin["witness"])}
    used = {origin["code"] for origin in origins.values()}
    changes = {"computed_from": origins, "code": {key: codes[key] for key in sorted(used)}}
    if rows:
        sha256 = write_table(generation.folder.cells, table_of(rows), {})
        changes["seals"] = manifest["seals"] | {"cells.parquet": sha256}
    write_document(generation.folder.manifest, manifest | changes)
