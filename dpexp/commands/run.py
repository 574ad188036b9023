"""`dpexp run`: compute or plan the cells of experiments."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.command_answer import RESULTS, Answer
from dpexp.commands.joint_releases import cautions, joint, require_private_records
from dpexp.config.cell_settings import columns_of, label, select
from dpexp.config.cells import Cell, Experiment
from dpexp.config.experiment_file import load_experiment
from dpexp.config.resources import require_room
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import UsageError
from dpexp.core.terminal import note
from dpexp.core.text import columns, counted, duration
from dpexp.reporting.text_table import folded
from dpexp.store.executors import BACKENDS, require_dask
from dpexp.store.partials import chunks_to_compute
from dpexp.store.planning import plan, plan_of_deployment

if TYPE_CHECKING:
    from dpexp.store.experiment_run import Options, Report

Work = list[tuple[Experiment, "Options"]]
"""experiments, and how each of them is run"""


def command(
    *configs: Path | Experiment, set: Sequence[str] = (), only: str | None = None, jobs: int | None = None,
    backend: str = "", scheduler: str | None = None, replicates: int | None = None, profile: str = "paper",
    results: Path = RESULTS, force: bool = False, quiet: bool = False, verbose: bool = False,
    deployment: bool = False, again: bool = False, part: str = "", dry_run: bool = False,
) -> Answer:  # fmt: skip
    """Run configs, or experiments that are loaded, one after the other.

    `part` is K/N, and computes the K-th of N shares of the chunks, which it keeps for a run that publishes; `dry_run`
    writes nothing. Raises UsageError where options do not go together.
    """
    from dpexp.store.experiment_run import Options

    dask = backend == "dask"
    for conflict, message, hint in (
        (part and (deployment or force), "--part goes with neither --deployment nor --force", ""),
        (again and not deployment, "--again is for --deployment", "--force computes anew what is no release"),
        (backend not in ("", *BACKENDS), f"--backend is one of {', '.join(BACKENDS)}, not {backend!r}", ""),
        (jobs is not None and jobs < 1, f"--jobs must be at least 1, not {jobs}", ""),
        (dask != bool(scheduler), "--backend dask and --scheduler ADDRESS go together",
         "dask scheduler starts one and prints its address: --scheduler tcp://127.0.0.1:8786"),
        (dask and deployment, "--deployment cannot run with --backend dask: a cluster may do a task twice, and a "
         "second noise of the same records is a second release", "use --backend threads or loky"),
    ):  # fmt: skip
        if conflict:
            raise UsageError(message, hint)
    if dask:
        require_dask()
    jobs = 0 if dask else jobs or os.cpu_count() or 1  # a cluster has workers of its own
    experiments, issues = list[Experiment](), []
    # a mistake in the last config is not found after hours
    for config in configs:
        try:
            how = set, replicates, profile
            experiments.append(config if isinstance(config, Experiment) else load_experiment(config, *how))
            require_room(experiments[-1], jobs, dask, backend == "loky")
        except ConfigError as error:
            issues += error.issues
    if issues:
        raise ConfigError(issues)
    # Each would take the other's results for stale.
    names = [experiment.name for experiment in experiments]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"two configs describe the experiment '{repeated[0]}'", "their results would share a folder")
    for experiment in experiments if deployment else ():
        require_private_records(experiment)
    known = [columns_of(experiment.cells) for experiment in experiments] if only else []
    work = []
    for experiment, ids in zip(experiments, select(only, known) if only else [None] * len(names), strict=True):
        work.append((experiment, Options(results, jobs, backend, force, quiet, ids, deployment, scheduler or "")))
    if dry_run:
        return _dry_run(work, again)
    for experiment in experiments:
        experiment.require_records()
        remarks = [] if quiet else experiment.remarks()  # they read the table once more
        for notice in (*experiment.notices(own=True), *remarks, *cautions(experiment, deployment)):
            note(f"{experiment.name}: {notice}", quiet)
    return _run_share(work, part) if part else _run_all(work, again, verbose)


def _cells(experiment: Experiment, options: Options) -> list[Cell]:
    return [cell for cell in experiment.cells if options.only is None or cell.cell_id in options.only]


def _dry_run(work: Work, again: bool) -> Answer:
    """What a run would do, as a row for each cell."""
    cells, rows, waiting = list[dict[str, Any]](), list[list[str]](), []
    for experiment, options in work:
        deploys = options.deployment
        plans = plan_of_deployment(experiment) if deploys else plan(experiment, options.results, options.force)
        refusal = _refusal(_cells(experiment, options), options.results)[0] if deploys and not again else ""
        for p in options.select(plans):
            status, reason = ("refused", refusal) if refusal else (p.status, p.reason)
            waiting += [] if status in ("current", "refused") else [p]
            names = {"experiment": experiment.name, "cell_id": p.cell.cell_id}
            rows.append([*names.values(), label(p.cell), status, reason])
            cells.append({**names, **p.cell.setting(), "status": status, "reason": reason})
    chunks, steps = chunks_to_compute(waiting), sum(len(p.replicates) * p.cell.run.n for p in waiting)
    text = folded(["experiment", "cell", "setting", "status", "reason"], rows)
    text += f"\n\n{len(waiting)} of {counted(len(cells), 'cell')} to compute"
    text += f": {counted(len(chunks), 'chunk')}, {counted(steps, 'step')}" if waiting else ""
    return Answer(text, {"cells": cells, "chunks": len(chunks), "steps": steps})


def _run_share(work: Work, part: str) -> Answer:
    """Compute a share of the chunks."""
    from dpexp.store.experiment_run import run_part

    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", part)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--part is K/N with K from 1 to N, not {part!r}", "for instance --part 3/64")
    k, n = map(int, match.groups())
    shares = [run_part(experiment, options, k, n) for experiment, options in work]
    rows = [[s.experiment, f"{s.own - s.failed} of {s.own}", str(s.done), str(s.chunks - s.done)] for s in shares]
    text = folded(["experiment", f"part {k}/{n}", "chunks done", "missing"], rows)
    if all(share.done == share.chunks for share in shares):
        text += "\n\nAll chunks are there: the same command without --part writes the results."
    document = {"part": k, "parts": n, "experiments": [asdict(share) for share in shares]}
    return Answer(text, document, int(any(share.failed for share in shares)))


def _run_all(work: Work, again: bool, verbose: bool) -> Answer:
    """Run experiments, or release them."""
    from dpexp.store.experiment_run import run

    reports = [_deploy(e, options, again) if options.deployment else run(e, options) for e, options in work]
    keys = ("experiment", "computed", "reused", "diverged", "failed", "wall_s", "folder")
    done = [{key: getattr(report, key) for key in keys} for report in reports]
    rows = [[str(row[key]) if key != "wall_s" else duration(row[key]) for key in keys] for row in done]
    text = folded([*keys[:5], "time", "folder"], rows)
    cells = [cell for report in reports for cell in report.cells]
    labels = {cell.cell_id: label(cell) for experiment, _ in work for cell in experiment.cells}
    # a mistake may fail a hundred cells, and is written once
    unusual = {cell["reason"]: cell for cell in reversed(cells) if cell["status"] in ("failed", "diverged")}
    if shown := cells if verbose else [*reversed(unusual.values())]:
        rows = [[c["experiment"], c["cell_id"], labels[c["cell_id"]], c["status"], c["reason"]] for c in shown]
        text += "\n\n" + columns(rows)
    document = {"cells": cells, "experiments": [{**row, "folder": str(row["folder"])} for row in done]}
    return Answer(text, document, int(any(report.failed for report in reports)))


def _deploy(experiment: Experiment, options: Options, again: bool) -> Report:
    """Release cells, after what that spends was written down. Raises UsageError for a second release not meant."""
    from dpexp.store import receipts
    from dpexp.store.experiment_run import deploy, deployment_name

    cells = _cells(experiment, options)
    with receipts.alone(options.results):
        refusal, hint = ("", "") if again else _refusal(cells, options.results)
        if refusal:
            raise UsageError(f"{experiment.name}: {refusal}", hint)
        name = deployment_name(experiment.name, at := datetime.now(UTC))
        # the name has the second of its release: a further one within it waits for the next
        while any(path.name.startswith(name) for path in options.results.iterdir()):
            time.sleep(0.1)
            name = deployment_name(experiment.name, at := datetime.now(UTC))
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
