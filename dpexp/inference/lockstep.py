"""Several methods and settings that meet the same users: what is random is drawn once, and everybody goes on in step.

Settings of an experiment share users and noise, so that they are paired. Drawing users costs more than serving them.
Here the next few users are drawn, and every participant takes them before others are: as many at a time as the
participant takes whose stage ends first. A participant sees the same users as if it were alone.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from dpexp.inference.messages import Sums, Users
from dpexp.inference.users import BLOCK, Source

T = TypeVar("T")


class Wanted(NamedTuple):
    """Whom a participant asks next."""

    users: int
    """at most so many at once"""
    first: int
    """the number in their stage of the user before them"""
    every: int
    """every k-th user of the stage sends a Hessian; 0: none"""


class Crowd(Protocol):
    """Users for several participants."""

    def blocks(self, count: int, asked: Sequence[tuple[int, int, Wanted]]) -> Sequence[Users]:
        """The next `count` users for each (group, budget, wanted).

        Those of a group have asked for Hessians from the same users so far, and get the same noise of Hessians.
        """


class Stage(NamedTuple):
    """What a server does with the next users."""

    eta: np.ndarray
    """step sizes, of as many users"""
    every: int
    summed: int = 1
    """the first user who enters the sums"""
    before: int = 0
    """the number of the user before the first"""


class Host(Protocol):
    """What of a server serves a few users; `dpexp.inference.staged_newton.Server` is one."""

    def begin(self) -> Sums:
        """Sums over nobody."""

    def serve(self, users: Users, first: int, eta: np.ndarray, every: int, summed: int, sums: Sums) -> None:
        """Move theta and the sums by these users."""


Conversation = Generator[Stage, Sums, T]
"""A method as a generator: it yields its stages, gets their sums, and returns what it found."""


class Talk(Generic[T]):
    """A server that follows a conversation: one method with one setting."""

    def __init__(self, host: Host, conversation: Conversation[T], budget: int = 0) -> None:
        self.host, self.conversation = host, conversation
        self.budget = budget
        """which of the budgets of the crowd its users have"""
        self.found: T | None = None
        self.stage: Stage | None = next(conversation)
        self.done, self.sums = 0, host.begin()

    @property
    def wanted(self) -> Wanted | None:
        """None where it has heard all of its users."""
        if self.stage is None:
            return None
        return Wanted(len(self.stage.eta) - self.done, self.stage.before + self.done, self.stage.every)

    def take(self, users: Users) -> None:
        """The next users, `wanted.users` or fewer."""
        stage, count = self.stage, len(users.v)
        assert stage is not None
        eta = stage.eta[self.done : self.done + count]
        self.host.serve(users, stage.before + self.done, eta, stage.every, stage.summed, self.sums)
        self.done += count
        if self.done == len(stage.eta):
            self._next()

    def _next(self) -> None:
        try:
            self.stage = self.conversation.send(self.sums)
        except StopIteration as end:
            self.stage, self.found = None, end.value
        self.done, self.sums = 0, self.host.begin()

    @property
    def result(self) -> T:
        """What was found. Raises ValueError before the last stage has ended."""
        if self.found is None:
            raise ValueError("the conversation has not ended")
        return self.found


def alone(host: Host, conversation: Conversation[T], source: Source) -> T:
    """One conversation with the users of a source."""
    talk = Talk(host, conversation)
    while (wanted := talk.wanted) is not None:
        talk.take(source.block(min(BLOCK, wanted.users), wanted.first, wanted.every))
    return talk.result


def together(groups: Sequence[Sequence[Talk[Any]]], crowd: Crowd) -> None:
    """All participants with the users of a crowd, in step; those of a group want the same users at every time."""
    while True:
        asked = [
            (number, one, wanted)
            for number, group in enumerate(groups)
            for one in group
            if (wanted := one.wanted) is not None
        ]
        if not asked:
            return
        count = min(BLOCK, *(wanted.users for _, _, wanted in asked))
        served = crowd.blocks(count, [(number, one.budget, wanted) for number, one, wanted in asked])
        for (_, one, _), users in zip(asked, served, strict=True):
            one.take(users)
