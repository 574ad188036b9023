"""After an edit: the first replicates, computed again, say whether stored numbers are those of today's code.

Of every pass one chunk is computed and compared with the witness in the manifest, and every row of cells.parquet is
computed again. What agrees is stamped with today's code, and the manifest says by what it was confirmed; what does not
is stale. Trajectories are not needed. Nothing is computed on a user's own records: that would be another run on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dpexp.config.cells import Cell, Experiment
from dpexp.core.digests import digest
from dpexp.core.errors import DpexpError
from dpexp.core.files import Damaged
from dpexp.core.terminal import note
from dpexp.core.text import few
from dpexp.store.description import ORIGIN, SAID, config_today, stamp_in, witness_of
from dpexp.store.executors import Task, executed
from dpexp.store.files import table_of, write_document, write_table
from dpexp.store.fingerprint import changed, code_of, edited_after, what_changed
from dpexp.store.folder import Folder
from dpexp.store.generation import Generation, read_generation
from dpexp.store.partials import Chunk, chunks_of
from dpexp.store.rows import Ended, agree, row_of
from dpexp.store.simulating import Done, simulate
from dpexp.store.staleness import why_stale
from dpexp.store.stamps import confirmed_by, stamp

CURRENT, CONFIRMED, STALE = "current", "confirmed", "stale"
Found = dict[str, tuple[str, str]]
"""by cell id: current, confirmed, stale, incomplete or missing, and why"""


def confirm(
    experiment: Experiment, results: Any, jobs: int = 1, only: Iterable[str] | None = None, quiet: bool = False
) -> Found:
    """Find out which stored cells are what today's code gives, and stamp these."""
    folder = Folder(results, experiment.name)
    with folder.locked():
        found = confirm_held(experiment, folder, jobs, only, quiet)
        try:
            why = why_stale(read_generation(folder))
        except (FileNotFoundError, Damaged):
            why = ""
    # cells may all be right and the folder not: it has settings that the config does not name any more
    if why and only is None and all(status in (CURRENT, CONFIRMED) for status, _ in found.values()):
        found = dict.fromkeys(found, (STALE, why))
    if wrong := [reason for status, reason in found.values() if status == STALE]:
        note(
            f"{experiment.name}: {len(wrong)} of {len(found)} cells are stale: {few(list(dict.fromkeys(wrong)))}", quiet
        )
    return found


def confirm_held(
    experiment: Experiment, folder: Folder, jobs: int, only: Iterable[str] | None = None, quiet: bool = False
) -> Found:
    """The same while the folder is held."""
    cells = [cell for cell in experiment.cells if only is None or cell.cell_id in set(only)]
    try:
        generation = read_generation(folder)
    except (FileNotFoundError, Damaged) as error:
        return {cell.cell_id: ("missing", str(error) or "not computed yet") for cell in cells}
    found, tried = dict[str, tuple[str, str]](), list[Cell]()
    for cell in cells:
        if (told := _without_trying(cell, experiment, generation)) is None:
            tried.append(cell)
        else:
            found[cell.cell_id] = told
    # asked before and after, so that no edit in between is taken for the code that ran
    codes = [code_of(cell) for cell in tried]
    places = [place for cell in tried for place in cell.problem.places()]
    before = edited_after(codes, places, experiment.read_at)
    rows = {row["cell_id"]: row for row in generation.cells.table().to_pylist()} if tried else {}
    fresh, other = _computed(tried, generation.manifest, jobs), dict[str, list[str]]()
    if late := before or edited_after(codes, places, experiment.read_at):
        raise DpexpError(f"{experiment.name}: {few(late)} changed after this process had read it", "run again")
    for cell in tried:
        name, then, now = cell.cell_id, stamp_in(generation.manifest, cell.cell_id).witness, fresh[cell.cell_id]
        if isinstance(now, str) or now != then:
            wrong = f"its numbers are not what is stored ({confirmed_by(then)} computed again)"
            found[name] = STALE, now if isinstance(now, str) else wrong
            continue
        found[name] = CONFIRMED, f"by {confirmed_by(now)}"
        # a row is one line: it is computed again in full, and written where it states something else now
        row = rows[name]
        anew = row_of(cell, experiment.deltas, Ended(row["replicates"], row["n_diverged"], row.get("projections")))
        if differing := sorted(key for key in anew.keys() | row.keys() if not agree(anew.get(key), row.get(key))):
            rows[name], other[name] = anew, differing
    if other:
        words = few(sorted({key for keys in other.values() for key in keys}))
        note(f"{experiment.name}: {len(other)} rows state something else now: {words}", quiet)
    _stamp(experiment, generation, found, [*rows.values()] if other else [])
    return found


def _without_trying(cell: Cell, experiment: Experiment, generation: Generation) -> tuple[str, str] | None:
    """What is known of a cell without simulating anything; None where a chunk has to say it."""
    origin = generation.manifest["computed_from"].get(cell.cell_id)
    if origin is None:
        return "missing", "not computed yet"
    if origin["replicates"] < experiment.replicates:
        return "incomplete", f"{origin['replicates']} of {experiment.replicates} replicates"
    stamp = stamp_in(generation.manifest, cell.cell_id)
    if not (files := changed(stamp.code, code_of(cell))):
        return CURRENT, f"confirmed by {stamp.confirmed}" if stamp.confirmed else "up to date"
    if cell.problem.files():
        return STALE, f"{what_changed(files)} changed, and nothing is tried on your own records"
    return None


def _computed(cells: Sequence[Cell], manifest: dict[str, Any], jobs: int) -> dict[str, dict[str, Any] | str]:
    """The witness of every cell as today's code gives it, from one chunk of every pass; or why there is none."""
    passes: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        passes.setdefault((cell.pass_key, stamp_in(manifest, cell.cell_id).witness["replicates"]), []).append(cell)
    found: dict[str, dict[str, Any] | str] = {}
    waiting: list[Chunk] = [
        c for (_, count), some in passes.items() for c in chunks_of(some, range(count), lanes=count)
    ]
    # a second time only for cells of chunks that failed: each by itself
    while waiting:
        waiting.sort(key=lambda chunk: -chunk.seconds)
        tasks: list[Task] = [(simulate, (chunk.cells, chunk.replicates)) for chunk in waiting]
        again: list[Chunk] = []
        for number, result in executed(tasks, max(1, min(jobs, len(tasks))), "threads"):
            chunk = waiting[number]
            for place, cell in enumerate(chunk.cells):
                found[cell.cell_id] = (
                    witness_of(cell, result.passed.of(place)) if isinstance(result, Done) else result.error
                )
            again += chunk.alone if not isinstance(result, Done) and len(chunk.cells) > 1 else []
        waiting = again
    return found


def _stamp(experiment: Experiment, generation: Generation, found: Found, rows: list[dict[str, Any]]) -> None:
    """Say that today's code gives what was confirmed, and write rows that state something else; numbers stay.

    Where all cells hold and only dpexp's code is another one, a stamp says so, and the manifest stays as it is.
    """
    manifest = generation.manifest
    confirmed = [cell for cell in experiment.cells if found.get(cell.cell_id, ("",))[0] == CONFIRMED]
    if not confirmed:
        return
    generation.folder.require_held()
    whole = found.keys() == manifest["computed_from"].keys()
    whole = whole and all(status in (CURRENT, CONFIRMED) for status, _ in found.values())
    if whole and not rows and all(_differs_in_dpexp(cell, manifest) for cell in confirmed):
        stamp(generation.folder, code_of(confirmed[0])["dpexp"])
        return
    origins, codes = dict(manifest["computed_from"]), dict(manifest["code"])
    for cell in confirmed:
        code, origin = code_of(cell), origins[cell.cell_id]
        codes[name := digest(code, 12)] = code
        kept = {key: value for key, value in origin.items() if key in ORIGIN}
        origins[cell.cell_id] = {**kept, "code": name, "confirmed": confirmed_by(origin["witness"])}
    used = {origin["code"] for origin in origins.values()}
    changes = {"computed_from": origins, "code": {name: codes[name] for name in sorted(used)}}
    # the config is said to be that of today only where every cell is
    if whole:
        changes["config"] = config_today(experiment, generation.folder)
    if rows:
        sha256 = write_table(generation.folder.cells, table_of(rows), {})
        changes["seals"] = manifest["seals"] | {"cells.parquet": sha256}
    write_document(
        generation.folder.manifest, {key: value for key, value in (manifest | changes).items() if key in SAID}
    )


def _differs_in_dpexp(cell: Cell, manifest: dict[str, Any]) -> bool:
    """Whether code and data of a cell are what is stored, but for dpexp's own code."""
    then, now = stamp_in(manifest, cell.cell_id).code, code_of(cell)
    return then.keys() == now.keys() and changed(then, now) == ["dpexp"]
