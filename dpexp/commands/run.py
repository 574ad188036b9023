"""`dpexp run`: compute, confirm or plan the cells of experiments."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.answer import RESULTS, Answer, Pathname
from dpexp.commands.joint_releases import cautions, joint, require_private_records
from dpexp.config.cell_settings import identity, label, select
from dpexp.config.cells import Cell, Experiment
from dpexp.config.experiment_file import load_experiment
from dpexp.config.resources import processes_pay, require_room
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import CellFailed, UsageError
from dpexp.core.terminal import note
from dpexp.core.text import columns, counted, duration, few
from dpexp.reporting.text_table import fitting_columns
from dpexp.store.executors import BACKENDS, in_context
from dpexp.store.partials import chunks_to_compute
from dpexp.store.planning import CellPlan, plan, plan_of_deployment

if TYPE_CHECKING:
    from dpexp.commands.api import Config, Result
    from dpexp.store.experiment_run import Options, Report

Work = list[tuple[Experiment, "Options"]]
"""experiments, and how each of them is run"""


def run(
    config: Config, *, results: Pathname = RESULTS, jobs: int | None = None, only: str | None = None,
    force: bool = False, quiet: bool = True, deployment: bool = False, again: bool = False,
    scheduler: str | None = None, replicates: int | None = None,
) -> Result:  # fmt: skip
    """Compute what is missing or stale of an experiment. Raises CellFailed where a cell fails.

    `replicates` is another number of them than the config has, of a config that is not loaded yet. `scheduler` is the
    address of a dask cluster that computes, in place of threads of this process. `deployment` releases on private
    records: its noise is drawn from the operating system and cannot be drawn again. Records that were released into
    these results before are refused, unless `again` spends a second budget.
    """
    from dpexp.commands.api import Result, load
    from dpexp.commands.progress import progress

    experiment = load(config, replicates=replicates)
    with nullcontext() if quiet else progress("run"):
        answer = command(
            experiment, results=Path(results), jobs=jobs, only=only, force=force, quiet=quiet, deployment=deployment,
            again=again, backend="dask" if scheduler else "", scheduler=scheduler,
        )  # fmt: skip
    if failed := [cell for cell in answer["cells"] if cell["status"] == "failed"]:
        raise CellFailed(f"{len(failed)} cells failed, the first with: {failed[0]['reason']}")
    folder = Path(answer["experiments"][0]["folder"])
    return Result(folder.name, folder)


def command(
    *configs: Path | Experiment, set: Sequence[str] = (), only: str | None = None, jobs: int | None = None,
    backend: str = "", scheduler: str | None = None, replicates: int | None = None, profile: str = "paper",
    results: Path = RESULTS, force: bool = False, quiet: bool = False, verbose: bool = False,
    deployment: bool = False, again: bool = False, confirm: bool = False, part: str = "", dry_run: bool = False,
) -> Answer:  # fmt: skip
    """Run configs, or experiments that are loaded, one after the other.

    `part` is K/N, and computes the K-th of N shares of the chunks, which it keeps for a run that publishes; `confirm`
    computes a chunk of what code changes have touched, and no more; `dry_run` writes nothing.
    """
    from dpexp.store.experiment_run import Options

    dask = backend == "dask"
    _check_options(backend, scheduler, jobs, force, deployment, again, confirm, part)
    jobs = jobs or (0 if dask else os.cpu_count() or 1)  # a cluster has workers of its own
    experiments = _load_all(configs, set, replicates, profile, (jobs, dask, backend == "loky"))
    for experiment in experiments if deployment else ():
        require_private_records(experiment)
    cells = _selected_cells(experiments, only)
    work = [
        (experiment, Options(results, jobs, backend_of(experiment, backend, jobs), force, quiet, ids, deployment,
                             scheduler or ""))
        for experiment, ids in zip(experiments, cells, strict=True)
    ]  # fmt: skip
    if dry_run:
        return _dry_run(work, again)
    if confirm:
        return _confirm(work)
    for experiment in experiments:
        experiment.require_records()
        remarks = [] if quiet else experiment.remarks()  # they read the table once more
        for notice in (*experiment.notices(own=True), *remarks, *cautions(experiment, deployment)):
            note(f"{experiment.name}: {notice}", quiet)
    return _run_share(work, part) if part else _run_all(work, again, verbose)


def _check_options(
    backend: str, scheduler: str | None, jobs: int | None, force: bool, deployment: bool, again: bool, confirm: bool,
    part: str,
) -> None:  # fmt: skip
    """Raises UsageError where options do not go together."""
    dask, anew = backend == "dask", deployment or force
    for broken, message, hint in (
        (confirm and (anew or backend not in ("", "threads")),
         "--confirm goes with no --force, --deployment or --backend: it computes one chunk, here", ""),
        (part and (anew or confirm),
         "--part goes with no --deployment, --force or --confirm: it keeps chunks for a later run", ""),
        (again and not deployment, "--again is for --deployment", "--force computes anew what is no release"),
        (backend not in ("", *BACKENDS), f"--backend is one of {', '.join(BACKENDS)}, not {backend!r}", ""),
        (jobs is not None and jobs < 1, f"--jobs must be at least 1, not {jobs}", ""),
        (scheduler is not None and not dask, f"--scheduler is for --backend dask, not for {backend or 'threads'}",
         "add --backend dask"),
        (dask and not scheduler, "--backend dask needs --scheduler ADDRESS",
         "dask scheduler starts one and prints its address: --scheduler tcp://127.0.0.1:8786"),
        (dask and jobs, "--jobs is for threads and loky", "a cluster does as many tasks as its workers have threads"),
        (dask and deployment, "--deployment cannot run with --backend dask: a cluster may do a task twice, and a "
         "second noise of the same records is a second release", "use --backend threads or loky"),
    ):  # fmt: skip
        if broken:
            raise UsageError(message, hint)
    if dask:
        from dpexp.store.cluster import require_dask  # with what a worker does, which other runs do not need

        require_dask()


def _load_all(
    configs: Sequence[Path | Experiment], sets: Sequence[str], replicates: int | None, profile: str,
    workers: tuple[int, bool, bool],
) -> list[Experiment]:  # fmt: skip
    """All experiments, or all that is wrong with any of them: a mistake in the last is not found after hours."""
    experiments, issues = [], []
    for config in configs:
        try:
            how = sets, replicates, profile
            experiment = config if isinstance(config, Experiment) else load_experiment(config, *how)
            require_room(experiment, *workers)
            experiments.append(experiment)
        except ConfigError as error:
            issues += error.issues
    if issues:
        raise ConfigError(issues)
    # Each would take the other's results for stale.
    for name, count in Counter(experiment.name for experiment in experiments).items():
        if count > 1:
            raise UsageError(f"two configs describe the experiment '{name}'", "their results would share a folder")
    return experiments


def backend_of(experiment: Experiment, backend: str, jobs: int) -> str:
    """Where the chunks of an experiment are computed; empty for what `joblib.parallel_config` says."""
    if backend or in_context():
        return backend
    return "loky" if processes_pay(experiment, jobs) else "threads"


def _selected_cells(experiments: Sequence[Experiment], only: str | None) -> list[frozenset[str] | None]:
    """Ids of the cells of each experiment that are meant; None for all. Raises UsageError where none is."""
    if only is None:
        return [None] * len(experiments)
    cells = [{cell.cell_id: cell.columns() for cell in experiment.cells} for experiment in experiments]
    return [*select(only, cells)]


def _cells(experiment: Experiment, options: Options) -> list[Cell]:
    return [cell for cell in experiment.cells if options.only is None or cell.cell_id in options.only]


def _row(experiment: Experiment, p: CellPlan) -> dict[str, Any]:
    return {"experiment": experiment.name, **identity(p.cell), "status": p.status, "reason": p.reason}


def _dry_run(work: Work, again: bool) -> Answer:
    """What a run would do."""
    cells, rows, waiting = list[dict[str, Any]](), [], []
    for experiment, options in work:
        plans = plan(experiment, options.results, options.force)
        if options.deployment:
            refusal = "" if again else _refusal(_cells(experiment, options), options.results)[0]
            plans = plan_of_deployment(experiment)
            plans = [replace(p, status="refused", reason=refusal) for p in plans] if refusal else plans
        for p in plans:
            if options.only is None or p.cell.cell_id in options.only:
                waiting += [] if p.status in ("current", "refused") else [p]
                cells.append(_row(experiment, p))
                rows.append([experiment.name, p.cell.cell_id, label(p.cell), p.status, p.reason])
    chunks, steps = chunks_to_compute(waiting), sum(len(p.replicates) * p.cell.run.n for p in waiting)
    text = fitting_columns(rows, ["experiment", "cell", "setting", "status", "reason"])
    text += f"\n\n{len(waiting)} of {counted(len(cells), 'cell')} to compute"
    text += f": {counted(len(chunks), 'chunk')}, {counted(steps, 'step')}" if waiting else ""
    return Answer(text, {"cells": cells, "chunks": len(chunks), "steps": steps})


def _confirm(work: Work) -> Answer:
    """Whether today's code gives the numbers of stored cells; those are stamped."""
    from dpexp.store.planning import confirm

    rows, cells = [], []
    for experiment, options in work:
        plans = confirm(experiment, options.results, options.jobs, options.only, options.quiet)
        cells += [_row(experiment, p) for p in plans]
        states = ", ".join(f"{n} {status}" for status, n in Counter(p.status for p in plans).items())
        rows.append([experiment.name, states, few(list(dict.fromkeys(p.reason for p in plans)))])
    text = fitting_columns(rows, ["experiment", "cells", "how"])
    if stale := sorted({cell["experiment"] for cell in cells if cell["status"] != "current"}):
        text += f"\n\nto compute: {few(stale)}; dpexp run does"
    return Answer(text, {"cells": cells}, 3 if stale else 0)


def _run_share(work: Work, part: str) -> Answer:
    """Compute a share of the chunks."""
    from dpexp.store.experiment_run import run_part

    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", part)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--part is K/N with K from 1 to N, not {part!r}", "for instance --part 3/64")
    k, n = int(match[1]), int(match[2])
    shares = [run_part(experiment, options, k, n) for experiment, options in work]
    rows = [[s.experiment, f"{s.own - s.failed} of {s.own}", str(s.done), str(s.chunks - s.done)] for s in shares]
    text = fitting_columns(rows, ["experiment", f"part {k}/{n}", "chunks done", "missing"])
    if all(share.done == share.chunks for share in shares):
        text += "\n\nAll chunks are there: the same command without --part writes the results."
    document = {"part": k, "parts": n, "experiments": [asdict(share) for share in shares]}
    return Answer(text, document, int(any(share.failed for share in shares)))


def _run_all(work: Work, again: bool, verbose: bool) -> Answer:
    """Run experiments, or release them."""
    from dpexp.store.experiment_run import run

    reports = [_deploy(e, options, again) if options.deployment else run(e, options) for e, options in work]
    counts = ("computed", "reused", "diverged", "failed")
    numbers = [{name: getattr(report, name) for name in counts} for report in reports]
    rows = [
        [report.experiment, *map(str, own.values()), duration(report.wall_s), str(report.folder)]
        for report, own in zip(reports, numbers, strict=True)
    ]
    text = fitting_columns(rows, ["experiment", *counts, "time", "folder"])
    cells = [cell for report in reports for cell in report.cells]
    if unusual := [cell for cell in cells if verbose or cell["status"] in ("failed", "diverged")]:
        labels = {cell.cell_id: label(cell) for experiment, _ in work for cell in experiment.cells}
        text += "\n\n" + columns(list(_cell_rows(unusual, labels)))
    done = [
        {"experiment": report.experiment, "folder": str(report.folder), **own, "wall_s": report.wall_s}
        for report, own in zip(reports, numbers, strict=True)
    ]
    return Answer(text, {"cells": cells, "experiments": done}, int(any(report.failed for report in reports)))


def _cell_rows(cells: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> Iterable[list[str]]:
    """A row for each cell; a mistake that fails a hundred cells is written once."""
    reasons = set[str]()
    for cell in cells:
        repeated = cell["status"] == "failed" and cell["reason"] in reasons
        yield [cell["experiment"], cell["cell_id"], labels[cell["cell_id"]], cell["status"],
               "the same" if repeated else cell["reason"]]  # fmt: skip
        reasons |= {cell["reason"]} if cell["status"] == "failed" else set()


def _deploy(experiment: Experiment, options: Options, again: bool) -> Report:
    """Release cells, after what that spends was written down.

    Raises UsageError where their records were released before, unless a second budget may be spent.
    """
    from dpexp.store import receipts
    from dpexp.store.experiment_run import deploy, deployment_name

    cells = _cells(experiment, options)
    with receipts.alone(options.results):
        refusal = ("", "") if again else _refusal(cells, options.results)
        if refusal[0]:
            raise UsageError(f"{experiment.name}: {refusal[0]}", refusal[1])
        # the name has the second of its release: a further one within it waits for the next
        while True:
            at = datetime.now(UTC)
            name = deployment_name(experiment.name, at)
            if not any(path.name.startswith(name) for path in options.results.iterdir()):
                break
            time.sleep(0.1)
        begun = []
        for release in joint(replace(experiment, cells=tuple(cells))):
            eps = [[delta, release.analysis and release.analysis.eps(delta)] for delta in experiment.deltas]
            spent = {
                "result": name, "cells": [cell.cell_id for cell in cells], "eps": eps,
                "neighboring_relation": release.relation or "several",
                "records": receipts.records_in(release.places),
            }  # fmt: skip
            begun.append(receipts.begin(options.results / name, spent))
    report = deploy(experiment, options, at)
    for receipt in begun:
        receipt.done()
    return report


def _refusal(cells: Sequence[Cell], results: Path) -> tuple[str, str]:
    """Why records may not be released, and a hint; empty where they may."""
    from dpexp.store.receipts import records_in, why_refused

    places = {str(files): files for cell in cells if (files := cell.problem.places())}
    refusals = (why_refused(results, records_in(files)) for files in places.values())
    return next((refusal for refusal in refusals if refusal[0]), ("", ""))
