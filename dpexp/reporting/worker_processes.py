"""Pieces of work of a command, many of them in several processes at once; the outcome is the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from dpexp.core.errors import DpexpError
from dpexp.core.terminal import each, finished

T = TypeVar("T")
MOST_WORKERS = 2
"""processes at once: more take memory and start-up time for little"""
WORTH_PROCESSES = 3
"""pieces from which it pays to start them"""


def in_processes(
    function: Callable[..., T],
    work: Sequence[tuple[Any, ...]],
    what: str,
    names: Sequence[str],
    many: str = "",
    long: Collection[str] = (),
) -> list[T]:
    """The function of each tuple of arguments, in their order, as `outcomes` finds it.

    A piece that fails does not take the others with it; at the end the error of the first in order is raised.
    """
    found = []
    for outcome in outcomes(function, work, what, names, many, long):
        if isinstance(outcome, DpexpError):
            raise outcome
        found.append(outcome)
    return found


def outcomes(
    function: Callable[..., T],
    work: Sequence[tuple[Any, ...]],
    what: str,
    names: Sequence[str],
    many: str = "",
    long: Collection[str] = (),
) -> list[T | DpexpError]:
    """What the function gives for each tuple of arguments, or the error with which a piece failed.

    Progress says which is at work, or how many are done. `what` is one piece of the work, such as "figure", and `many`
    its plural where an s does not make it. Processes begin with the pieces that are named as `long`, so that none of
    these is left to one of them at the end.
    """
    # one core gains nothing from a second process, which loads and compiles for itself
    workers = min(MOST_WORKERS, os.cpu_count() or 1)
    if workers < 2 or len(work) < WORTH_PROCESSES:
        told = each(list(zip(names, work, strict=True)), what, lambda pair: pair[0])
        return [_one(function, arguments) for _, arguments in told]
    from dpexp.store.executors import executed

    order = sorted(range(len(work)), key=lambda number: names[number] not in long)  # stable
    tasks = [(_one, (function, work[number])) for number in order]
    by_place = dict(finished(executed(tasks, workers, "loky"), len(tasks), many or f"{what}s"))
    by_number = {number: by_place[place] for place, number in enumerate(order)}
    return [by_number[number] for number in range(len(work))]


def _one(function: Callable[..., T], arguments: tuple[Any, ...]) -> T | DpexpError:
    """An error is handed over, so that the first one in order is reported."""
    try:
        return function(*arguments)
    except DpexpError as error:
        return error
