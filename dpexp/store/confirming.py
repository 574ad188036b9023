"""`dpexp run --confirm`: code has changed, and a few replicates that are computed again say whether numbers have.

(a) What a cell receives and states is computed again and compared: the values of its first stage, and its row of
cells.parquet. (b) Of every pass one chunk is computed, by the code of today and from what today's first stage gives it.
(c) Its digests are compared with the witness in the manifest. (d) What agrees is stamped with today's code, and the
manifest says by what it was confirmed. What does not is stale. Trajectories are not needed. Nothing is computed on a
user's own records: that would be another run on them.

Machine code is kept under a key of all that it was made from (`dpexp.engine.identity`): an edited kernel is compiled.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from dpexp.config.cells import Cell, Experiment
from dpexp.core.digests import digest
from dpexp.core.errors import DpexpError
from dpexp.core.files import Damaged
from dpexp.core.terminal import note
from dpexp.core.text import few
from dpexp.store.description import config_today, confirmed_by, moved, stamp_in, witness_of
from dpexp.store.executors import Task, threads
from dpexp.store.files import write_document
from dpexp.store.fingerprint import changed, code_of, edited_after, statement_of, summary_code, what_changed
from dpexp.store.folder import Folder
from dpexp.store.generation import Generation, read_generation
from dpexp.store.partials import chunks_of
from dpexp.store.rows import Ended, agree, row_of
from dpexp.store.run import AGAIN, Options
from dpexp.store.simulating import Done, Failed, simulate
from dpexp.store.staleness import why_stale

CURRENT, CONFIRMED, STALE = "current", "confirmed", "stale"
RIGHT = (CURRENT, CONFIRMED)
Known = dict[tuple[str, int], dict[str, Any] | str]
"""by cell id and number of replicates: the witness that today's code gives, or why there is none"""
Found = dict[str, tuple[str, str]]
"""by cell id: current, confirmed, stale, incomplete or missing, and why"""


def confirm(
    experiment: Experiment, options: Options, known: Known | None = None, after: Sequence[Experiment] = ()
) -> Found:
    """Find out which stored cells are what today's code gives, and stamp these. Raises DpexpError, as a run does.

    `known` has what was computed with another experiment of the same command, and `after` are those that follow.
    """
    folder = Folder(options.results, experiment.name)
    cells = [cell for cell in experiment.cells if options.only is None or cell.cell_id in options.only]
    with folder.locked():
        try:
            generation = read_generation(folder)
        except (FileNotFoundError, Damaged) as error:
            why = "not computed yet" if isinstance(error, FileNotFoundError) else str(error)
            return {cell.cell_id: ("missing", why) for cell in cells}
        found = _confirmed(cells, experiment, generation, options, {} if known is None else known, after)
        why = why_stale(read_generation(folder))
    # cells may all be right and the folder not: it has settings that the config does not name any more
    if why and options.only is None and all(status in RIGHT for status, _ in found.values()):
        found = dict.fromkeys(found, (STALE, why))
    if wrong := [reason for status, reason in found.values() if status == STALE]:
        reasons = few(list(dict.fromkeys(wrong)))
        note(f"{experiment.name}: {len(wrong)} of {len(found)} cells are stale: {reasons}", options.quiet)
    return found


def _confirmed(
    cells: Sequence[Cell],
    experiment: Experiment,
    generation: Generation,
    options: Options,
    known: Known,
    after: Sequence[Experiment],
) -> Found:
    rows = {row["cell_id"]: row for row in generation.cells.table().to_pylist()}
    # (a)
    told = {cell.cell_id: _settled(cell, experiment, generation, rows) for cell in cells}
    todo = [cell for cell in cells if told[cell.cell_id] is None]
    found = {cell_id: one for cell_id, one in told.items() if one is not None}
    stamped = [cell for cell in cells if (told[cell.cell_id] or (CONFIRMED, ""))[0] == CONFIRMED]
    codes = [statement_of(cell) for cell in stamped]
    # (b); asked before and after, so that no edit in between is taken for the code that ran
    before = edited_after(codes, experiment.read_at)
    fresh = _witnesses(todo, generation.manifest, options, known, after)
    if late := before or edited_after(codes, experiment.read_at):
        raise DpexpError(f"{experiment.name}: {few(late)} changed after this process had read it", AGAIN)
    # (c)
    for cell in todo:
        then, now = stamp_in(generation.manifest, cell.cell_id).witness, fresh[cell.cell_id]
        if isinstance(now, str):
            found[cell.cell_id] = STALE, now
        elif then is not None and then != now:
            what = "its numbers are" if then["numbers"] != now["numbers"] else "the summary of its numbers is"
            found[cell.cell_id] = STALE, f"{what} not what is stored ({confirmed_by(now)} computed again)"
        else:
            found[cell.cell_id] = CONFIRMED, f"by {confirmed_by(now)}"
    # (d)
    _stamp(experiment, generation, fresh, found)
    return found


def _settled(
    cell: Cell, experiment: Experiment, generation: Generation, rows: Mapping[str, dict[str, Any]]
) -> tuple[str, str] | None:
    """What is known of a cell without simulating anything; None where a chunk has to say it."""
    manifest = generation.manifest
    origin = manifest["computed_from"].get(cell.cell_id)
    if origin is None:
        return "missing", "not computed yet"
    if origin.get("deployment"):
        return CURRENT, f"released by a deployment on {origin['deployment']}, and kept"
    if origin["replicates"] < experiment.replicates:
        return "incomplete", f"{origin['replicates']} of {experiment.replicates} replicates"
    stamp, summaries = stamp_in(manifest, cell.cell_id), changed(manifest["summary_code"], summary_code())
    (files, received), other = moved(cell, stamp), stamp.statement != statement_of(cell)
    files += summaries
    own = bool(cell.problem.files())
    if not (files or received or other) and (stamp.witness is not None or own):
        return CURRENT, f"confirmed by {stamp.confirmed}" if stamp.confirmed else "up to date"
    if own or (files and stamp.witness is None):
        why = "nothing is tried on your own records" if own else "no witness of its numbers was kept"
        return STALE, f"{what_changed(files or ['.py'])} changed, and {why}"
    # a chunk need not use all that a run receives, so that one that agrees would say nothing of the rest
    if received or _sorted(cell.received_numbers) != _sorted(stamp.received):
        return STALE, f"what the run receives changed: {few(received)}".strip(": ")
    # the row is computed again in full: it is one line, and privacy numbers may be a processor's last digits apart
    if other:
        told = rows[cell.cell_id]
        now = row_of(cell, experiment.deltas, Ended(told["replicates"], told["n_diverged"], told.get("projections")))
        if names := [name for name in now.keys() | told.keys() if not agree(now.get(name), told.get(name))]:
            return STALE, f"its row is another one: {few(sorted(names))}"
    return None if files or stamp.witness is None else (CONFIRMED, "what it receives and states is the same")


def _sorted(received: dict[str, list[Any]] | None) -> list[str]:
    """The values that a run receives, whatever the functions are called that compute them."""
    return sorted(repr(value) for some in (received or {}).values() for value in some)


def _witnesses(
    cells: Sequence[Cell], manifest: Mapping[str, Any], options: Options, known: Known, after: Sequence[Experiment]
) -> dict[str, dict[str, Any] | str]:
    """The witness of every cell as today's code gives it, from one chunk of every pass; or why there is none.

    What is asked of the same pass `after` this, by other experiments, is computed with it and kept among the `known`.
    """
    wanted = {(cell.cell_id, _replicates(cell, manifest)): cell for cell in cells}
    passes: dict[tuple[str, int], dict[str, Cell]] = {}
    for (cell_id, count), cell in [*wanted.items(), *_asked_later(after, {cell.pass_key for cell in cells}, options)]:
        if (cell_id, count) not in known:
            passes.setdefault((cell.pass_key, count), {})[cell_id] = cell
    chunks = [c for (_, count), some in passes.items() for c in chunks_of([*some.values()], range(count), lanes=count)]
    # a second time only for cells of chunks that failed: each by itself
    while chunks:
        chunks.sort(key=lambda chunk: -chunk.seconds)
        tasks: list[Task] = [(simulate, (chunk.cells, chunk.replicates)) for chunk in chunks]
        again = []
        for number, result in threads(tasks, max(1, min(options.jobs, len(tasks)))):
            if isinstance(result, Failed) and len(chunks[number].cells) > 1:
                again += chunks[number].alone
                continue
            for place, cell in enumerate(chunks[number].cells):
                done = isinstance(result, Done)
                found = witness_of(cell, result.passed.of(place)) if done else result.error
                known[cell.cell_id, len(chunks[number].replicates)] = found
        chunks = again
    return {cell_id: known[cell_id, count] for cell_id, count in wanted}


def _replicates(cell: Cell, manifest: Mapping[str, Any]) -> int:
    """Of which the witness of a stored cell is, or will be."""
    stored = manifest["computed_from"][cell.cell_id]
    told = stored.get("witness") or {"replicates": min(cell.algorithm.witnesses, stored["replicates"])}
    return int(told["replicates"])


def _asked_later(
    after: Sequence[Experiment], passes: Container[str], options: Options
) -> Iterator[tuple[tuple[str, int], Cell]]:
    """The cells of other experiments in these passes whose simulation has other code than they were computed with."""
    for experiment in after:
        cells = [cell for cell in experiment.cells if cell.pass_key in passes]
        with suppress(FileNotFoundError, Damaged):
            manifest = read_generation(Folder(options.results, experiment.name)).manifest if cells else {}
            for cell in cells:
                told = stamp_in(manifest, cell.cell_id) if cell.cell_id in manifest["computed_from"] else None
                if told is not None and changed(told.code, code_of(cell)):
                    yield (cell.cell_id, _replicates(cell, manifest)), cell


def _stamp(
    experiment: Experiment, generation: Generation, fresh: Mapping[str, dict[str, Any] | str], found: Found
) -> None:
    """Write today's code beside what was confirmed; the numbers, and the seals of their files, stay as they are."""
    manifest = generation.manifest
    origins, codes = dict(manifest["computed_from"]), dict(manifest["code"])
    confirmed = [cell for cell in experiment.cells if found.get(cell.cell_id, ("",))[0] == CONFIRMED]
    for cell in confirmed:
        origin = dict(origins[cell.cell_id])
        for name, code in (("code", code_of(cell)), ("statement", statement_of(cell))):
            origin[name] = digest(code, 12)
            codes[origin[name]] = code
        if cell.cell_id in fresh:
            origin["confirmed"] = confirmed_by(origin["witness"]) if origin.get("witness") else ""
            origin["witness"] = fresh[cell.cell_id]
        origins[cell.cell_id] = origin | {"received": cell.received_numbers}
    used = {origin[name] for origin in origins.values() for name in ("code", "statement")}
    changes = {"computed_from": origins, "code": {name: codes[name] for name in sorted(used)}}
    # the config and the summaries are said to be those of today only where every cell is
    if set(found) == set(origins) and all(status in RIGHT for status, _ in found.values()):
        changes |= {"summary_code": summary_code(), "config": config_today(experiment, generation.folder)}
    if confirmed:
        generation.folder.require_held()
        write_document(generation.folder.manifest, manifest | changes)
