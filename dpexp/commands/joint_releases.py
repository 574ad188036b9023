"""What all runs of an experiment release together of a user's own records, and what no statement covers.

A privacy statement is about one run: one setting, one replicate. On own records every setting has batches and noise of
its own (`dpexp.store.simulating`), so releases compose.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.config.cell_settings import label
from dpexp.config.cells import Cell, Experiment
from dpexp.core.errors import UsageError
from dpexp.core.text import counted, up
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.analyses.composition import composable, composition_of_runs
from dpexp.store.stats import Ended, row_of

NOT_PRIVATE = "Reproducible run: not private in deployment."
REPRODUCIBLE = (
    f"{NOT_PRIVATE} Noise and batches follow from run.seed, which manifest.json shows: whoever knows it can subtract "
    "the noise. dpexp run --deployment draws them from the operating system."
)
SECRET = (
    "Deployment: noise, batches and start are drawn from seeds of the operating system, which are not stored. The run "
    "cannot be reproduced, and running again would be a further release. The generator is not a cryptographic one, and "
    "floating-point noise is not covered."
)
NOT_MEASURED = (
    "Accuracy and loss are not covered, nor is the choice of a setting by them; for the best of a random number of "
    "runs see dpexp privacy --mechanism private-selection."
)
REPLICATES = {"first": "replicate 0", "all": "every replicate"}
"""by `run.release`"""


class Joint(NamedTuple):
    """All releases of one user's records, whose files are `places`, over the settings that release any.

    `relation` says which data sets are neighbours; it is empty, and there is no analysis, where settings disagree.
    """

    records: str
    places: Sequence[Path]
    settings: int
    releases: int
    relation: str
    analysis: Analysis | None

    def document(self, deltas: Sequence[float]) -> dict[str, Any]:
        """For programs."""
        eps, source = (self.analysis.eps, self.analysis.source) if self.analysis else (lambda delta: None, None)
        return {
            "records": self.records, "settings": self.settings, "releases": self.releases,
            "neighboring_relation": self.relation or None, "source": source,
            "eps": [[delta, eps(delta)] for delta in deltas],
        }  # fmt: skip


def joint(experiment: Experiment) -> list[Joint]:
    """The releases of all settings, by the records that they learn from."""
    joints = []
    for records, own in _by_records(experiment).items():
        if not (cells := [cell for cell in own if _estimators(cell)]):
            continue
        counts = [experiment.replicates if cell.run.release == "all" else 1 for cell in cells]
        mechanisms = [c.algorithm.mechanism(c.problem, c.schedule, c.privacy.mu, c.run.n) for c in cells]
        relations, relation, analysis = {mechanism.neighboring_relation for mechanism in mechanisms}, "", None
        if len(relations) == 1:
            relation = relations.pop()
            # a setting that releases every replicate is as many runs of it
            analysis = composition_of_runs([
                (composable(mechanism.upper_bounds(), experiment.deltas[0], _estimators(cell) == ("last",)), count)
                for mechanism, cell, count in zip(mechanisms, cells, counts, strict=True)
            ])  # fmt: skip
        joints.append(Joint(records, cells[0].problem.places(), len(cells), sum(counts), relation, analysis))
    return joints


def require_private_records(experiment: Experiment) -> None:
    """Raises UsageError unless every cell learns from a user's own records under a guarantee."""
    if not all(cell.problem.files() for cell in experiment.cells):
        hint = "it is for data: {path: ...}; simulated users and shipped data have nothing to hide"
        raise UsageError(f"{experiment.path}: --deployment is for runs on your own records", hint)
    # nor where the mechanism's own pairs of neighbours refute its statement
    rows = [row_of(cell, experiment.deltas, Ended(0, 0, None)) for cell in experiment.cells]
    pairs = zip(experiment.cells, rows, strict=True)
    if uncovered := [cell for cell, row in pairs if not _estimators(cell) or row.get("guarantee") is False]:
        which = f"{counted(len(uncovered), 'setting')}, the first is {uncovered[0].cell_id} {label(uncovered[0])}"
        hint = "a deployment releases only what an analysis covers: see dpexp privacy"
        raise UsageError(f"{experiment.path}: no guarantee covers {which.rstrip()}", hint)


def cautions(experiment: Experiment, deployed: bool = False) -> list[str]:
    """What an owner must know before results on own records are published; the noise of a deployment is secret."""
    joints, sentences = {releases.records: releases for releases in joint(experiment)}, list[str]()
    for records, cells in _by_records(experiment).items():
        words = [f"Released: nothing of {records}. No guarantee covers these runs, so no parameters are stored."]
        if releases := joints.get(records):
            estimators = " and ".join(dict.fromkeys(name for cell in cells for name in _estimators(cell)))
            which = " or ".join(sorted({REPLICATES[cell.run.release] for cell in cells}))
            each = f" of each of {releases.settings} settings" if releases.settings > 1 else ""
            words = [f"Released of {records}: the parameters ({estimators}) of {which}{each}."]
            if releases.analysis is None:
                words.append("Together: the settings have different neighbours, so no statement holds of all of them.")
            elif releases.releases > 1:
                eps = ", ".join(f"epsilon = {up(releases.analysis.eps(d))} at delta = {d:g}" for d in experiment.deltas)
                words.append(f"Together: these {releases.releases} releases spend {eps} (neighbours: "
                             f"{releases.relation}; {releases.analysis.source}). The statement of one of them holds if "
                             "that one alone is published.")  # fmt: skip
            words.append(NOT_MEASURED)
        sentences += [" ".join(words), SECRET if deployed else REPRODUCIBLE]
    return sentences


def _estimators(cell: Cell) -> tuple[str, ...]:
    """The estimators that a cell releases."""
    return cell.algorithm.releases(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)


def _by_records(experiment: Experiment) -> dict[str, list[Cell]]:
    """The cells on a user's own records, by the paths of these."""
    cells: dict[str, list[Cell]] = {}
    for cell in experiment.cells:
        if files := cell.problem.files():
            cells.setdefault(", ".join(files), []).append(cell)
    return cells
