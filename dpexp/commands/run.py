"""`dpexp run`."""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.joint_releases import cautions, joint, require_private_records
from dpexp.config.cell_settings import identity, label, matches
from dpexp.config.cells import Cell, Experiment
from dpexp.config.experiment_file import load_experiment
from dpexp.config.resources import processes_pay, require_room
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import UsageError
from dpexp.core.terminal import note
from dpexp.core.text import columns, counted, duration, few
from dpexp.reporting.text_table import fitting_columns
from dpexp.store.executors import BACKENDS, in_context
from dpexp.store.partials import chunks_to_compute
from dpexp.store.planning import CellPlan, plan, plan_of_deployment

if TYPE_CHECKING:
    from dpexp.store.experiment_run import Options, Report


Answer = tuple[dict[str, Any], str, int]
"""document, text and exit code of a command"""


@dataclass(frozen=True)
class Request:
    """The command line of `dpexp run`."""

    configs: tuple[Path | Experiment, ...] = ()
    """files, or experiments that are loaded"""
    sets: tuple[str, ...] = ()
    only: str | None = None
    jobs: int = 1
    """workers on this machine; 0 where a cluster has the workers"""
    backend: str = ""
    """one of BACKENDS; where it is empty the algorithm decides"""
    scheduler: str | None = None
    replicates: int | None = None
    profile: str = "paper"
    results: Path = Path("results")
    force: bool = False
    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    deployment: bool = False
    """draw noise from the operating system, and forget its seeds"""
    again: bool = False
    """release although these records were released before"""
    confirm: bool = False
    """compute a chunk of what code changes have touched, and no more"""
    part: str = ""
    """K/N: compute the K-th of N shares of the chunks, and keep them for a run that publishes"""


def command(jobs: int, backend: str, dry_run: bool, **options: Any) -> Answer:
    """As the command line has it: all cores where no number of jobs is given; a cluster has workers of its own."""
    here = 0 if backend == "dask" else os.cpu_count() or 1
    request = Request(jobs=jobs or here, backend=backend, debug="--debug" in sys.argv, **options)
    return _dry_run(request) if dry_run else run(request)


def load_all(request: Request) -> list[Experiment]:
    """All experiments, or all that is wrong with any of them."""
    check_options(request)
    experiments, issues = [], []
    for one in request.configs:
        try:
            # All of them before anything runs: a mistake in the last is not found after hours.
            how = request.sets, request.replicates, request.profile
            experiment = one if isinstance(one, Experiment) else load_experiment(one, *how)
            require_room(experiment, request.jobs, request.backend == "dask", request.backend == "loky")
            experiments.append(experiment)
        except ConfigError as error:
            issues += error.issues
    if issues:
        raise ConfigError(issues)
    # Each would take the other's results for stale.
    for name, count in Counter(experiment.name for experiment in experiments).items():
        if count > 1:
            raise UsageError(f"two configs describe the experiment '{name}'", "their results would share a folder")
    for experiment in experiments if request.deployment else ():
        require_private_records(experiment)
    return experiments


def check_options(request: Request) -> None:
    """Raises UsageError where options do not fit together."""
    dask, anew = request.backend == "dask", request.deployment or request.force
    for broken, message, hint in (
        (request.confirm and (anew or request.backend not in ("", "threads")),
         "--confirm goes with no --force, --deployment or --backend: it computes one chunk, here", ""),
        (request.part and (anew or request.confirm),
         "--part goes with no --deployment, --force or --confirm: it keeps chunks for a later run", ""),
        (request.again and not request.deployment, "--again is for --deployment",
         "--force computes anew what is no release"),
        (request.backend not in ("", *BACKENDS), f"--backend is one of {', '.join(BACKENDS)}, not {request.backend!r}",
         ""),
        (request.jobs < (not dask), f"--jobs must be at least 1, not {request.jobs}", ""),
        (request.scheduler is not None and not dask,
         f"--scheduler is for --backend dask, not for {request.backend or 'threads'}", "add --backend dask"),
        (dask and not request.scheduler, "--backend dask needs --scheduler ADDRESS",
         "dask scheduler starts one and prints its address: --scheduler tcp://127.0.0.1:8786"),
        (dask and request.jobs, "--jobs is for threads and loky",
         "a cluster does as many tasks as its workers have threads"),
        (dask and request.deployment, "--deployment cannot run with --backend dask: a cluster may do a task twice, and "
         "a second noise of the same records is a second release", "use --backend threads or loky"),
    ):  # fmt: skip
        if broken:
            raise UsageError(message, hint)
    if dask:
        from dpexp.store.cluster import require_dask  # with what a worker does, which other runs do not need

        require_dask()


def backend_of(experiment: Experiment, request: Request) -> str:
    """Where the chunks of an experiment are computed."""
    if request.backend or in_context():
        return request.backend
    return "loky" if processes_pay(experiment, request.jobs) else "threads"


def _chosen(experiments: list[Experiment], only: str | None) -> dict[str, frozenset[str] | None]:
    """Ids of the cells that are meant, by experiment; None for all. Raises UsageError where none is."""
    if only is None:
        return {experiment.name: None for experiment in experiments}
    columns = {one.name: {cell.cell_id: cell.columns() for cell in one.cells} for one in experiments}
    # A name that one experiment has is no mistake in another.
    known = dict.fromkeys(name for cells in columns.values() for own in cells.values() for name in own)
    ids = {
        experiment: frozenset(cell_id for cell_id, own in cells.items() if matches(only, own, known))
        for experiment, cells in columns.items()
    }
    if not any(ids.values()):
        raise UsageError(f"--only {only!r} matches no cell")
    return {**ids}


def _dry_run(request: Request) -> Answer:
    """What a run would do: document, text, exit code. Writes nothing."""
    experiments = load_all(request)
    ids = _chosen(experiments, request.only)
    cells: list[dict[str, Any]] = []
    rows: list[list[str]] = []
    waiting: list[CellPlan] = []
    for experiment in experiments:
        only = ids[experiment.name]
        plans: list[CellPlan] = plan(experiment, request.results, request.force)
        if request.deployment:
            refused = "" if request.again else _refusal(_of(experiment, only), request.results)[0]
            plans = plan_of_deployment(experiment)
            plans = [replace(p, status="refused", reason=refused) for p in plans] if refused else plans
        for p in plans:
            if only is not None and p.cell.cell_id not in only:
                continue
            waiting += [] if p.status in ("current", "refused") else [p]
            cells.append(_row(experiment, p.cell, p.status, p.reason))
            rows.append([experiment.name, p.cell.cell_id, label(p.cell), p.status, p.reason])
    chunks, steps = chunks_to_compute(waiting), sum(len(p.replicates) * p.cell.run.n for p in waiting)
    text = fitting_columns(rows, ["experiment", "cell", "setting", "status", "reason"])
    text += f"\n\n{len(waiting)} of {counted(len(cells), 'cell')} to compute"
    text += f": {counted(len(chunks), 'chunk')}, {counted(steps, 'step')}" if waiting else ""
    return {"cells": cells, "chunks": len(chunks), "steps": steps}, text, 0


def _row(experiment: Experiment, cell: Cell, status: str, reason: str) -> dict[str, Any]:
    return {"experiment": experiment.name, **identity(cell), "status": status, "reason": reason}


def run(request: Request) -> Answer:
    """Run, or confirm what is stored."""
    experiments = load_all(request)
    if request.part:
        return _run_share(experiments, request)
    return _confirm_all(experiments, request) if request.confirm else run_all(experiments, request)


def _run_share(experiments: list[Experiment], request: Request) -> Answer:
    """Compute a share of the chunks."""
    from dpexp.store.experiment_run import run_part

    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", request.part)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--part is K/N with K from 1 to N, not {request.part!r}", "for instance --part 3/64")
    part, parts = int(match[1]), int(match[2])
    shares = [run_part(share, options, part, parts) for share, options in _options(experiments, request)]
    rows = [[s.experiment, f"{s.own - s.failed} of {s.own}", str(s.done), str(s.chunks - s.done)] for s in shares]
    text = fitting_columns(rows, ["experiment", f"part {part}/{parts}", "chunks done", "missing"])
    if all(share.done == share.chunks for share in shares):
        text += "\n\nAll chunks are there: the same command without --part writes the results."
    document = {"part": part, "parts": parts, "experiments": [asdict(share) for share in shares]}
    return document, text, int(any(share.failed for share in shares))


def _confirm_all(experiments: list[Experiment], request: Request) -> Answer:
    """Say of stored cells if today's code gives their numbers, and stamp those."""
    from dpexp.store.planning import confirm

    ids = _chosen(experiments, request.only)
    rows, cells = [], []
    for experiment in experiments:
        plans = confirm(experiment, request.results, request.jobs, ids[experiment.name], request.quiet)
        cells += [_row(experiment, p.cell, p.status, p.reason) for p in plans]
        states = ", ".join(f"{n} {status}" for status, n in Counter(p.status for p in plans).items())
        rows.append([experiment.name, states, few(list(dict.fromkeys(p.reason for p in plans)))])
    text = fitting_columns(rows, ["experiment", "cells", "how"])
    open_ones = sorted({cell["experiment"] for cell in cells if cell["status"] != "current"})
    if open_ones:
        text += f"\n\nto compute: {few(open_ones)}; dpexp run does"
    return {"cells": cells}, text, 3 if open_ones else 0


def _of(experiment: Experiment, only: frozenset[str] | None) -> list[Cell]:
    return [cell for cell in experiment.cells if only is None or cell.cell_id in only]


def _deploy(experiment: Experiment, options: Options, request: Request) -> Report:
    """Release cells, after what that spends was written down.

    Raises UsageError where their records were released before, unless the request says `again`.
    """
    from dpexp.store import receipts
    from dpexp.store.experiment_run import deploy, deployment_name

    cells = _of(experiment, options.only)
    with receipts.alone(request.results):
        refusal = ("", "") if request.again else _refusal(cells, request.results)
        if refusal[0]:
            raise UsageError(f"{experiment.name}: {refusal[0]}", refusal[1])
        # the name has the second of its release: a further one within it waits for the next
        while True:
            at = datetime.now(UTC)
            name = deployment_name(experiment.name, at)
            if not any(path.name.startswith(name) for path in request.results.iterdir()):
                break
            time.sleep(0.1)
        begun = []
        for one in joint(replace(experiment, cells=tuple(cells))):
            eps = [[delta, None if one.analysis is None else one.analysis.eps(delta)] for delta in experiment.deltas]
            spent = {
                "result": name, "cells": [cell.cell_id for cell in cells], "eps": eps,
                "neighboring_relation": one.relation or "several", "records": receipts.records_in(one.places),
            }  # fmt: skip
            begun.append(receipts.begin(request.results / name, spent))
    report = deploy(experiment, options, at)
    for receipt in begun:
        receipt.done()
    return report


def _refusal(cells: Sequence[Cell], results: Path) -> tuple[str, str]:
    """Why records may not be released, and a hint; empty where they may."""
    from dpexp.store.receipts import records_in, why_refused

    named = {str(places): places for cell in cells if (places := cell.problem.places())}
    refusals = (why_refused(results, records_in(places)) for places in named.values())
    return next((why for why in refusals if why[0]), ("", ""))


def _options(experiments: list[Experiment], request: Request) -> Iterator[tuple[Experiment, Options]]:
    """How each experiment is run; of each it is said first what should be known of it."""
    from dpexp.store.experiment_run import Options

    ids = _chosen(experiments, request.only)
    for experiment in experiments:
        experiment.require_records()
        odd = [] if request.quiet else experiment.remarks()  # they read the table once more
        for notice in (*experiment.notices(own=True), *odd, *cautions(experiment, request.deployment)):
            note(f"{experiment.name}: {notice}", request.quiet)
        yield experiment, Options(
            request.results, request.jobs, backend_of(experiment, request), request.force, request.quiet,
            ids[experiment.name], request.debug, request.deployment, request.scheduler or "",
        )  # fmt: skip


def run_all(experiments: list[Experiment], request: Request) -> Answer:
    """Run experiments that are loaded, one after the other."""
    from dpexp.store.experiment_run import run

    reports = [
        _deploy(experiment, options, request) if request.deployment else run(experiment, options)
        for experiment, options in _options(experiments, request)
    ]
    counts = ("computed", "reused", "diverged", "failed")
    done, rows = list[dict[str, Any]](), []
    for r in reports:
        numbers = {"computed": r.computed, "reused": r.reused, "diverged": r.diverged, "failed": r.failed}
        done.append({"experiment": r.experiment, "folder": str(r.folder), **numbers, "wall_s": r.wall_s})
        rows.append([r.experiment, *map(str, numbers.values()), duration(r.wall_s), str(r.folder)])
    text = fitting_columns(rows, ["experiment", *counts, "time", "folder"])
    cells = [cell for r in reports for cell in r.cells]
    unusual = [c for c in cells if request.verbose or c["status"] in ("failed", "diverged")]
    if unusual:
        labels = {cell.cell_id: label(cell) for experiment in experiments for cell in experiment.cells}
        # A mistake that fails a hundred cells is written once.
        first = {c["reason"]: c for c in reversed(unusual) if c["status"] == "failed"}
        text += "\n\n" + columns([
            [c["experiment"], c["cell_id"], labels[c["cell_id"]], c["status"],
             "the same" if first.get(c["reason"], c) is not c else c["reason"]] for c in unusual
        ])  # fmt: skip
    return {"cells": cells, "experiments": done}, text, int(any(r.failed for r in reports))
