"""Work in several processes: the same outcomes in the same order, the first error, and progress."""

from __future__ import annotations

import os

import pytest

from dpexp.core.errors import UsageError
from dpexp.core.terminal import listening
from dpexp.reporting.worker_processes import WORTH_PROCESSES, in_processes


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    """However many there are: with one, no process is started."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def squared(number, seen):
    if number < 0:
        raise UsageError(f"{number} is negative")
    return number * number, os.getpid() == seen


@pytest.mark.parametrize("count", [WORTH_PROCESSES - 1, WORTH_PROCESSES + 3])
def test_outcomes_are_in_order_whoever_finds_them(count):
    told = []
    with listening(lambda step, done: told.append(step)):
        found = in_processes(
            squared, [(k, os.getpid()) for k in range(count)], "square", [f"of {k}" for k in range(count)]
        )
    assert [value for value, _ in found] == [k * k for k in range(count)]
    few = count < WORTH_PROCESSES
    assert all(here == few for _, here in found)
    assert told[-1] == (f"square {count} of {count}: of {count - 1}" if few else f"squares: {count} of {count} done")


@pytest.mark.parametrize("count", [WORTH_PROCESSES - 1, WORTH_PROCESSES + 3])
def test_the_first_error_in_order_is_raised_after_all_are_done(count):
    numbers = [0, -1, *range(2, count - 1), -5]
    with pytest.raises(UsageError, match="-1 is negative"):
        in_processes(squared, [(k, 0) for k in numbers], "square", [str(k) for k in numbers])
