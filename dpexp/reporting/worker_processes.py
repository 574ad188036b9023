"""Pieces of work of a command, in two processes where they are several; the outcome is the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dpexp.core.errors import DpexpError
from dpexp.core.terminal import each, finished

T = TypeVar("T")
MOST_WORKERS = 2
"""processes at once: more take memory and start-up time for little"""
WORTH_PROCESSES = 3
"""pieces from which it pays to start them"""


def in_processes(
    function: Callable[..., T], work: Sequence[tuple[Any, ...]], what: str, names: Sequence[str], many: str = ""
) -> list[T]:
    """As `outcomes`; the error of the first piece in order that failed is raised when all are done."""
    results = []
    for outcome in outcomes(function, work, what, names, many):
        if isinstance(outcome, DpexpError):
            raise outcome
        results.append(outcome)
    return results


def outcomes(
    function: Callable[..., T], work: Sequence[tuple[Any, ...]], what: str, names: Sequence[str], many: str = ""
) -> list[T | DpexpError]:
    """The function of each tuple of arguments, in their order, or the error with which a piece failed.

    `what` names a piece in the progress, such as "figure", and `many` several where an s does not make it the plural.
    """
    # one core gains nothing from a second process, which loads and compiles for itself
    workers = min(MOST_WORKERS, os.cpu_count() or 1)
    if workers < 2 or len(work) < WORTH_PROCESSES:
        pieces = each(list(zip(names, work, strict=True)), what, lambda pair: pair[0])
        return [_attempt(function, arguments) for _, arguments in pieces]
    from dpexp.store.executors import executed

    tasks = [(_attempt, (function, arguments)) for arguments in work]
    by_number = dict(finished(executed(tasks, workers, "loky"), len(tasks), many or f"{what}s"))
    return [by_number[number] for number in range(len(work))]


def _attempt(function: Callable[..., T], arguments: tuple[Any, ...]) -> T | DpexpError:
    try:
        return function(*arguments)
    except DpexpError as error:
        return error
