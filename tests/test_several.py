"""Work in several processes: the same outcomes in the same order, the first error, and progress."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from dpexp.core.errors import UsageError
from dpexp.core.steps import listening
from dpexp.reporting.several import WORTH_PROCESSES, several


def squared(number, seen):
    if number < 0:
        raise UsageError(f"{number} is negative")
    return number * number, os.getpid() == seen


@pytest.mark.parametrize("count", [WORTH_PROCESSES - 1, WORTH_PROCESSES + 3])
def test_outcomes_are_in_order_whoever_finds_them(count):
    told = []
    with listening(lambda step, done: told.append(step)):
        found = several(squared, [(k, os.getpid()) for k in range(count)], "square", [f"of {k}" for k in range(count)])
    assert [value for value, _ in found] == [k * k for k in range(count)]
    few = count < WORTH_PROCESSES
    assert all(here == few for _, here in found)
    assert told[-1] == (f"square {count} of {count}: of {count - 1}" if few else f"squares: {count} of {count} done")


@pytest.mark.parametrize("count", [WORTH_PROCESSES - 1, WORTH_PROCESSES + 3])
def test_the_first_error_in_order_is_raised_after_all_are_done(count):
    numbers = [0, -1, *range(2, count - 1), -5]
    with pytest.raises(UsageError, match="-1 is negative"):
        several(squared, [(k, 0) for k in numbers], "square", [str(k) for k in numbers])


def began(number, place):
    """When it began."""
    time.sleep(0.3)
    return time.monotonic()


def test_long_pieces_begin_first_and_outcomes_stay_in_order():
    names = [str(k) for k in range(6)]
    times = several(began, [(k, 0) for k in range(6)], "piece", names, long={"3", "5"})
    assert set(np.argsort(times)[:2].tolist()) == {3, 5}
    assert set(np.argsort(several(began, [(k, 0) for k in range(6)], "piece", names))[:2].tolist()) == {0, 1}
