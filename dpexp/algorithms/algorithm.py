"""The base of algorithms: a frozen set of parameters, and what an algorithm is that says nothing else of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from dpexp.core.parameters import Parameters

if TYPE_CHECKING:
    from dpexp.privacy.budgets import Budget
    from dpexp.schedules import Schedule


class AlgorithmBase(Parameters):
    """The members of `dpexp.protocols.Algorithm` that have a default; the others every algorithm writes itself.

    `Any` stands for the problems that an algorithm runs on: the reader has checked `runs_on` before any of these is
    called, so an algorithm may write its own class of problems there.
    """

    name: str

    smoke_size: ClassVar[tuple[int, int]] = (2000, 8)

    def steps(self, problem: Any, schedule: Schedule, budget: Budget) -> int | None:
        """None: the config says how many steps there are."""
        return None

    def complaints(self, problem: Any, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        """Nothing is wrong with any setting."""
        return []
