"""`dpexp privacy`: the privacy statement of a config, of a mechanism given by its parameters, or of a file of users.

Words beside a config ask for more: what an attacker can be right about, and what it costs to keep the best of a random
number of its runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
from dpexp.core.text import up
from dpexp.privacy.analyses.analysis import ORDERS, Analysis
from dpexp.privacy.analyses.private_selection import (
    LOOSE,
    MOST_RUNS,
    MOST_SHAPE,
    NumberOfRuns,
    curve_of_run,
    delta_of_run,
    law,
    looseness,
    selection,
)
from dpexp.reporting.mechanism_statement import MechanismStatement
from dpexp.reporting.statement import LOCAL, Statement, UsersStatement, attained_by

if TYPE_CHECKING:
    from dpexp.privacy.mechanisms.released import Released
    from dpexp.reporting.tradeoff import Attacker, Questions

OF_RUNS = ("runs", "shape")
"""words about the best of many runs: runs=10 shape=1"""
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
    rest, drawn = number_of_runs_among(rest)
    if len(rest) != 1:
        raise UsageError("privacy takes one config file, --mechanism NAME key=value ..., or --users FILE")
    found = of_config(Path(rest[0]), sets, deployment, results)
    found.asked, found.drawn, found.out = asked, drawn, out or results / "figures"
    return found


def of_config(path: Path, sets: Sequence[str], deployment: bool = False, results: Path = RESULTS) -> Asked:
    """The privacy statement of a config's mechanisms, each once; of a deployment, where that is asked for.

    `results` is the folder that may hold deployments of it.
    """
    from dpexp.config.experiment_file import load_experiment

    return Asked(path, load_experiment(path, sets), deployment, results)


class Asked(Located):
    """The statement of a config file with answers about an attacker, and the price of keeping the best run."""

    asked: Questions | None = None
    drawn: NumberOfRuns | None = None
    """how many runs are drawn from the settings, where the price of keeping the best is asked for"""
    out: Path = FIGURES

    def document(self) -> dict[str, Any]:
        """With the keys `selection` and `tradeoff`, where they are asked for."""
        with self.located():
            found = super().document()
            if self._best:
                found["selection"] = self._best.document(self.deltas)
            told = [{"mechanism": label, **answer.document()} for label, answer in self._answers()]
            return {**found, "tradeoff": told} if self.asked else found

    def text(self) -> str:
        with self.located():
            blocks = [super().text(), *([self._best.text(self.deltas)] if self._best else [])]
            return "\n\n".join([*blocks, *(f"{label}\n{answer.text()}" for label, answer in self._answers())])

    @cached_property
    def _best(self) -> Best | None:
        """The price of keeping the best of the settings' runs. Raises UsageError where no theorem covers them."""
        if self.drawn is None:
            return None
        mechanisms = self.central.values()
        relations = {mechanism.neighboring_relation for mechanism in mechanisms}
        if self.local or not mechanisms:
            raise UsageError(f"{self.path}: the price of choosing is stated of central runs, not of local mechanisms")
        # A curve of one relation says nothing of neighbours in another.
        if len(relations) > 1:
            what = "the settings have different neighbours, so no statement holds of the best of them"
            raise UsageError(f"{self.path}: {what}")
        curves = [self._curve(label, mechanism) for label, mechanism in self.central.items()]
        # From the largest at every order, which bounds whichever setting was drawn: the adversary may know it.
        analysis = selection(
            lambda order: max(curve(order) for curve in curves),
            lambda eps: max(delta_of_run(mechanism.analyses(), eps) for mechanism in mechanisms),
            self.drawn.runs,
            self.drawn.shape,
            "the largest Renyi curve of the settings",
            (),
        )
        loose = [looseness(m.analyses(), curve, self.deltas[0]) for m, curve in zip(mechanisms, curves, strict=True)]
        return Best(self.settings, self.drawn, relations.pop(), analysis, max(loose))

    def _curve(self, label: str, mechanism: Released) -> Callable[[float], float]:
        """The least of a mechanism's Renyi curves. Raises UsageError where it has none."""
        curve = curve_of_run(mechanism.analyses())
        if curve is None:
            what = f"no Renyi curve is proved for '{label}', and the price of choosing is known from one alone"
            raise UsageError(f"{self.path}: {what}", "sampling poisson or fixed-size has one, and so have full batches")
        return curve

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


# --- the best of many runs --------------------------------------------------------------------------------------

LOOSELY = (
    "This is far from tight: the only Renyi curve that is proved for one of these runs, from which the theorem starts, "
    "gives {times:.1f} times the epsilon of the run's own analysis. Of batches drawn into bins none is "
    "proved but that of batches that everybody knows; sampling: poisson has a tight one."
)


class Best(NamedTuple):
    """The price of keeping the best of so many runs, each of a setting that is drawn uniformly."""

    settings: int
    drawn: NumberOfRuns
    relation: str
    analysis: Analysis
    loose: float
    """how many times what a run's best analysis states its Renyi curve states, of the settings the largest"""

    def document(self, deltas: Sequence[float]) -> dict[str, Any]:
        """For programs."""
        shape = None if math.isinf(self.drawn.shape) else self.drawn.shape
        return {
            "settings": self.settings,
            "runs": self.drawn.runs,
            "shape": shape,
            "law": law(self.drawn.shape),
            "neighboring_relation": self.relation,
            "looseness": self.loose,
            **self.analysis.statement(deltas),
        }

    def text(self, deltas: Sequence[float]) -> str:
        """A paragraph."""
        eps = ", ".join(f"epsilon = {up(self.analysis.eps(delta))} at delta = {delta:g}" for delta in deltas)
        loose = f" {LOOSELY.format(times=self.loose)}" if self.loose > LOOSE else ""
        which = f"each of one of {self.settings} settings drawn uniformly" if self.settings > 1 else "of one setting"
        return (
            f"Choosing: the best of K runs, K random with mean {self.drawn.runs:g} ({law(self.drawn.shape)}), {which}, "
            f"gives away {eps} (neighbours: {self.relation}; {self.analysis.source}). Holds if "
            f"{'; '.join(self.analysis.assumptions)}. This config does not run such a search: it runs every setting. "
            f"A section tune: runs one.{loose}"
        )


def number_of_runs_among(words: Sequence[str]) -> tuple[list[str], NumberOfRuns | None]:
    """What else is given, and the law of the number of runs; None where it is not asked for."""
    mine = [word for word in words if word.partition("=")[0] in OF_RUNS and "=" in word]
    # What is left is the config's path.
    rest = [word for word in words if word not in mine]
    if not mine:
        return rest, None
    given = values_of(mine)
    if "runs" not in given:
        raise UsageError("shape is that of the number of runs, whose mean is missing", "for instance runs=10 shape=1")
    shape = given.get("shape", math.inf)
    # Shapes 0 and inf have names: logarithmic and Poisson numbers of runs.
    ends = isinstance(shape, int | float) and not isinstance(shape, bool) and shape in (0, math.inf)
    runs = number("runs", given["runs"], 1, MOST_RUNS)
    return rest, NumberOfRuns(runs, float(shape) if ends else number("shape", shape, 0, MOST_SHAPE))
