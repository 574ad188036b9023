"""What an algorithm is: frozen parameters, an update rule, and the mechanism that it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpexp.algorithms.schedules import Schedule
from dpexp.core.parameters import Parameters
from dpexp.engine.result import Passed
from dpexp.privacy.budgets import Budget
from dpexp.privacy.mechanisms.mechanism import Released

Settings = Sequence[tuple[Schedule, Budget]]
"""what differs between the settings of a pass that share the algorithm and its problem"""


class Member(NamedTuple):
    """One of the settings of a pass."""

    algorithm: Any
    problem: Any
    schedule: Schedule
    budget: Budget


class Algorithm(Parameters):
    """The base of algorithms. What has no default every algorithm says itself.

    `Any` means the problems that it runs on: the reader has checked `runs_on` before it calls a method, so an
    algorithm writes its own class of problems there.
    """

    name: str

    estimators: ClassVar[tuple[str, ...]]
    """what is measured at every checkpoint: an iterate, an average; the second axis of `Passed.values`"""
    pure_budgets: ClassVar[bool] = False
    """whether a config may give `eps` with delta = 0"""
    populations: ClassVar[bool] = False
    """whether users may be drawn from a `population`; where not, a config that gives one is refused"""
    metrics: ClassVar[tuple[str, ...]]
    """the numbers that are kept of every estimator; the fourth axis of `Passed.values`"""
    runs_on: ClassVar[tuple[type, ...]]
    """classes of problems; checked by the reader, so the methods may rely on it"""
    schedules: ClassVar[tuple[str, ...]]
    """names of the schedules that it takes; the first is the default where `power` is not among them"""
    smoke_size: ClassVar[tuple[int, int]] = (2000, 8)
    """steps and replicates of `--profile smoke`"""
    lanes: ClassVar[int] = 8
    """replicates that are computed side by side: fewer take as long. Pieces of a run have so many"""
    witnesses: ClassVar[int] = 8
    """replicates that `dpexp run` computes again after an edit: as many as take no longer than one"""
    toys: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    """small settings of its own parameters, with which `dpexp check` attacks it"""

    def steps(self, problem: Any, schedule: Schedule, budget: Budget) -> int | None:
        """The number of steps where the config leaves out `run.n`; None: it must say."""
        return None

    def complaints(self, problem: Any, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        """What is wrong with a setting, in words, each with a hint in a second line or none."""
        return []

    def seconds(self, problem: Any, n: int) -> float:
        """Estimated time of one replicate of one setting."""
        raise NotImplementedError

    def memory(self, problem: Any, n: int, checkpoints: int, settings: int) -> int:
        """Bytes that one worker holds at once."""
        raise NotImplementedError

    def mechanism(self, problem: Any, schedule: Schedule, budget: Budget, n: int) -> Released:
        """What n steps release, from which the privacy statement is computed."""
        raise NotImplementedError

    def releases(self, problem: Any, schedule: Schedule, budget: Budget, n: int) -> tuple[str, ...]:
        """The estimators whose parameters a guarantee covers: they are kept where records are a user's own."""
        return ()

    def simulate(
        self, problem: Any, settings: Settings, steps: np.ndarray, seed: int, replicates: Sequence[int]
    ) -> Passed:
        """Metrics of every setting and replicate at `steps`, the checkpoints.

        A number depends on its own setting, the seed and its own replicate only, whatever else is in the call.
        """
        raise NotImplementedError

    def common(self, problem: Any) -> dict[str, Any]:
        """What decides the random numbers of a run. Cells that agree in it are computed in one pass."""
        # all parameters: a plug-in's random numbers may depend on any of them
        return {"problem": problem.model_dump(), "algorithm": self.model_dump()}

    def together(self, members: Sequence[Member], steps: np.ndarray, seed: int, replicates: Sequence[int]) -> Passed:
        """`simulate` for settings that agree in `common`."""
        # an algorithm that only knows `simulate` has members that differ in schedule and budget alone
        settings = [(member.schedule, member.budget) for member in members]
        return self.simulate(members[0].problem, settings, steps, seed, replicates)
