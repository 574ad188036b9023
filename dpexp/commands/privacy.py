"""`dpexp privacy`: the statement of a config, of a mechanism given by its parameters, or of a file of users.

`--tradeoff` adds the error rates of an attacker.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.commands.joint_releases import cautions, joint, require_private_records
from dpexp.commands.mechanism_arguments import deltas_of, mechanism_of, orders_of, phases_of, understood, values_of
from dpexp.core.errors import NoSuchAnalysis, UsageError
from dpexp.privacy.analyses.analysis import ORDERS
from dpexp.reporting.mechanism_statement import MechanismStatement
from dpexp.reporting.statement import LOCAL, ConfigStatement, Statement, UsersStatement, labelled

if TYPE_CHECKING:
    from dpexp.config.cells import Cell, Experiment
    from dpexp.privacy.mechanisms.mechanism import Mechanism, Released
    from dpexp.reporting.tradeoff import Attacker


def command(
    arguments: Sequence[str], mechanism: str | None, sets: Sequence[str], deployment: bool, users: Path | None,
    invalid: bool, over: Sequence[str], tradeoff: bool, out: Path | None, results: Path,
) -> tuple[Any, ...]:  # fmt: skip
    """Document and text, as the command line has it."""
    from dpexp.commands import epsilon_curve as sweeping

    figures = (out or results / "figures") if tradeoff else None
    if users is not None and (tradeoff or out or mechanism):
        raise UsageError("--mechanism, --tradeoff and --out make another statement", "not with --users")
    if over and (mechanism is None or tradeoff or users is not None):
        raise UsageError("--over goes with --mechanism alone", "dpexp plot --mechanism ... --over KEY draws it")
    statement: Statement
    if mechanism is not None and sweeping.is_sweep(mechanism, arguments, over):
        statement = sweeping.statement(mechanism, arguments, over)
    elif mechanism is not None:
        statement = of_mechanism(mechanism, arguments, invalid, figures)
    elif users is not None:
        statement = of_users(users, arguments)
    elif len(arguments) == 1:
        statement = of_config(Path(arguments[0]), sets, deployment, figures)
    else:
        raise UsageError("privacy takes one config file, --mechanism NAME key=value ..., or --users FILE")
    return statement.document, statement.text


def of_config(
    path: Path, sets: Sequence[str] = (), deployment: bool = False, figures: Path | None = None
) -> StatementOfConfig:
    """The statement of a config's mechanisms, each once; with `figures`, a folder, also their tradeoffs."""
    from dpexp.config.experiment_file import load_experiment

    return StatementOfConfig(load_experiment(path, sets), deployment, figures)


class StatementOfConfig(ConfigStatement):
    """The statement of an experiment; messages name its file where an algorithm names an unknown analysis."""

    def __init__(self, experiment: Experiment, deployment: bool = False, figures: Path | None = None) -> None:
        if deployment:
            require_private_records(experiment)
        self.path, self.deployment, self.name = experiment.path, deployment, experiment.name
        self.settings, self.figures = len(experiment.cells), figures
        said, together = cautions(experiment, deployment), joint(experiment)
        if together:
            said.append("Earlier releases of these records add to this; dpexp run --deployment counts them.")
        super().__init__(_released(experiment), experiment.deltas, experiment.notices(), said)
        self.together = [one.document(experiment.deltas) for one in together]

    def document(self) -> dict[str, Any]:
        """With `together`, the loss of all releases of own records, whether the noise is secret, and `tradeoff`."""
        with self._located():
            document = {**super().document(), "together": self.together, "deployment": self.deployment}
            if self.figures is not None:
                document["tradeoff"] = [{"mechanism": one.setting, **one.document()} for one in self._tradeoffs()]
            return document

    def text(self) -> str:
        with self._located():
            return "\n\n".join([super().text(), *(f"{one.setting}\n{one.text()}" for one in self._tradeoffs())])

    @contextmanager
    def _located(self) -> Iterator[None]:
        try:
            yield
        except NoSuchAnalysis as error:
            raise UsageError(f"{self.path}: {error.message}", error.hint) from None

    def _tradeoffs(self) -> list[Tradeoff]:
        """Of every mechanism that has a guarantee: an attacker of the others can be right always."""
        from dpexp.reporting.tradeoff import Attacker

        if self.figures is None:
            return []
        found: list[Tradeoff] = []
        for label, mechanism in [*((f"{LOCAL}, mu = {m.mu.label}", m) for m in self.local), *self.central.items()]:
            valid = [a for a in mechanism.upper_bounds() if a.valid and math.isfinite(a.eps(self.deltas[0]))]
            if valid:
                # A number for each, since labels make no names of files.
                name = f"{self.name}_{len(found) + 1}" if len(self.local) + len(self.central) > 1 else self.name
                found.append(Tradeoff(Attacker(valid, mechanism.lower_bounds()), name, label, self.figures))
        return found


def _released(experiment: Experiment) -> dict[str, Released]:
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


class Tradeoff(NamedTuple):
    """The attacker of one mechanism, with the name and the caption of its figure, and the folder of that."""

    attacker: Attacker
    name: str
    setting: str
    figures: Path

    def _files(self) -> list[str]:
        return [str(path) for path in self.attacker.written(self.name, self.setting, self.figures).files]

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {**self.attacker.document(), "files": self._files()}

    def text(self) -> str:
        """For people."""
        return "\n\n".join([self.attacker.text(), "\n".join(self._files())])


def of_mechanism(
    name: str, pairs: Sequence[str], invalid: bool = False, figures: Path | None = None
) -> StatementOfParameters:
    """The statement of a mechanism. `invalid` lets refused analyses compete for the best; `figures` as above."""
    values = values_of(pairs)
    deltas, orders = deltas_of(values), orders_of(values)
    mechanism = mechanism_of(name, values)
    with understood(name):
        return StatementOfParameters(name, mechanism, deltas, orders or ORDERS, invalid, phases_of(values), figures)


class StatementOfParameters(MechanismStatement):
    """A statement at numbers that a user gave: a message names those that no analysis can evaluate."""

    def __init__(
        self, name: str, mechanism: Mechanism, deltas: Sequence[float], orders: Sequence[float], invalid: bool,
        phases: str, figures: Path | None,
    ) -> None:  # fmt: skip
        super().__init__(name, mechanism, deltas, orders, invalid)
        self.phases, self.figures = phases, figures

    def document(self) -> dict[str, Any]:
        with understood(self.name):
            document = super().document()
            document |= {"remark": self.phases} if self.phases else {}
            return {**document, "tradeoff": self._tradeoff.document()} if self._tradeoff else document

    def text(self) -> str:
        with understood(self.name):
            more = [self._tradeoff.text()] if self._tradeoff else []
            return "\n\n".join([super().text(), *([f"  {self.phases}"] if self.phases else []), *more])

    @cached_property
    def _tradeoff(self) -> Tradeoff | None:
        from dpexp.reporting.tradeoff import Attacker

        if self.figures is None:
            return None
        return Tradeoff(Attacker(self.analyses, self.lower), self.name, self.text_of_parameters(), self.figures)


def of_users(path: Path, pairs: Sequence[str]) -> UsersStatement:
    """The statement of a file of users, with the columns mu and, if there, uses and group."""
    from dpexp.data.budget_file import read_users
    from dpexp.privacy.local_users import ledger

    values = values_of(pairs)
    deltas = deltas_of(values)
    # What else a mechanism takes is in the file, a row for each user.
    if values:
        raise UsageError(f"--users takes delta=... alone, not {', '.join(values)}")
    return UsersStatement(ledger(*read_users(path), deltas), deltas)
