"""`dpexp privacy`: the statement of a config, of a mechanism given by its parameters, or of a file of users.

`--tradeoff` adds the error rates of an attacker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.answer import RESULTS, Pathname, path_of
from dpexp.commands.joint_releases import cautions, joint, require_private_records
from dpexp.commands.mechanism_arguments import deltas_of, mechanism_of, orders_of, phases_of, understood, values_of
from dpexp.core.errors import NoSuchAnalysis, UsageError
from dpexp.core.text import Printed
from dpexp.privacy.analyses.analysis import ORDERS
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.reporting.mechanism_statement import MechanismStatement
from dpexp.reporting.statement import LOCAL, ConfigStatement, Statement, UsersStatement, labelled

if TYPE_CHECKING:
    from dpexp.commands.api import Config
    from dpexp.config.cells import Cell, Experiment
    from dpexp.privacy.mechanisms.mechanism import Released
    from dpexp.reporting.tradeoff import Attacker


def privacy(
    *words: Config, mechanism: str | None = None, set: Sequence[str] = (), deployment: bool = False,
    users: Pathname | None = None, invalid: bool = False, over: Sequence[str] = (), tradeoff: bool = False,
    out: Pathname | None = None, results: Pathname = RESULTS, **parameters: Any,
) -> Statement:  # fmt: skip
    """The privacy statement of a config, of a mechanism by its name and parameters, or of a file of `users`.

    `.text()` is what the command prints, `.document()` the same for programs. `invalid` lets analyses compete whose
    conditions are not met. `over` names parameters whose list of values is a sweep. `out`, else a folder of
    `results`, gets the figures of `tradeoff`.
    """
    from dpexp.commands import epsilon_curve
    from dpexp.commands.api import load

    figures = (path_of(out) or Path(results) / "figures") if tradeoff else None
    if mechanism is None and words and isinstance(words[0], str) and words[0] in MECHANISMS:
        mechanism, words = words[0], words[1:]
    pairs = [str(word) for word in words]
    if users is not None and (tradeoff or out or mechanism):
        raise UsageError("--mechanism, --tradeoff and --out make another statement", "not with --users")
    if over and (mechanism is None or tradeoff or users is not None):
        raise UsageError("--over goes with --mechanism alone", "dpexp plot --mechanism ... --over KEY draws it")
    if mechanism is not None:
        values = values_of(pairs, parameters)
        if epsilon_curve.is_sweep(mechanism, values, over):
            with understood(mechanism):
                return epsilon_curve.curve_of(mechanism, values, over)
        return of_mechanism(mechanism, values, invalid, figures)
    if users is not None:
        return _of_users(Path(users), values_of(pairs, parameters))
    if parameters:
        raise TypeError("parameters belong to a mechanism, and a config is changed by load(..., set=[...])")
    if len(words) != 1:
        raise UsageError("privacy takes one config file, --mechanism NAME key=value ..., or --users FILE")
    return of_experiment(load(words[0], set=set), deployment, figures)


@dataclass(frozen=True)
class Answer(Printed):
    """A statement with what the command adds to it: keys of the document, notes, and figures of attackers."""

    statement: ConfigStatement | MechanismStatement
    located: Callable[[], AbstractContextManager[None]]
    """gives errors of an analysis words of their own"""
    name: str
    """of the experiment or the mechanism"""
    more: Mapping[str, Any]
    notes: Sequence[str]
    figures: Path | None
    """the folder of figures of attackers; None where they are not shown"""

    def document(self) -> dict[str, Any]:
        """For programs."""
        with self.located():
            document = {**self.statement.document(), **self.more}
            if self.figures is None:
                return document
            rows = [
                {"mechanism": setting, **attacker.document(), "files": self._files(file, setting, attacker)}
                for file, setting, attacker in self._attackers()
            ]
            return {**document, "tradeoff": rows[0] if isinstance(self.statement, MechanismStatement) else rows}

    def text(self) -> str:
        """For people."""
        with self.located():
            texts = [self.statement.text(), *self.notes]
            for file, setting, attacker in self._attackers():
                title = [] if isinstance(self.statement, MechanismStatement) else [setting]
                texts += ["\n".join([*title, attacker.text()]), "\n".join(self._files(file, setting, attacker))]
            return "\n\n".join(texts)

    def _attackers(self) -> Iterator[tuple[str, str, Attacker]]:
        """Of every mechanism that has a guarantee the name of its figure, its setting and what an attacker can do.

        An attacker of the others can be right always.
        """
        from dpexp.reporting.tradeoff import Attacker

        statement = self.statement
        if self.figures is None:
            return
        if isinstance(statement, MechanismStatement):
            yield self.name, statement.text_of_parameters(), Attacker(statement.analyses, statement.lower)
            return
        mechanisms = [*((f"{LOCAL}, mu = {m.mu.label}", m) for m in statement.local), *statement.central.items()]
        number = count(1)
        for label, mechanism in mechanisms:
            valid = [a for a in mechanism.upper_bounds() if a.valid and math.isfinite(a.eps(statement.deltas[0]))]
            if valid:
                # A number for each, since labels make no names of files.
                file = f"{self.name}_{next(number)}" if len(mechanisms) > 1 else self.name
                yield file, label, Attacker(valid, mechanism.lower_bounds())

    def _files(self, name: str, setting: str, attacker: Attacker) -> list[str]:
        assert self.figures is not None
        return [str(path) for path in attacker.written(name, setting, self.figures).files]


def of_experiment(experiment: Experiment, deployment: bool = False, figures: Path | None = None) -> Answer:
    """The statement of an experiment's mechanisms, each once; with `figures`, a folder, also their tradeoffs.

    The document has also `together`, the loss of all releases of own records, and whether the noise is secret.
    """
    together = [release.document(experiment.deltas) for release in joint(experiment)]
    more = {"together": together, "deployment": deployment}
    statement = config_statement(experiment, deployment)
    return Answer(statement, partial(_located, experiment.path), experiment.name, more, (), figures)


def config_statement(experiment: Experiment, deployment: bool = False) -> ConfigStatement:
    """The statement of the mechanisms alone. Raises UsageError for a deployment of no private records."""
    if deployment:
        require_private_records(experiment)
    remarks = cautions(experiment, deployment)
    if joint(experiment):
        remarks.append("Earlier releases of these records add to this; dpexp run --deployment counts them.")
    return ConfigStatement(_released(experiment), experiment.deltas, experiment.notices(), remarks)


@contextmanager
def _located(path: object) -> Iterator[None]:
    """The file of a config that names an unknown analysis."""
    try:
        yield
    except NoSuchAnalysis as error:
        raise UsageError(f"{path}: {error.message}", error.hint) from None


def _released(experiment: Experiment) -> dict[str, Released]:
    """What the runs of an experiment release, each mechanism once, by a name of its own.

    The name has algorithm, problem, budget, and what else distinguishes the mechanism.
    """
    cells: dict[Released, list[Cell]] = {}
    for cell in experiment.cells:
        mechanism = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
        # Replicates, checkpoints and estimators are no part of a mechanism: many cells share one.
        cells.setdefault(mechanism, []).append(cell)
    named = []
    for mechanism, own in cells.items():
        algorithms = ", ".join(dict.fromkeys(cell.algorithm.name for cell in own))
        problems = ", ".join(dict.fromkeys(cell.problem.name for cell in own))
        named.append((mechanism, f"{algorithms} on {problems}, {own[0].privacy.mu.label}", own[0].columns()))
    return labelled(named)


def of_mechanism(name: str, values: dict[str, Any], invalid: bool = False, figures: Path | None = None) -> Answer:
    """The statement of a mechanism. `invalid` lets refused analyses compete for the best; `figures` as above."""
    phases = phases_of(values)
    deltas, orders = deltas_of(values), orders_of(values)
    mechanism = mechanism_of(name, values)
    with understood(name):
        statement = MechanismStatement(name, mechanism, deltas, orders or ORDERS, invalid)
    remark, notes = ({"remark": phases}, [f"  {phases}"]) if phases else ({}, [])
    return Answer(statement, partial(understood, name), name, remark, notes, figures)


def _of_users(path: Path, values: dict[str, Any]) -> UsersStatement:
    """The statement of a file of users, with the columns mu and, if there, uses and group."""
    from dpexp.data.budget_file import read_users
    from dpexp.privacy.local_users import ledger

    deltas = deltas_of(values)
    # What else a mechanism takes is in the file, a row for each user.
    if values:
        raise UsageError(f"--users takes delta=... alone, not {', '.join(values)}")
    return UsersStatement(ledger(*read_users(path), deltas), deltas)
