"""The privacy statement of a config, which `dpexp privacy` prints and `dpexp report` shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.joint_releases import cautions, joint, require_private_records
from dpexp.core.errors import NoSuchAnalysis, UsageError
from dpexp.reporting.statement import ConfigStatement, labelled

if TYPE_CHECKING:
    from dpexp.config.cells import Cell, Experiment
    from dpexp.privacy.mechanisms.mechanism import Released

RESULTS = Path("results")


def of_experiment(experiment: Experiment, deployment: bool = False) -> Located:
    """The privacy statement of an experiment that is loaded."""
    return Located(experiment.path, experiment, deployment)


class Located(ConfigStatement):
    """The statement of a config file, which names the file where an algorithm's mechanism is not what it says."""

    def __init__(self, path: Path, experiment: Experiment, deployment: bool) -> None:
        if deployment:
            require_private_records(experiment)
        self.path, self.deployment, self.name = path, deployment, experiment.name
        self.settings = len(experiment.cells)
        said, together = cautions(experiment, deployed=deployment), joint(experiment)
        if together:
            said.append("Earlier releases of these records add to this; dpexp run --deployment counts them.")
        super().__init__(released(experiment), experiment.deltas, experiment.notices(), said)
        self.together = [one.document(experiment.deltas) for one in together]

    def document(self) -> dict[str, Any]:
        """With `together`, the loss of all releases of the user's own records, and whether the noise is secret."""
        with self.located():
            return {**super().document(), "together": self.together, "deployment": self.deployment}

    def text(self) -> str:
        with self.located():
            return super().text()

    @contextmanager
    def located(self) -> Iterator[None]:
        """Within it, the file is named where no analysis is known."""
        try:
            yield
        except NoSuchAnalysis as error:
            raise UsageError(f"{self.path}: {error.message}", error.hint) from None


def released(experiment: Experiment) -> dict[str, Released]:
    """What the runs of an experiment release, each mechanism once, by a name of its own.

    The name has algorithm, problem, budget, and what else distinguishes the mechanism.
    """
    cells: dict[Released, list[Cell]] = {}
    for cell in experiment.cells:
        mechanism = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
        # Replicates, checkpoints and estimators are no part of a mechanism: many cells share one.
        cells.setdefault(mechanism, []).append(cell)
    found = []
    for mechanism, own in cells.items():
        by, of = (", ".join(dict.fromkeys(names)) for names in (
            (cell.algorithm.name for cell in own), (cell.problem.name for cell in own)))  # fmt: skip
        found.append((mechanism, f"{by} on {of}, {own[0].privacy.mu.label}", own[0].columns()))
    return labelled(found)
