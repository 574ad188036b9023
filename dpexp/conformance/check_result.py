"""What a check is: a function that tries one promise of one thing, and returns what it tried or what is wrong."""

from __future__ import annotations

import inspect
import re
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from dpexp.core.errors import DpexpError

T = TypeVar("T")
Outcome = Literal["ok", "failed", "not tried"]


class Breach(Exception):
    """A promise that is not kept, in words; `at` is the function or class whose lines are to be looked at."""

    def __init__(self, message: str, at: object = None) -> None:
        super().__init__(message)
        self.at = at


class NotTried(Exception):
    """Why a check says nothing here."""


@dataclass(frozen=True)
class Subject(Generic[T]):
    """One thing to be checked: an entry of a registry."""

    kind: str
    """algorithm, problem or plug-in"""
    name: str
    value: T


@dataclass(frozen=True)
class Promise(Generic[T]):
    """One promise. `run` returns what it tried; it raises Failed, or NotTried where there is nothing to try."""

    name: str
    tries: str
    """one sentence"""
    run: Callable[[Subject[T]], str]


@dataclass(frozen=True)
class CheckResult:
    """What came of one check of one subject."""

    kind: str
    what: str
    check: str
    tries: str
    outcome: Outcome
    detail: str
    where: str
    """file:line of what is wrong, where it is known; empty for what is right"""
    seconds: float

    def document(self) -> dict[str, Any]:
        """The result with the keys of `dpexp check --json`: its fields, with `result` for the outcome."""
        fields = {"result" if name == "outcome" else name: value for name, value in vars(self).items()}
        return {**fields, "seconds": round(self.seconds, 3)}


def carry_out(check: Promise[T], subject: Subject[T]) -> CheckResult:
    """The result of a check; whatever else the subject raises is a failure of its own, at the line that raised it."""
    begin = time.perf_counter()
    outcome: Outcome = "ok"
    where = ""
    try:
        detail = check.run(subject)
    except NotTried as reason:
        outcome, detail = "not tried", str(reason)
    except Breach as error:
        outcome, detail = "failed", str(error)
        where = place_in_file_of(error.at, subject.value)
    except DpexpError as error:
        outcome, detail = "failed", "; ".join(filter(None, (error.message, error.hint)))
        # A message that begins with a line of a plug-in has its place already, which is then not said twice.
        located = re.match(r"(\S+\.py:\d+): ", detail)
        where = located[1] if located else place_of_error(error, subject.value)
        detail = detail.removeprefix(f"{where}: ")
    except Exception as error:  # a subject may raise anything at all: that is what is being found out
        outcome, detail = "failed", f"{type(error).__name__}: {error}"
        where = place_of_error(error, subject.value)
    seconds = time.perf_counter() - begin
    return CheckResult(
        subject.kind, subject.name, check.name, check.tries, outcome, " ".join(detail.split()), where, seconds
    )


def source_place(value: object) -> str:
    """file:line of a class or function, of the function behind a partial, or of one that a value holds."""
    written = _unwrapped(value)
    if written is None:
        return ""
    try:
        file = inspect.getsourcefile(written)
        _, line = inspect.getsourcelines(written)
    except (OSError, TypeError):
        return ""
    return f"{_short(file)}:{max(line, 1)}" if file else ""


def place_in_file_of(part: object, value: object) -> str:
    """Where a part is written, if that is the value's own file; else, as for what is inherited, the value's place."""
    own, inner = source_place(value), source_place(part)
    return inner if inner.rpartition(":")[0] == own.rpartition(":")[0] or not own else own


def place_of_error(error: BaseException, value: object) -> str:
    """The innermost line of the file in which the value is written that led to the error; else where it is written."""
    own = source_place(value)
    file = own.rpartition(":")[0]
    # What a library raises is told at the line of the subject that called it.
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if file and _short(frame.filename) == file:
            return f"{file}:{frame.lineno}"
    return own


def _unwrapped(value: Any) -> Any:
    while isinstance(value, partial):
        value = value.func
    if inspect.isclass(value) or inspect.isfunction(value) or inspect.ismethod(value):
        return inspect.unwrap(value)
    return None


def _short(file: str | None) -> str:
    """The path as it is seen from here, where that is shorter."""
    if not file:
        return ""
    path = Path(file).resolve()
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
