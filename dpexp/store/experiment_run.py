"""Run what is missing or stale of an experiment, and write its results folder.

(a) Everything is planned and written under the folder's lock.
(b) Code and data are compared before anything is computed, before a chunk is stored and before anything is written.
(c) Chunks that a killed run or a part has stored are used.
(d) Replicates are put together in their own order, after those that are stored: numbers depend on no order of work.
(e) A failure replaces no good result, also with `--force`.
(f) A deployment uses nothing that is stored, and nothing of it is stored for another run: with its noise that would be
a second release. Its folder becomes whole under a hidden name, and gets its own by one rename.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.config.cells import Experiment
from dpexp.core.errors import DpexpError
from dpexp.core.files import Damaged
from dpexp.core.terminal import note, tell
from dpexp.store import partials
from dpexp.store.cell_files import model_of
from dpexp.store.fingerprint import watch
from dpexp.store.folder import LOCK, Folder
from dpexp.store.partials import Chunk, chunks_to_compute, computed
from dpexp.store.planning import CellPlan, plan, plan_of_deployment, prove
from dpexp.store.publish import publish
from dpexp.store.simulating import Done, Failed
from dpexp.store.stats import Ended


@dataclass
class Options:
    """How to run: nothing here changes a number, but for `deployment`."""

    results: Path
    jobs: int = 1
    backend: str = "threads"
    """threads, loky or dask; empty for what `joblib.parallel_config` says"""
    force: bool = False
    quiet: bool = False
    only: frozenset[str] | None = None
    """cell ids to run; all where None"""
    deployment: bool = False
    """draw noise from the operating system and forget its seeds; this alone changes numbers"""
    scheduler: str = ""
    """address of a dask scheduler, where the backend is dask"""

    def select(self, plans: Sequence[CellPlan]) -> list[CellPlan]:
        return [p for p in plans if self.only is None or p.cell.cell_id in self.only]


@dataclass
class Report:
    """What a run did, with numbers of cells."""

    experiment: str
    folder: Path
    cells: list[dict[str, Any]]
    computed: int
    reused: int
    diverged: int
    failed: int
    wall_s: float


Outcome = tuple[dict[str, Ended], dict[str, str]]
"""how the new cells ended, and the errors of those that failed"""
Results = list[tuple[Chunk, list[Done] | Failed]]


def run(experiment: Experiment, options: Options) -> Report:
    """Bring an experiment's results up to date.

    Raises DpexpError where the folder is locked, and where code or data change meanwhile.
    """
    begin = time.perf_counter()
    if options.deployment:
        return deploy(experiment, options, datetime.now(UTC))
    folder = Folder(options.results, experiment.name)
    try:
        # (a)
        with folder.locked():
            plans = plan(experiment, options.results, options.force)
            if cells := [p.cell for p in options.select(plans) if p.status == "unconfirmed"]:
                tell(f"{experiment.name}: proof")  # one chunk of every pass shows whether a number has moved
                prove(experiment, folder, plans, cells, options.jobs, options.quiet)
                plans = plan(experiment, options.results, options.force)
            outcome = _bring_up_to_date(experiment, folder, plans, options)
    except OSError as error:
        message = f"{error.filename or folder.root}: {error.strerror or error}"
        hint = "finished chunks are kept: make room or mend the disk, then run again; or use --results DIR"
        raise DpexpError(message, hint) from error
    except Damaged as error:
        raise DpexpError(f"{folder.root}: {error}", "another program writes to this folder; run again") from None
    return _report(experiment.name, folder.root, options.select(plans), outcome, begin)


def deployment_name(experiment: str, at: datetime) -> str:
    """The name of the folder of a deployment."""
    return f"{experiment}.deployed-{at:%Y%m%dT%H%M%SZ}"


def deploy(experiment: Experiment, options: Options, at: datetime) -> Report:
    """Release what runs on private records give, into a folder of its own. The caller has counted what that spends, and
    has chosen a time that no other deployment has. Raises DpexpError as `run`."""
    begin, name = time.perf_counter(), deployment_name(experiment.name, at)
    place, folder = options.results / name, Folder(options.results, f".{name}")
    cells = tuple(cell for cell in experiment.cells if options.only is None or cell.cell_id in options.only)
    experiment = replace(experiment, name=name, cells=cells)
    plans = plan_of_deployment(experiment)
    try:
        # (f)
        with folder.locked():
            outcome = _bring_up_to_date(experiment, folder, plans, options, at.isoformat(timespec="seconds"))
        (folder.root / LOCK).unlink()
        folder.root.rename(place)
    except OSError as error:
        raise DpexpError(f"{error.filename or place}: {error.strerror or error}", "nothing was released") from error
    finally:
        shutil.rmtree(folder.root, ignore_errors=True)
    return _report(name, place, plans, outcome, begin)


@dataclass(frozen=True)
class Share:
    """What a part of a run did: numbers of chunks, `own` and `failed` of this part, `done` and `chunks` of all."""

    experiment: str
    own: int
    failed: int
    done: int
    chunks: int


def run_part(experiment: Experiment, options: Options, part: int, parts: int) -> Share:
    """Compute every `parts`-th chunk, from the `part`-th on (1 is the first), and store it for a run that publishes.

    The folder is not locked: chunks have names that cover all that they depend on, and are written whole. Raises
    DpexpError where code or data change meanwhile.
    """
    folder = Folder(options.results, experiment.name)
    folder.require_real()
    chunks = chunks_to_compute(options.select(plan(experiment, options.results)))
    own, path = chunks[part - 1 :: parts], partial(partials.path_of, folder.partial)
    results = _compute(experiment, [chunk for chunk in own if not path(chunk).exists()], folder, options)
    failed = sum(isinstance(result, Failed) for _, result in results)
    return Share(experiment.name, len(own), failed, sum(path(chunk).exists() for chunk in chunks), len(chunks))


def _bring_up_to_date(
    experiment: Experiment, folder: Folder, plans: Sequence[CellPlan], options: Options, deployment: str = ""
) -> Outcome:
    """Compute what is missing and publish it; `deployment` is when that releases it."""
    todo = [p for p in options.select(plans) if len(p.replicates)]
    for p in todo:
        if p.status in ("damaged", "stale"):
            quiet = options.quiet or p.reason == "--force"
            note(f"{experiment.name}: {p.cell.cell_id} is {p.status}: {p.reason}", quiet)
    results, waiting = Results(), [replace(chunk, deployment=options.deployment) for chunk in chunks_to_compute(todo)]
    # (c)
    if waiting and not options.force and not options.deployment:
        results, waiting = _stored_before(waiting, folder, experiment, options)
    results += _compute(experiment, waiting, folder, options)
    (fresh, failures), ended = _assemble(todo, results, folder), dict[str, Ended]()
    if fresh or not failures or not folder.manifest.exists():
        # (e)
        good = {p.cell.cell_id for p in plan(experiment, options.results) if p.status == "current"} if failures else ()
        reported = {cell_id: error for cell_id, error in failures.items() if cell_id not in good}
        ended = publish(experiment, folder, plans, fresh, reported, deployment)
    if not failures and options.only is None:
        folder.remove_partial()
    elif not failures:
        # what a killed run has finished of other cells stays
        for chunk, _ in results:
            partials.path_of(folder.partial, chunk).unlink(missing_ok=True)
    return ended, failures


def _stored_before(
    chunks: Sequence[Chunk], folder: Folder, experiment: Experiment, options: Options
) -> tuple[Results, list[Chunk]]:
    """The parts of single cells that are stored, and chunks of the others."""
    parts, results, waiting = partials.stored_parts(folder.partial), Results(), list[Chunk]()
    for chunk in chunks:
        cells = [(single, parts.get(single.keys[0])) for single in chunk.single_cells] if parts else []
        results += [(single, [part]) for single, part in cells if part is not None]
        if missing := tuple(single.cells[0] for single, part in cells if part is None):
            waiting.append(replace(chunk, cells=missing))
    if not results:
        return results, [*chunks]
    finished = f"{len(chunks) - len(waiting)} of {len(chunks)} chunks were finished before"
    note(f"{experiment.name}: {finished}", options.quiet)
    return results, waiting


def _compute(experiment: Experiment, chunks: Sequence[Chunk], folder: Folder, options: Options) -> Results:
    """Compute chunks, and store them. Raises DpexpError where code or data changed meanwhile."""
    results, errors = Results(), set[str]()
    total, done = sum(chunk.seconds for chunk in chunks) or 1.0, 0.0
    # (b)
    check = watch(experiment, [cell for chunk in chunks for cell in chunk.cells])
    if chunks:
        tell(f"{experiment.name}: 0%")
    with closing(computed(chunks, options.jobs, options.backend, options.scheduler)) as stream:
        for chunk, result in stream:
            check()
            if not isinstance(result, Failed) and not chunk.deployment:
                partials.save(folder.partial, chunk, result)
            elif isinstance(result, Failed) and result.error not in errors:
                errors.add(result.error)
                note(f"{experiment.name}: a cell failed: {result.error}", options.quiet)
            results.append((chunk, result))
            done += chunk.seconds
            tell(f"{experiment.name}: {done / total:.0%}")
    check()
    return results


def _assemble(todo: Sequence[CellPlan], results: Results, folder: Folder) -> tuple[dict[str, Done], dict[str, str]]:
    """The chunks by cell, after its stored replicates, and the errors of the cells that failed. Raises Damaged."""
    parts, failures, fresh = dict[str, list[Done]](), dict[str, str](), dict[str, Done]()
    # (d)
    for chunk, result in sorted(results, key=lambda pair: pair[0].replicates):
        for number, cell in enumerate(chunk.cells):
            if isinstance(result, Failed):
                failures[cell.cell_id] = result.error
            else:
                parts.setdefault(cell.cell_id, []).append(result[number])
    for p in (p for p in todo if p.cell.cell_id not in failures):
        own = parts[p.cell.cell_id]
        if p.stored and p.file is not None:
            released = p.file.released
            model = model_of(folder, p.cell.cell_id, released).values if released.get("estimators") else None
            own.insert(0, Done(p.file.data(), model))
        models = [part.model for part in own if part.model is not None]
        data = own[0].data.joined([part.data for part in own[1:]])
        fresh[p.cell.cell_id] = Done(data, np.concatenate(models, axis=1) if models else None)
    return fresh, failures


def _report(name: str, folder: Path, plans: Sequence[CellPlan], outcome: Outcome, begin: float) -> Report:
    (ended, failures), cells = outcome, []
    for p in plans:
        cell_id, status = p.cell.cell_id, "failed" if p.cell.cell_id in failures else "current"
        if cell_id in ended:
            status = "diverged" if ended[cell_id].diverged else "done"
        reason = failures.get(cell_id, p.reason)
        cells.append({"experiment": name, "cell_id": cell_id, **p.cell.setting(), "status": status, "reason": reason})
    n = Counter(cell["status"] for cell in cells)
    seconds = time.perf_counter() - begin
    return Report(name, folder, cells, n["done"] + n["diverged"], n["current"], n["diverged"], n["failed"], seconds)
