"""Settings to try things with: toy cells of an algorithm on a problem, and values for fields that have no default."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from dpexp.algorithms import ALGORITHMS
from dpexp.config.cells import Cell
from dpexp.config.experiment_file import read_experiment
from dpexp.config.yamlfile import ConfigError
from dpexp.core.parameters import Parameters
from dpexp.problems import PROBLEMS

P = TypeVar("P", bound=Parameters)


class Budgets(NamedTuple):
    """One way to write budgets: smaller and larger ones, those of little noise, and none at all."""

    growing: tuple[str, ...]
    weak: tuple[str, ...]
    """so large that the noise is a small disturbance"""
    none: str


EACH_USER = Budgets(("{mu: 0.5}", "{mu: 1}", "{mu: 2}"), ("{mu: 1000}", "{mu: 10000}"), "{mu: inf}")
WHOLE_RUN = Budgets(
    ("{eps: 0.5, delta: 1e-5}", "{eps: 1, delta: 1e-5}", "{eps: 4, delta: 1e-5}"),
    ("{eps: 8, delta: 1e-5}", "{eps: 64, delta: 1e-5}"),
    "{eps: inf, delta: 1e-5}",
)
WAYS = (EACH_USER, WHOLE_RUN)
STEPS = ("n: 48, ", "")
"""a run of a few steps, or as many as the algorithm prescribes"""
MOST_WORK = 30.0
"""seconds that the replicates of a toy cell may take by the algorithm's own estimate"""


class Toy(NamedTuple):
    """One problem, schedule and number of steps with which an algorithm can be tried."""

    problem: str
    algorithm: str
    schedule: str
    n: str
    ways: Budgets

    def cell(self, privacy: str) -> Cell | None:
        """A toy cell, or None where the algorithm refuses the setting. Configs are read as a user's are."""
        try:
            cell = read_experiment(self.config(privacy), "toy.yaml").cells[0]
        except ConfigError:
            return None
        return cell if cell.algorithm.seconds(cell.problem, cell.run.n) < MOST_WORK else None

    def config(self, privacy: str) -> str:
        """The text of a config."""
        return (
            f"experiment: toy\nproblem: {{name: {self.problem}}}\nalgorithm: {{name: {self.algorithm}}}\n"
            f"schedule: {{name: {self.schedule}}}\nprivacy: {privacy}\n"
            f"run: {{{self.n}replicates: 2, checkpoints: 4}}\n"
        )

    def any_cell(self) -> Cell | None:
        """A cell of a private budget, or without one where none is taken."""
        return self.cell(self.ways.growing[1]) or self.cell(self.ways.none)

    def private(self) -> list[Cell]:
        """Cells of growing budgets."""
        return [cell for privacy in self.ways.growing if (cell := self.cell(privacy))]

    def __str__(self) -> str:
        return f"{self.algorithm} on {self.problem}, schedule {self.schedule}"


def toys_of(algorithm: str, problems: Mapping[str, type[Parameters]] | None = None) -> Iterator[Toy]:
    """Ways to try an algorithm, one for each problem and schedule that it takes; private ones where it takes them."""
    kind: Any = ALGORITHMS[algorithm]
    for problem, family in (PROBLEMS if problems is None else problems).items():
        if not issubclass(family, kind.runs_on):
            continue
        for schedule in kind.schedules:
            best = None
            # A private way ends the search; one without privacy is kept for what takes no private budget.
            for n, ways in itertools.product(STEPS, WAYS):
                toy = Toy(problem, algorithm, schedule, n, ways)
                if toy.cell(ways.growing[1]):
                    best = toy
                    break
                if best is None and toy.cell(ways.none):
                    best = toy
            if best:
                yield best


def toy_of(kind: str, name: str) -> Toy | None:
    """The first way to try a problem or an algorithm."""
    own = {name: PROBLEMS[name]} if kind == "problem" else None
    ways = (toys_of(algorithm, own) for algorithm in (ALGORITHMS if own else [name]))
    return next((toy for way in ways for toy in way), None)
