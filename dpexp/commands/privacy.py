"""`dpexp privacy`: the privacy statement of a config, of a mechanism given by its parameters, or of a file of users.

`--tradeoff` adds the error rates of an attacker on one record, `group=3` on three records together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.commands.config_statement import RESULTS, Located
from dpexp.commands.mechanism_arguments import (
    deltas_of,
    group_size,
    mechanism_of,
    orders_of,
    phases_of,
    understood,
    values_of,
)
from dpexp.core.errors import UsageError
from dpexp.privacy.analyses.analysis import ORDERS
from dpexp.reporting.mechanism_statement import MechanismStatement
from dpexp.reporting.statement import LOCAL, Statement, UsersStatement

if TYPE_CHECKING:
    from dpexp.reporting.tradeoff import Attacker

FIGURES = RESULTS / "figures"
"""where a figure goes if no folder is named, as with `dpexp plot`"""
GROUP = "group="

__all__ = ["Statement", "of_config", "of_mechanism", "of_users"]


class Question(NamedTuple):
    """What is asked about an attacker: for how many records together, and whether a curve is drawn, and where."""

    group: int
    drawn: bool
    out: Path


def question_among(words: Sequence[str], tradeoff: bool, out: Path | None) -> tuple[list[str], Question | None]:
    """The other arguments, and the question; None without one."""
    groups = [word for word in words if word.startswith(GROUP)]
    rest = [word for word in words if word not in groups]
    if not groups and not tradeoff:
        return rest, None
    return rest, Question(group_size(values_of(groups).get("group", 1)), tradeoff, out or FIGURES)


def of_arguments(
    words: Sequence[str],
    sets: Sequence[str],
    deployment: bool,
    tradeoff: bool,
    out: Path | None,
    results: Path = RESULTS,
) -> Asked:
    """The statement of the one config file among these words."""
    rest, question = question_among(words, tradeoff, out or results / "figures")
    if len(rest) != 1:
        raise UsageError("privacy takes one config file, --mechanism NAME key=value ..., or --users FILE")
    found = of_config(Path(rest[0]), sets, deployment)
    found.question = question
    return found


def of_config(path: Path, sets: Sequence[str], deployment: bool = False) -> Asked:
    """The privacy statement of a config's mechanisms, each once; of a deployment if wanted."""
    from dpexp.config.experiment_file import load_experiment

    return Asked(path, load_experiment(path, sets), deployment)


class Asked(Located):
    """The statement of a config file with answers about an attacker."""

    question: Question | None = None

    def document(self) -> dict[str, Any]:
        """With the key `tradeoff` if there is a question."""
        with self.located():
            found = super().document()
            told = [{"mechanism": label, **answer.document()} for label, answer in self._answers()]
            return {**found, "tradeoff": told} if self.question else found

    def text(self) -> str:
        with self.located():
            return "\n\n".join([super().text(), *(f"{label}\n{answer.text()}" for label, answer in self._answers())])

    def _answers(self) -> list[tuple[str, Answer]]:
        """What is asked of every mechanism that promises anything."""
        from dpexp.reporting.tradeoff import Attacker

        if self.question is None:
            return []
        group, drawn, out = self.question
        found: list[tuple[str, Answer]] = []
        for label, mechanism in [*((f"{LOCAL}, mu = {m.mu.label}", m) for m in self.local), *self.central.items()]:
            # An attacker of what promises nothing can be right always.
            promised = [a for a in mechanism.upper_bounds() if a.valid and math.isfinite(a.eps(self.deltas[0]))]
            if promised:
                attacker = Attacker(promised, mechanism.lower_bounds(), self.deltas, group, drawn)
                # A number for each, since labels make no names of files.
                name = f"{self.name}_{len(found) + 1}" if len(self.local) + len(self.central) > 1 else self.name
                found.append((label, Answer(attacker, name, label, out)))
        return found


class Answer(NamedTuple):
    """What is asked of one mechanism, with the name and the caption of its figure, and the folder where that goes."""

    attacker: Attacker
    name: str
    setting: str
    out: Path

    def _drawn(self) -> list[str]:
        """The files of the figure; none without a curve."""
        return [str(path) for path in self.attacker.written(*self[1:]).files] if self.attacker.drawn else []

    def document(self) -> dict[str, Any]:
        """For programs."""
        files = self._drawn()
        return {**self.attacker.document(), **({"files": files} if files else {})}

    def text(self) -> str:
        """For people."""
        return "\n\n".join(filter(None, [self.attacker.text(), "\n".join(self._drawn())]))


def of_mechanism(
    name: str, pairs: Sequence[str], invalid: bool = False, tradeoff: bool = False, out: Path | None = None
) -> Understood:
    """The privacy statement of a mechanism. `invalid` lets refused analyses compete for the best.

    With `tradeoff` or group= the error rates of an attacker follow; the figure is written into `out`.
    """
    pairs, question = question_among(pairs, tradeoff, out)
    values = values_of(pairs)
    deltas, orders = deltas_of(values), orders_of(values)
    mechanism = mechanism_of(name, values)
    with understood(name):
        found = Understood(name, mechanism, deltas, orders or ORDERS, invalid)
    found.question, found.phases = question, phases_of(values)
    return found


class Understood(MechanismStatement):
    """A statement at numbers that a user gave: where one of them leads nowhere, that is said."""

    question: Question | None = None
    phases: str = ""
    """that a list of values is phases of one run, where there is one"""

    def document(self) -> dict[str, Any]:
        with understood(self.name):
            found = super().document()
            found |= {"remark": self.phases} if self.phases else {}
            return {**found, "tradeoff": self._answer.document()} if self.question else found

    def text(self) -> str:
        with understood(self.name):
            remark = [f"  {self.phases}"] if self.phases else []
            return "\n\n".join([super().text(), *remark, *([self._answer.text()] if self.question else [])])

    @cached_property
    def _answer(self) -> Answer:
        from dpexp.reporting.tradeoff import Attacker

        assert self.question is not None
        group, drawn, out = self.question
        attacker = Attacker(self.analyses, self.lower, self.deltas, group, drawn)
        return Answer(attacker, self.name, self.text_of_parameters(), out)


def of_users(path: Path, pairs: Sequence[str]) -> UsersStatement:
    """The statement of a file of users, with the columns mu and, if there, uses and group."""
    from dpexp.data.users import read_users
    from dpexp.privacy.users import ledger

    values = values_of(pairs)
    deltas = deltas_of(values)
    # What else a mechanism takes is in the file, a row for each user.
    if values:
        raise UsageError(f"--users takes delta=... alone, not {', '.join(values)}")
    return UsersStatement(ledger(*read_users(path), deltas), deltas)
