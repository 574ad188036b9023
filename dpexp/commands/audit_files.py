"""`dpexp audit CONFIG --data A B` and `dpexp fit A ... --audit B`: all that leaves runs on two neighbouring files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.commands.audit import Audited, Effort, audit_all
from dpexp.core.errors import UsageError
from dpexp.core.terminal import each
from dpexp.privacy.analyses.analysis import ALL, gaussian_analysis
from dpexp.problems.softmax import Softmax
from dpexp.reporting.audit.files import Leaves, TwoFiles, bare, flat, neighbours, other_records

if TYPE_CHECKING:
    from dpexp.commands.fit_request import Request
    from dpexp.config.cells import Cell, Experiment

STORED = 4
"""deployments of each file, in turn, whose stored and printed words are compared"""
UNCOVERED = "measured accuracy and loss, which no statement covers"


def of_config(path: Path, sets: Sequence[str], data: tuple[Path, Path], effort: Effort) -> Audited:
    """Audit all that leaves runs of a config on either file, which takes the place of its own records'."""
    from dpexp.commands.joint_releases import joint, require_private_records

    experiments = [_on(path, sets, file) for file in data]
    require_private_records(experiments[0])
    (released,) = joint(experiments[0])
    if released.analysis is None:
        raise UsageError(f"{path}: the settings have different neighbours, so nothing is stated of all of them")
    rows = neighbours(data, released.relation)
    encoded = [_encoded(experiment.cells) for experiment in experiments]
    # In turn, so that a clock or a cache that changes with time does not tell the files apart.
    turns = [(world, experiments[world]) for _ in range(STORED) for world in (0, 1)]
    seen: tuple[list[Leaves], list[Leaves]] = ([], [])
    for world, experiment in each(turns, "deployment", lambda turn: str(data[turn[0]])):
        seen[world].append(stored(experiment, data))
    audited = TwoFiles(
        ", ".join(dict.fromkeys(cell.algorithm.name for cell in experiments[0].cells)),
        f"{experiments[0].name} on {data[0].name} or {data[1].name}",
        released.analysis,
        released.relation,
        tuple(_released(experiment) for experiment in experiments),
    )
    leaks = [*other_records(encoded[0], encoded[1], rows), *bare(seen), *bare(audited.first)]
    return audit_all([audited] if audited.columns else [], leaks, [UNCOVERED], effort, experiments[0].deltas)


def of_fit(request: Request, other: Path, effort: Effort) -> Audited:
    """Audit all that `dpexp fit` prints of either file."""
    from dpexp.commands import fit as command
    from dpexp.commands.fit_shown import DELTAS

    if not isinstance(request.data, Path) or request.plan or request.deployment or request.out is not None:
        raise UsageError(
            "--audit runs fits of DATA and of its neighbour, and keeps none", "leave out --plan, --out, ..."
        )
    files = (request.data, other)
    neighbours(files, "replace-one", request.person)
    requests = [replace(request, data=file) for file in files]

    def printed(own: Request) -> Callable[[int], Leaves]:
        def leaves(drawn: int) -> Leaves:
            # A rehearsal with another seed stands for the noise of a deployment.
            report = command.fit(replace(own, seed=drawn))
            lines = enumerate(report.text().replace(str(own.data), "DATA").splitlines(), 1)
            return {**dict(flat(report.document())), **{f"line {k}": line for k, line in lines}}

        return leaves

    encoded = [_entering(own) for own in requests]
    # One fit says what the budget is, of whichever option it comes.
    largest = command.fit(replace(request, seed=0)).largest
    stated = gaussian_analysis("gdp", "the fit's own budget", ALL, largest, ())
    audited = TwoFiles(
        "central-newton" if request.central else "staged-newton",
        f"fit of {request.formula or request.target} on {files[0].name} or {files[1].name}",
        stated,
        "replace-one",
        tuple(printed(own) for own in requests),
    )
    leaks = [*other_records(encoded[0], encoded[1], 1), *bare(audited.first)]
    return audit_all([audited] if audited.columns else [], leaks, [], effort, DELTAS)


def _entering(request: Request) -> list[tuple[str, bytes, bytes, float]]:
    """Covariates, responses and budget of every record or person that enters a fit, for one public order."""
    from dpexp.commands.fit import entering

    records, mu, _ = entering(request, 0)
    # A person's rows stand together, and are compared as one record.
    cuts = np.searchsorted(records.owners, np.arange(1, records.n))
    held = zip(np.split(records.x, cuts), np.split(records.y, cuts), mu, strict=True)
    return [("fit", x.tobytes(), y.tobytes(), float(m)) for x, y, m in held]


def _on(path: Path, sets: Sequence[str], file: Path) -> Experiment:
    """The experiment with a file in the place of its own records'."""
    from dpexp.config.experiment_file import load_experiment

    own = load_experiment(path, sets)
    problems = [cell.problem for cell in own.cells if isinstance(cell.problem, Softmax) and cell.problem.data.path]
    # Only what the config says of its table: the file may have other defaults.
    told = [{**problem.data.model_dump(exclude_unset=True), "path": str(file.resolve())} for problem in problems]
    given = set(map(json.dumps, told))
    if len(given) != 1 or len(problems) != len(own.cells):
        raise UsageError(f"{path}: --data is for configs whose settings all learn from one table", "data: {path: ...}")
    return load_experiment(path, [*sets, f"problem.data={given.pop()}"])


def _encoded(cells: Sequence[Cell]) -> list[tuple[str, bytes, int]]:
    """The encoded records of the first setting in their order, each with the part that it is in."""
    problem = cells[0].problem
    assert isinstance(problem, Softmax)
    return [
        (part, x.tobytes(), int(y))
        for part, data in zip(("train", "test"), problem.split, strict=True)
        for x, y in zip(data.features, data.labels, strict=True)
    ]


def _released(experiment: Experiment) -> Callable[[int], Leaves]:
    """The released parameters of a run with this seed, by the code and in the form in which they are stored."""
    from dpexp.store.simulating import Failed, simulate

    def leaves(drawn: int) -> Leaves:
        found: dict[str, Any] = {}
        for number, cell in enumerate(experiment.cells):
            count = experiment.replicates if cell.run.release == "all" else 1
            own = replace(cell, run=cell.run.model_copy(update={"seed": drawn}))
            done = simulate([own], range(count))
            if isinstance(done, Failed):
                raise UsageError(f"{experiment.path}: {done.error}")
            (model,) = done.models
            assert model is not None  # a deployment releases only what is covered, and that was asked
            for place, estimator in enumerate(model):
                found |= {f"setting {number}, estimate {place}, replicate {r}": one for r, one in enumerate(estimator)}
        return found

    return leaves


def stored(experiment: Experiment, data: Sequence[Path]) -> Leaves:
    """What a deployment stores beside its parameters, and what it prints: the statement and the page.

    Both files of `data` go by one name, and so do the settings.
    """
    from dpexp.commands.config_statement import of_experiment
    from dpexp.commands.report import report
    from dpexp.store.files import read_sealed
    from dpexp.store.folder import Folder
    from dpexp.store.run import Options, run

    with TemporaryDirectory() as folder:
        run(experiment, Options(Path(folder), quiet=True, deployment=True))
        place = Folder(Path(folder), experiment.name)
        models = {cell.cell_id: read_sealed(place.model(cell.cell_id)).metadata for cell in experiment.cells}
        for released in models.values():
            released.pop("records", None)  # a hash that is keyed with a secret of the owner's
        cells = read_sealed(place.cells).table().to_pylist()
        page = report(place.root, None).read_text()
        manifest = json.loads(place.manifest.read_text())
        del manifest["seals"], manifest["checksum"]  # of what is compared itself
    said = [of_experiment(experiment, deployment=True).text(), *experiment.notices(), _words(page)]
    document = {"manifest": manifest, "cells": cells, "models": models, "printed": [text.splitlines() for text in said]}
    text = json.dumps(document, default=str)
    # A cell's id is a hash of its file's path too.
    for number, cell in enumerate(experiment.cells):
        text = text.replace(cell.cell_id, f"setting {number}")
    # Whole paths before names, which they contain.
    for name in (*(str(file.resolve()) for file in data), *(file.name for file in data), folder):
        text = text.replace(json.dumps(name)[1:-1], "DATA")
    return dict(flat(json.loads(text)))


def _words(page: str) -> str:
    """The text of a page, a line for each of its elements, but for measured values, which are named as uncovered."""
    bare_page = re.sub(r"<(script|style|svg).*?</\1>", "", page, flags=re.DOTALL)
    # Measured values differ between any two files, and are named as uncovered.
    bare_page = re.sub(r'<section id="final".*?</section>', "", bare_page, flags=re.DOTALL)
    return "\n".join(line for line in unescape(re.sub(r"<[^>]*>", "\n", bare_page)).splitlines() if line.strip())
