"""`dpexp privacy`: the privacy statement of a config, of a mechanism given by its parameters, or of a file of users.

Words beside a config ask what an attacker can be right about.
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
    number,
    orders_of,
    understood,
    values_of,
)
from dpexp.core.errors import UsageError
from dpexp.privacy.analyses.analysis import ORDERS
from dpexp.reporting.mechanism_statement import MechanismStatement
from dpexp.reporting.statement import LOCAL, Statement, UsersStatement, attained_by

if TYPE_CHECKING:
    from dpexp.reporting.tradeoff import Attacker, Questions

QUESTIONS, ADVANTAGE = ("eps", "fpr", "prior", "group"), "advantage"
"""words about an attacker: eps=1, fpr=0.01, prior=0.1, group=3, advantage"""
LEAST_RATE = 1e-12
RATES = (1e-3, 1e-2, 1e-1)
"""false positive rates of --tradeoff where none are named"""
FIGURES = RESULTS / "figures"
"""where a figure goes if no folder is named, as with `dpexp plot`"""

__all__ = ["Statement", "of_config", "of_mechanism", "of_users"]


def of_config_asked(
    words: Sequence[str],
    sets: Sequence[str],
    deployment: bool,
    tradeoff: bool,
    out: Path | None,
    results: Path = RESULTS,
) -> Asked:
    """The statement of the one config file among these words; the others are questions about an attacker."""
    rest, asked = questions_among(words, tradeoff)
    if len(rest) != 1:
        raise UsageError("privacy takes one config file, --mechanism NAME key=value ..., or --users FILE")
    found = of_config(Path(rest[0]), sets, deployment, results)
    found.asked, found.out = asked, out or results / "figures"
    return found


def of_config(path: Path, sets: Sequence[str], deployment: bool = False, results: Path = RESULTS) -> Asked:
    """The privacy statement of a config's mechanisms, each once; of a deployment, where that is asked for.

    `results` is the folder that may hold deployments of it.
    """
    from dpexp.config.experiment_file import load_experiment

    return Asked(path, load_experiment(path, sets), deployment, results)


class Asked(Located):
    """The statement of a config file with answers about an attacker."""

    asked: Questions | None = None
    out: Path = FIGURES

    def document(self) -> dict[str, Any]:
        """With the key `tradeoff`, where that is asked for."""
        with self.located():
            found = super().document()
            told = [{"mechanism": label, **answer.document()} for label, answer in self._answers()]
            return {**found, "tradeoff": told} if self.asked else found

    def text(self) -> str:
        with self.located():
            return "\n\n".join([super().text(), *(f"{label}\n{answer.text()}" for label, answer in self._answers())])

    def _answers(self) -> list[tuple[str, Answer]]:
        """What is asked of every mechanism that promises anything."""
        from dpexp.reporting.tradeoff import Attacker

        if self.asked is None:
            return []
        found: list[tuple[str, Answer]] = []
        for label, mechanism in [*((f"{LOCAL}, mu = {m.mu.label}", m) for m in self.local), *self.central.items()]:
            # An attacker of what promises nothing can be right always.
            promised = [a for a in mechanism.analyses() if a.valid and math.isfinite(a.eps(self.deltas[0]))]
            if promised:
                attacker = Attacker(promised, attained_by(mechanism), self.asked.at(self.deltas))
                # A number for each, since labels make no names of files.
                name = f"{self.name}_{len(found) + 1}" if len(self.local) + len(self.central) > 1 else self.name
                found.append((label, Answer(attacker, name, label, self.out)))
        return found


class Answer(NamedTuple):
    """What is asked of one mechanism, with the name and the caption of its figure, and the folder where that goes."""

    attacker: Attacker
    name: str
    setting: str
    out: Path

    def _drawn(self) -> list[str]:
        """The files of the figure; none where no curve is asked for."""
        asked = self.attacker.asked.curve
        return [str(path) for path in self.attacker.written(*self[1:]).files] if asked else []

    def document(self) -> dict[str, Any]:
        """For programs."""
        files = self._drawn()
        return {**self.attacker.document(), **({"files": files} if files else {})}

    def text(self) -> str:
        """For people."""
        return "\n\n".join(filter(None, [self.attacker.text(), "\n".join(self._drawn())]))


def of_mechanism(
    name: str,
    pairs: Sequence[str],
    force: bool = False,
    tradeoff: bool = False,
    out: Path | None = None,
) -> Understood:
    """The privacy statement of a mechanism. `force` lets refused analyses compete for the best.

    Questions about an attacker are answered below it, and `tradeoff` draws a figure into the folder `out`.
    """
    pairs, asked = questions_among(pairs, tradeoff)
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
            return {**found, "tradeoff": self._answer.document()} if self.asked else found

    def text(self) -> str:
        with understood(self.name):
            return "\n\n".join([super().text(), *([self._answer.text()] if self.asked else [])])

    @cached_property
    def _answer(self) -> Answer:
        from dpexp.reporting.tradeoff import Attacker

        assert self.asked is not None
        attacker = Attacker(self.analyses, self.lower, self.asked.at(self.deltas))
        return Answer(attacker, self.name, self.text_of_parameters(), self.out)


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


def questions_among(words: Sequence[str], tradeoff: bool) -> tuple[list[str], Questions | None]:
    """What else is given, and the questions; None where nothing is asked."""
    mine = [word for word in words if word == ADVANTAGE or word.partition("=")[0] in QUESTIONS]
    rest = [word for word in words if word not in mine]
    if not mine and not tradeoff:
        return rest, None
    from dpexp.reporting.tradeoff import Questions

    # A word without a value asks for one number.
    given = values_of([word for word in mine if word != ADVANTAGE])
    group = group_size(given.get("group", 1))
    eps = tuple(number("eps", value, 0, math.inf) for value in _listed(given, "eps"))
    fpr = tuple(_rate("fpr", value) for value in _listed(given, "fpr"))
    priors = tuple(_rate("prior", value) for value in _listed(given, "prior"))
    every = tradeoff or not (eps or fpr or priors or ADVANTAGE in mine)  # a group alone asks for everything
    return rest, Questions(
        eps,
        fpr or (RATES if every else ()),
        priors or ((0.5,) if every else ()),
        every or ADVANTAGE in mine,
        group,
        tradeoff,
    )


def _listed(given: dict[str, Any], key: str) -> list[Any]:
    value = given.get(key, [])
    return value if isinstance(value, list) else [value]


def _rate(key: str, value: Any) -> float:
    rate = number(key, value, 0, 1)
    if not LEAST_RATE <= rate <= 1 - LEAST_RATE:
        raise UsageError(f"{key} is a number from {LEAST_RATE:g} to 1 - {LEAST_RATE:g}, not {rate:g}")
    return rate
