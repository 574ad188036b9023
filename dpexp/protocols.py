"""The seams of dpexp: what every kind of thing offers, and who asks for it.

A class belongs to a kind by having its members, not by inheriting; `Parameters` gives the fields of a config, and the
bases beside the registries (`dpexp.problems.problem`, `dpexp.algorithms.algorithm`) give the defaults named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    import numpy as np

    from dpexp.engine.result import Passed
    from dpexp.privacy.analyses.analysis import Analysis
    from dpexp.privacy.budgets import Budget
    from dpexp.schedules import Schedule


class Named(Protocol):
    """A value that a config names: frozen parameters."""

    @property
    def name(self) -> str: ...

    def model_dump(self) -> dict[str, Any]: ...


class Problem(Named, Protocol):
    """What is learnt from which data. Algorithms ask for more: each names the classes that it runs on."""

    def memory(self) -> int:
        """Bytes of the data that are kept. Asked by `dpexp.config.resources`; default 0."""

    def prepare(self) -> None:
        """Read what has to be read. Raises UsageError, which the reader places in the config; default: nothing."""

    def notices(self) -> Sequence[str]:
        """What is said of the data in `validate`, `run` and `privacy`; default: nothing."""

    def files(self) -> Mapping[str, str]:
        """The user's own data files, path -> hash. Asked by `dpexp.store.fingerprint`; default: none."""


class Released(Protocol):
    """What an algorithm's run releases, as a privacy statement needs it; asked by `run` and `privacy`."""

    @property
    def neighboring_relation(self) -> str: ...

    @property
    def sampling(self) -> str:
        """How records meet the steps."""

    def row(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Columns of cells.parquet: the noise, epsilon at each delta, and by which analysis. Asked by `store.rows`."""

    def analyses(self) -> Sequence[Analysis]:
        """Every analysis, refused ones included with their reason. Asked by `dpexp.reporting.statement`."""

    def describe(self) -> list[tuple[str, str]]:
        """Who is protected and what is released, as (topic, sentence) pairs."""


class Algorithm(Named, Protocol):
    """An update rule, what it remembers, and the mechanism that it is. `Any` stands for the problems it runs on."""

    estimators: ClassVar[tuple[str, ...]]
    metrics: ClassVar[tuple[str, ...]]
    runs_on: ClassVar[tuple[type, ...]]
    """classes of problems; checked by the reader, so the methods may rely on it"""
    schedules: ClassVar[tuple[str, ...]]
    """names of the schedules that it takes; the first is the default where `power` is not among them"""
    smoke_size: ClassVar[tuple[int, int]]
    """steps and replicates of `--profile smoke`; default (2000, 8)"""

    def steps(self, problem: Any, schedule: Schedule, budget: Budget) -> int | None:
        """The number of steps where the config leaves out `run.n`; default None: the config must say."""

    def complaints(self, problem: Any, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        """What is wrong with a setting, in words; default: nothing. Asked by `validate` and `run`."""

    def seconds(self, problem: Any, n: int) -> float:
        """Estimated time of one replicate of one setting. Asked by `run --dry-run` and `dpexp.config.resources`."""

    def memory(self, problem: Any, n: int, checkpoints: int, settings: int) -> int:
        """Bytes that one worker holds at once. Asked by `dpexp.config.resources`."""

    def mechanism(self, problem: Any, schedule: Schedule, budget: Budget, n: int) -> Released:
        """What n steps release."""

    def simulate(
        self,
        problem: Any,
        settings: Sequence[tuple[Schedule, Budget]],
        steps: np.ndarray,
        seed: int,
        replicates: Sequence[int],
    ) -> Passed:
        """Metrics of every setting and replicate at `steps`; a number depends on its own setting and replicate only."""
