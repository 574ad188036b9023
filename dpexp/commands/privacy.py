"""`dpexp privacy`: the statement of a config, of a mechanism given by its parameters, or of a file of users.

`--tradeoff` adds the error rates of an attacker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.command_answer import Pathname
from dpexp.commands.joint_releases import cautions, joint, require_private_records
from dpexp.commands.mechanism_arguments import (
    curve_of,
    deltas_of,
    mechanism_of,
    numbers,
    phases_of,
    swept_keys,
    understood,
    values_of,
)
from dpexp.core.errors import UsageError
from dpexp.core.text import Printed
from dpexp.privacy.analyses.analysis import ORDERS, Analysis
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.reporting.statement import (
    PrivacyStatement,
    UsersStatement,
    attack_document,
    attack_text,
    labelled,
    statement_of_mechanism,
    statement_of_runs,
)

if TYPE_CHECKING:
    from dpexp.commands.api import Config
    from dpexp.config.cells import Cell, Experiment
    from dpexp.privacy.mechanisms.mechanism import Released
    from dpexp.reporting.epsilon_curves import EpsilonCurve


def privacy(
    *words: Config, mechanism: str | None = None, set: Sequence[str] = (), deployment: bool = False,
    users: Pathname | None = None, over: Sequence[str] = (), tradeoff: bool = False, **parameters: Any,
) -> PrivacyAnswer | UsersStatement | EpsilonCurve:  # fmt: skip
    """The privacy statement of a config, of a mechanism by its name and parameters, or of a file of `users`.

    `.text()` is what the command prints, `.document()` the same for programs. `over` names parameters whose list of
    values is a sweep; `tradeoff` adds error rates of an attacker.
    """
    from dpexp.commands.api import load

    if mechanism is None and words and isinstance(words[0], str) and words[0] in MECHANISMS:
        mechanism, words = words[0], words[1:]
    if users is not None and mechanism is not None:
        raise UsageError("--mechanism makes another statement than --users", "give one of them")
    if (over and tradeoff) or ((over or tradeoff) and mechanism is None):
        raise UsageError("--over or --tradeoff goes with --mechanism", "dpexp privacy --mechanism NAME KEY=VALUE ...")
    if mechanism is None and users is None:
        if parameters:
            raise TypeError("parameters belong to a mechanism, and a config is changed by load(..., set=[...])")
        if len(words) != 1:
            raise UsageError("privacy takes one config file, --mechanism NAME key=value ..., or --users FILE")
        experiment = load(words[0], set=set)
        # the loss of all releases of own records
        more = {"together": [own.document(experiment.deltas) for own in joint(experiment)], "deployment": deployment}
        return PrivacyAnswer(config_statement(experiment, deployment), nullcontext, more)
    values = values_of([str(word) for word in words], parameters)
    if mechanism is None:
        return _of_users(Path(users or ""), values)
    with understood(mechanism):
        if over or swept_keys(mechanism, values):
            return curve_of(mechanism, values, over)
        phases = phases_of(values)
        deltas, orders = deltas_of(values), numbers("alphas", values.pop("alphas", []), 1, math.inf)
        statement = statement_of_mechanism(mechanism, mechanism_of(mechanism, values), deltas, orders or ORDERS)
        (part,) = statement.parts
        attacks = [*(a for a in part.analyses if a.valid), *part.lower] if tradeoff else []
        return PrivacyAnswer(statement, partial(understood, mechanism), {"remark": phases} if phases else {}, attacks)


@dataclass(frozen=True)
class PrivacyAnswer(Printed):
    """A statement with keys that the command adds to the document, and what an attacker of the mechanism can do."""

    statement: PrivacyStatement
    explain_errors: Callable[[], AbstractContextManager[None]]
    """gives errors of an analysis words of their own"""
    more: Mapping[str, Any]
    attacks: Sequence[Analysis] = ()
    """analyses and lower bounds whose error rates are shown"""

    @property
    def exit_code(self) -> int:
        """1 where a pair of neighbours refutes an analysis."""
        with self.explain_errors():
            return int(any(part.is_refuted for part in self.statement.parts))

    def document(self) -> dict[str, Any]:
        """For programs."""
        with self.explain_errors():
            tradeoff = {"tradeoff": {"statements": attack_document(self.attacks)}} if self.attacks else {}
            return {**self.statement.document(), **self.more, **tradeoff}

    def text(self) -> str:
        """For people."""
        with self.explain_errors():
            remark = [f"  {self.more['remark']}"] if "remark" in self.more else []
            return "\n\n".join([self.statement.text(), *remark, *([attack_text(self.attacks)] if self.attacks else [])])


def config_statement(experiment: Experiment, deployment: bool = False) -> PrivacyStatement:
    """The statement of the mechanisms alone. Raises UsageError for a deployment of no private records."""
    if deployment:
        require_private_records(experiment)
    remarks = cautions(experiment, deployment)
    if joint(experiment):
        remarks.append("Earlier releases of these records add to this; dpexp run --deployment counts them.")
    return statement_of_runs(_released(experiment), experiment.deltas, experiment.notices(), remarks)


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
        budget = own[0].privacy.mu.label
        name = f"{algorithms} on {problems}, {'mu = ' if budget[0].isdigit() else ''}{budget}"
        named.append((mechanism, name, own[0].columns()))
    return labelled(named)


def _of_users(path: Path, values: dict[str, Any]) -> UsersStatement:
    """The statement of a file of users, with the columns mu and, if there, uses and group."""
    from dpexp.data.budget_file import read_users
    from dpexp.privacy.mechanisms.local_gaussian import ledger

    deltas = deltas_of(values)
    if values:
        raise UsageError(f"--users takes delta=... alone, not {', '.join(values)}")
    return UsersStatement(ledger(*read_users(path), deltas), deltas)
