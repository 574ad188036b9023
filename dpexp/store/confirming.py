"""After an edit: the first replicates, computed again, say whether stored numbers are those of today's code.

Of every pass one chunk is computed and compared with the witness in the manifest, and every row of cells.parquet is
computed again. What agrees is stamped with today's code, and the manifest says by what that was proved; what does not
is stale. Trajectories are not needed. Nothing is computed on a user's own records: that would be another run on them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

from dpexp.config.cells import Cell, Experiment
from dpexp.core.digests import digest
from dpexp.core.files import Damaged
from dpexp.core.terminal import note
from dpexp.core.text import few
from dpexp.store.executors import Task, executed
from dpexp.store.files import table_of, write_document, write_table
from dpexp.store.fingerprint import changed, code_of, watch, what_changed
from dpexp.store.folder import Folder
from dpexp.store.generation import Generation, read_generation
from dpexp.store.manifest import Manifest, config_today, proof_by, stamp, witness_of
from dpexp.store.partials import Chunk, chunks_of, computed
from dpexp.store.rows import Ended, agree, row_of
from dpexp.store.simulating import Done, Failed, simulate

CURRENT, CONFIRMED, STALE = "current", "confirmed", "stale"
States = dict[str, tuple[str, str]]
"""by cell id: current, confirmed, stale, incomplete or missing, and why"""


def confirm(
    experiment: Experiment, results: Path, jobs: int = 1, only: Iterable[str] | None = None, quiet: bool = False
) -> States:
    """Prove which stored cells are what today's code gives, and stamp these."""
    folder = Folder(results, experiment.name)
    with folder.locked():
        states = confirm_held(experiment, folder, jobs, only, quiet)
        try:
            why = read_generation(folder).why_stale()
        except (FileNotFoundError, Damaged):
            why = ""
    # cells may all be right and the folder not: it has settings that the config does not name any more
    if why and only is None and all(status in (CURRENT, CONFIRMED) for status, _ in states.values()):
        states = dict.fromkeys(states, (STALE, why))
    if wrong := [reason for status, reason in states.values() if status == STALE]:
        what = f"{len(wrong)} of {len(states)} cells are stale: {few(list(dict.fromkeys(wrong)))}"
        note(f"{experiment.name}: {what}", quiet)
    return states


def confirm_held(
    experiment: Experiment, folder: Folder, jobs: int, only: Iterable[str] | None = None, quiet: bool = False
) -> States:
    """The same while the folder is held."""
    cells = [cell for cell in experiment.cells if only is None or cell.cell_id in set(only)]
    try:
        generation = read_generation(folder)
    except (FileNotFoundError, Damaged) as error:
        return {cell.cell_id: ("missing", str(error) or "not computed yet") for cell in cells}
    manifest = generation.manifest
    states = {cell.cell_id: _known_state(cell, experiment, manifest) for cell in cells}
    doubtful = [cell for cell in cells if states[cell.cell_id] is None]
    # asked before and after, so that no edit in between is taken for the code that ran
    require_unchanged = watch(experiment, doubtful)
    rows = {row["cell_id"]: row for row in generation.cells.table().to_pylist()} if doubtful else {}
    witnesses, differing = _witnesses(doubtful, manifest, jobs), dict[str, list[str]]()
    require_unchanged()
    for cell in doubtful:
        name, then, now = cell.cell_id, manifest["computed_from"][cell.cell_id]["witness"], witnesses[cell.cell_id]
        if now != then:
            moved = f"its numbers are not what is stored ({proof_by(then)} computed again)"
            states[name] = STALE, now if isinstance(now, str) else moved
            continue
        states[name] = CONFIRMED, f"by {proof_by(then)}"
        # a row is one line: it is computed again in full, and written where it states something else now
        row = rows[name]
        anew = row_of(cell, experiment.deltas, Ended(row["replicates"], row["n_diverged"], row.get("projections")))
        if keys := sorted(key for key in anew.keys() | row.keys() if not agree(anew.get(key), row.get(key))):
            rows[name], differing[name] = anew, keys
    if differing:
        keys = sorted({key for keys in differing.values() for key in keys})
        note(f"{experiment.name}: {len(differing)} rows state something else now: {few(keys)}", quiet)
    known = {name: state for name, state in states.items() if state is not None}
    _stamp(experiment, generation, known, [*rows.values()] if differing else [])
    return known


def _known_state(cell: Cell, experiment: Experiment, manifest: Manifest) -> tuple[str, str] | None:
    """The state of a cell that needs no proof; None where a chunk has to say it."""
    origin = manifest["computed_from"].get(cell.cell_id)
    if origin is None:
        return "missing", "not computed yet"
    if origin["replicates"] < experiment.replicates:
        return "incomplete", f"{origin['replicates']} of {experiment.replicates} replicates"
    if not (names := changed(manifest["code"][origin["code"]], code_of(cell))):
        return CURRENT, f"confirmed by {origin['confirmed']}" if origin.get("confirmed") else "up to date"
    if cell.problem.files():
        return STALE, f"{what_changed(names)} changed, and nothing is tried on your own records"
    return None


def _witnesses(cells: Sequence[Cell], manifest: Manifest, jobs: int) -> dict[str, dict[str, Any] | str]:
    """The witness of every cell as today's code gives it, from one chunk of every pass; or why there is none."""
    passes: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        count = manifest["computed_from"][cell.cell_id]["witness"]["replicates"]
        passes.setdefault((cell.pass_key, count), []).append(cell)
    chunks = [chunk for (_, count), own in passes.items() for chunk in chunks_of(own, range(count), lanes=count)]

    def execute(waiting: Sequence[Chunk]) -> Generator[tuple[int, Done | Failed]]:
        tasks: list[Task] = [(simulate, (chunk.cells, chunk.replicates)) for chunk in waiting]
        return executed(tasks, max(1, min(jobs, len(tasks))), "threads")

    return {
        cell.cell_id: witness_of(cell, result.passed.of(k)) if isinstance(result, Done) else result.error
        for chunk, result in computed(chunks, execute)
        for k, cell in enumerate(chunk.cells)
    }


def _stamp(experiment: Experiment, generation: Generation, states: States, rows: list[dict[str, Any]]) -> None:
    """Say that today's code gives what was proved, and write rows that state something else; numbers stay.

    Where all cells hold and only dpexp's code is another one, a stamp says so, and the manifest stays as it is.
    """
    manifest = generation.manifest
    proved = [cell for cell in experiment.cells if states.get(cell.cell_id, ("",))[0] == CONFIRMED]
    if not proved:
        return
    generation.folder.require_held()
    origins, codes = dict(manifest["computed_from"]), dict(manifest["code"])
    whole = states.keys() == origins.keys() and all(state in (CURRENT, CONFIRMED) for state, _ in states.values())
    others = {name for cell in proved for name in changed(codes[origins[cell.cell_id]["code"]], code_of(cell))}
    if whole and not rows and others == {"dpexp"}:
        stamp(generation.folder, code_of(proved[0])["dpexp"])
        return
    for cell in proved:
        codes[key := digest(code_of(cell), 12)] = code_of(cell)
        origin = origins[cell.cell_id]
        origins[cell.cell_id] = origin | {"code": key, "confirmed": proof_by(origin["witness"])}
    used = {origin["code"] for origin in origins.values()}
    changes = {"computed_from": origins, "code": {key: codes[key] for key in sorted(used)}}
    # the config is said to be that of today only where every cell is
    if whole:
        changes["config"] = config_today(experiment, generation.folder)
    if rows:
        sha256 = write_table(generation.folder.cells, table_of(rows), {})
        changes["seals"] = manifest["seals"] | {"cells.parquet": sha256}
    write_document(generation.folder.manifest, manifest | changes)
