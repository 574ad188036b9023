"""Run what is missing or stale of an experiment, and write its results folder."""

from __future__ import annotations

import shutil
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.config import Cell, Experiment, checkpoint_steps
from dpexp.errors import DpexpError
from dpexp.runner import partials
from dpexp.runner.executors import EXECUTORS
from dpexp.runner.partials import Chunk, chunks_of
from dpexp.runner.planning import CellPlan, plan
from dpexp.runner.progress import Progress, note
from dpexp.runner.publish import publish
from dpexp.store import SET_ASIDE, Damaged, Folder
from dpexp.summaries import CellData, too_far


@dataclass
class Options:
    """How to run: nothing here changes a number."""

    results: Path
    jobs: int = 1
    backend: str = "threads"
    force: bool = False
    fail_fast: bool = False
    quiet: bool = False
    only: frozenset[str] | None = None
    """cell ids to run; all where None"""
    debug: bool = False
    """show the traceback of a failing cell"""


@dataclass
class Report:
    """What a run did."""

    experiment: str
    folder: Path
    cells: list[dict[str, Any]] = field(default_factory=list)
    computed: int = 0
    reused: int = 0
    diverged: int = 0
    failed: int = 0
    wall_s: float = 0.0


def simulate_chunk(chunk: Chunk) -> dict[str, Any]:
    """Compute a chunk: values [cells, estimators, K, metrics, replicates] and the time it took; or the error."""
    first = chunk.cells[0]
    steps = checkpoint_steps(first.run.n, first.run.checkpoints)
    begin = time.perf_counter()
    try:
        passed = first.algorithm.simulate(
            first.problem,
            [(cell.schedule, cell.privacy.mu) for cell in chunk.cells],
            steps,
            first.run.seed,
            chunk.replicates,
        )
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    wall = time.perf_counter() - begin
    return {"values": passed.values, "steps": passed.steps, "wall_s": wall / len(chunk.cells)}


def run(experiment: Experiment, options: Options) -> Report:
    """Bring an experiment's results up to date.

    Raises DpexpError where the folder is locked, or with `fail_fast` where a cell fails.
    """
    begin, started = time.perf_counter(), datetime.now(UTC)
    folder = Folder(options.results, experiment.name)
    plans = plan(experiment, options.results, options.force)
    chosen = [p for p in plans if options.only is None or p.cell.cell_id in options.only]
    report = Report(experiment.name, folder.root)
    with folder.locked():
        _recover(folder, plans)
        todo = [p for p in chosen if len(p.replicates)]
        for p in todo:
            if p.status in ("damaged", "stale"):
                note(
                    f"{experiment.name}: {p.cell.cell_id} is {p.status}: {p.reason}",
                    options.quiet or p.reason == "--force",
                )
        for warning in sorted({p.warning for p in chosen if p.warning}):
            note(f"{experiment.name}: some stored cells were {warning}; --force recomputes them", options.quiet)
        results = _compute(experiment, todo, folder, options)
        fresh, failures = _assemble(todo, results, folder)
        _retire(folder, plans, options)
        publish(experiment, folder, plans, fresh, failures, started, time.perf_counter() - begin)
        if not failures:
            shutil.rmtree(folder.partial, ignore_errors=True)
    _account(report, plans, chosen, fresh, failures)
    report.wall_s = time.perf_counter() - begin
    return report


def _recover(folder: Folder, plans: Sequence[CellPlan]) -> None:
    """Bring back the trajectories of cells that had left the config."""
    for p in plans:
        orphan = folder.orphan(p.cell.cell_id)
        if orphan.exists() and not folder.trajectory(p.cell.cell_id).exists():
            folder.trajectory(p.cell.cell_id).parent.mkdir(parents=True, exist_ok=True)
            orphan.rename(folder.trajectory(p.cell.cell_id))


def _retire(folder: Folder, plans: Sequence[CellPlan], options: Options) -> None:
    """Set aside the trajectories of cells that are no longer in the config; nothing is deleted."""
    wanted = {p.cell.cell_id for p in plans}
    stored = sorted((folder.root / "trajectories").glob("*.parquet"))
    orphans = [path for path in stored if path.stem not in wanted]
    for path in orphans:
        target = folder.orphan(path.stem)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)
    if orphans:
        note(
            f"{folder.experiment}: {len(orphans)} stored cells are not in the config; set aside in {target.parent}",
            options.quiet,
        )


def _compute(
    experiment: Experiment, todo: Sequence[CellPlan], folder: Folder, options: Options
) -> list[tuple[Chunk, dict[str, Any]]]:
    """Compute all chunks, those that a killed run left behind excepted."""
    groups: dict[tuple[str, range], list[Cell]] = {}
    for p in todo:
        groups.setdefault((p.cell.pass_key, p.replicates), []).append(p.cell)
    chunks = [chunk for (_, replicates), cells in groups.items() for chunk in chunks_of(cells, replicates)]
    done: list[tuple[Chunk, dict[str, Any]]] = []
    waiting = []
    for chunk in chunks:
        kept = None if options.force else partials.load(folder.partial, chunk)
        if kept is None:
            waiting.append(chunk)
        else:
            done.append((chunk, kept))
    if done:
        note(f"{experiment.name}: {len(done)} of {len(chunks)} chunks were finished before", options.quiet)
    with Progress(experiment.name, sum(chunk.work for chunk in waiting), options.quiet) as progress:
        tasks = [(simulate_chunk, (chunk,)) for chunk in waiting]
        for number, result in EXECUTORS[options.backend](tasks, max(1, min(options.jobs, len(tasks)))):
            chunk = waiting[number]
            if "error" not in result:
                partials.save(folder.partial, chunk, result)
            elif options.fail_fast:
                raise DpexpError(f"{experiment.name}: a cell failed: {result['error']}", "--debug shows where")
            else:
                shown = result["traceback"] if options.debug else f"{experiment.name}: a cell failed: {result['error']}"
                note(shown, options.quiet and not options.debug)
            done.append((chunk, result))
            progress.advance(chunk.work)
    return done


def _assemble(
    todo: Sequence[CellPlan], results: Sequence[tuple[Chunk, dict[str, Any]]], folder: Folder
) -> tuple[dict[str, tuple[CellData, float]], dict[str, str]]:
    """Put the chunks of every cell together, after its stored replicates; and the errors of the cells that failed."""
    parts: dict[str, dict[int, tuple[np.ndarray, float]]] = {}
    steps: dict[str, np.ndarray] = {}
    failures: dict[str, str] = {}
    for chunk, result in results:
        for number, cell in enumerate(chunk.cells):
            if "error" in result:
                failures[cell.cell_id] = result["error"]
                continue
            parts.setdefault(cell.cell_id, {})[chunk.replicates[0]] = (
                result["values"][number],
                float(result["wall_s"]),
            )
            steps[cell.cell_id] = result["steps"]
    fresh: dict[str, tuple[CellData, float]] = {}
    for p in todo:
        cell = p.cell
        if cell.cell_id in failures:
            continue
        pieces = [values for _, (values, _) in sorted(parts[cell.cell_id].items())]
        if p.stored:
            try:
                pieces.insert(0, folder.read_cell(cell.cell_id).values)
            except Damaged as error:
                folder.set_aside(cell.cell_id)
                failures[cell.cell_id] = f"{error}; {SET_ASIDE}"
                continue
        wall = sum(wall for _, wall in parts[cell.cell_id].values())
        values = np.concatenate(pieces, axis=-1)
        data = CellData(steps[cell.cell_id], cell.algorithm.estimators, cell.algorithm.metrics, values)
        fresh[cell.cell_id] = (data, wall)
    return fresh, failures


def _account(
    report: Report,
    plans: Sequence[CellPlan],
    chosen: Sequence[CellPlan],
    fresh: dict[str, tuple[CellData, float]],
    failures: dict[str, str],
) -> None:
    """Fill in the report."""
    picked = {p.cell.cell_id for p in chosen}
    for p in plans:
        name = p.cell.cell_id
        if name not in picked:
            continue
        if name in failures:
            status, reason = "failed", failures[name]
        elif name in fresh:
            data, _ = fresh[name]
            wild = bool(too_far(data, p.cell.run.diverged_above).any())
            status, reason = ("diverged" if wild else "done"), p.reason
            report.diverged += wild
            report.computed += 1
        else:
            status, reason = "current", p.reason
            report.reused += 1
        report.failed += status == "failed"
        report.cells.append({"experiment": report.experiment, **identity(p.cell), "status": status, "reason": reason})


def identity(cell: Cell) -> dict[str, Any]:
    """What a cell is called in lists: its id and what is swept."""
    columns = cell.columns()
    shown = {k: columns.get(k, v) if k != "mu" else columns["budget"] for k, v in cell.swept.items()}
    return {"cell_id": cell.cell_id, **shown}
