"""`dpexp privacy`: the privacy statement of a config, of a mechanism given by its parameters, or of a file of users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.mechanism_arguments import deltas_of, mechanism_of, orders_of, understood, values_of
from dpexp.commands.privacy_of_users import of_users
from dpexp.core.errors import UsageError
from dpexp.privacy.analyses.analysis import ORDERS
from dpexp.privacy.mechanisms.stated import NoSuchAnalysis
from dpexp.reporting.statement import ConfigStatement, MechanismStatement, Statement, labelled

if TYPE_CHECKING:
    from dpexp.algorithms.algorithm import Released
    from dpexp.config import Experiment
    from dpexp.reporting.tradeoff import Attacker, Questions

FIGURES = Path("results/figures")
"""where a figure goes if no folder is named, as with `dpexp plot`"""

__all__ = ["Statement", "of_config", "of_mechanism", "of_users", "only_path"]


def only_path(arguments: Sequence[str] | None) -> Path:
    """The one config file that is meant. Raises UsageError where there is none, or more."""
    if arguments is None or len(arguments) != 1:
        raise UsageError("privacy takes one config file, --mechanism NAME key=value ..., or --users FILE")
    return Path(arguments[0])


def of_config(path: Path, sets: Sequence[str], deployment: bool = False) -> Located:
    """The privacy statement of a config's mechanisms, each once; of a deployment, where that is asked for."""
    from dpexp.config import load_experiment

    return of_experiment(load_experiment(path, sets), deployment)


def of_experiment(experiment: Experiment, deployment: bool = False) -> Located:
    """The privacy statement of an experiment that is loaded."""
    return Located(experiment.path, experiment, deployment)


class Located(ConfigStatement):
    """The statement of a config file, which names the file where an algorithm's mechanism is not what it says."""

    def __init__(self, path: Path, experiment: Experiment, deployment: bool = False) -> None:
        from dpexp.commands.notices import notices
        from dpexp.commands.sharing import cautions, joint

        if deployment:
            from dpexp.commands.run import require_private_records

            require_private_records(experiment)
        self.path, self.deployment = path, deployment
        said = cautions(experiment, deployment=deployment)
        super().__init__(released(experiment), experiment.deltas, notices(experiment), said)
        self.together = [one.document(experiment.deltas) for one in joint(experiment)]

    def document(self) -> dict[str, Any]:
        """With `together`, what all releases of the user's own records give away, and whether the noise is secret."""
        with self._located():
            return {**super().document(), "together": self.together, "deployment": self.deployment}

    def text(self) -> str:
        with self._located():
            return super().text()

    @contextmanager
    def _located(self) -> Iterator[None]:
        try:
            yield
        except NoSuchAnalysis as error:
            raise UsageError(f"{self.path}: {error.message}", error.hint) from None


def released(experiment: Experiment) -> dict[str, Released]:
    """What the runs of an experiment release, each mechanism once, by a name of its own.

    The name has algorithm, problem, budget, and what else tells the mechanism from others.
    """
    found: dict[Released, tuple[str, Mapping[str, Any]]] = {}
    for cell in experiment.cells:
        mechanism = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
        name = f"{cell.algorithm.name} on {cell.problem.name}, {cell.privacy.mu.label}"
        found.setdefault(mechanism, (name, cell.columns()))
    return labelled([(mechanism, name, columns) for mechanism, (name, columns) in found.items()])


def of_mechanism(
    name: str, pairs: Sequence[str], force: bool = False, tradeoff: bool = False, out: Path | None = None
) -> Understood:
    """The privacy statement of a mechanism. `force` lets refused analyses compete for the best.

    Questions about an attacker are answered below it, and `tradeoff` draws a figure into the folder `out`.
    """
    from dpexp.commands.attacker import split

    pairs, asked = split(pairs, tradeoff)
    values = values_of(pairs)
    deltas, orders = deltas_of(values), orders_of(values)
    mechanism = mechanism_of(name, values)
    with understood(name):
        found = Understood(name, mechanism, deltas, orders or ORDERS, force)
    found.asked, found.out = asked, out or FIGURES
    return found


class Understood(MechanismStatement):
    """A statement at numbers that a user gave: where one of them leads nowhere, that is said."""

    asked: Questions | None = None
    out: Path

    def document(self) -> dict[str, Any]:
        with understood(self.name):
            found = super().document()
            return {**found, **self._answers()} if self.asked else found

    def text(self) -> str:
        with understood(self.name):
            lines = [super().text()]
            if self.asked:
                lines.append(self._attacker(self.asked).text())
            if self.asked and self.asked.curve:
                lines.append("\n".join(self._drawn(self._attacker(self.asked))))
            return "\n\n".join(lines)

    def _answers(self) -> dict[str, Any]:
        assert self.asked is not None
        attacker = self._attacker(self.asked)
        return {"tradeoff": {**attacker.document(), **({"files": self._drawn(attacker)} if self.asked.curve else {})}}

    def _attacker(self, asked: Questions) -> Attacker:
        from dpexp.reporting.tradeoff import Attacker

        if self._asked is None:
            self._asked = Attacker(self.analyses, self.lower, asked)
        return self._asked

    _asked: Attacker | None = None

    def _drawn(self, attacker: Attacker) -> list[str]:
        setting = self.text_of_parameters()
        return [str(path) for path in attacker.written(self.name, setting, self.out).files]
