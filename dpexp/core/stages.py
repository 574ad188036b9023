"""The two stages of a run: first its numbers are resolved, then it is simulated with nothing but these.

Accounting, theory and calibration only hand a run a few numbers: a noise multiplier, a step size, a number of steps. A
function that computes one of them is `received`. In the first stage it is computed, and noted by `resolving`. In the
second, under `simulating`, it is not called: what was noted is handed out. So the code behind it cannot touch a
trajectory in any other way, and a fingerprint of the simulation need not follow what is imported inside it
(`dpexp.store.source_code`). A function of the `first_stage` gives a run nothing at all; a simulation that calls one
is refused, and so is one that asks for a number that was not resolved.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")
Values = dict[str, Any]
"""what was resolved, by the function and the arguments that it was asked for"""


class _Stage(threading.local):
    """Of this thread: what is handed out, and what is noted; None where neither stage is on."""

    given: Mapping[str, Any] | None = None
    noted: Values | None = None


_STAGE = _Stage()


class OutOfStage(RuntimeError):
    """A simulation asked for something that was not resolved for it."""


def received(function: Callable[P, T]) -> Callable[P, T]:
    """Marks a function, as a decorator, whose value is all that a run takes from the code behind it: plain numbers."""

    @wraps(function)
    def staged(*args: P.args, **kwargs: P.kwargs) -> T:
        if _STAGE.given is None and _STAGE.noted is None:
            return function(*args, **kwargs)
        asked = f"{function.__module__}.{function.__qualname__} {args!r} {kwargs!r}"
        if _STAGE.given is not None:
            if asked not in _STAGE.given:
                raise OutOfStage(f"{function.__qualname__} was not resolved before the simulation")
            value: T = _STAGE.given[asked]
            return value
        assert _STAGE.noted is not None
        value = _STAGE.noted[asked] = function(*args, **kwargs)
        return value

    return staged


def first_stage(function: Callable[P, T]) -> Callable[P, T]:
    """Marks a function, as a decorator, that no simulation calls."""

    @wraps(function)
    def staged(*args: P.args, **kwargs: P.kwargs) -> T:
        if _STAGE.given is not None:
            raise OutOfStage(f"{function.__qualname__} is no part of a simulation")
        return function(*args, **kwargs)

    return staged


def plain(value: Any) -> Any:
    """A value that a simulation received as JSON. Raises TypeError for what is more than numbers, and so has code."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a simulation receives numbers, and not a {type(value).__name__}")


@contextmanager
def resolving() -> Iterator[Values]:
    """Note every number that is `received` meanwhile."""
    before, _STAGE.noted = _STAGE.noted, {}
    try:
        yield _STAGE.noted
    finally:
        _STAGE.noted = before


@contextmanager
def simulating(given: Mapping[str, Any] | None) -> Iterator[None]:
    """Hand out these numbers; None lets every function compute its own, as in code that knows of no stages."""
    before, _STAGE.given = _STAGE.given, given
    try:
        yield
    finally:
        _STAGE.given = before
