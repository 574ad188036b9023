"""What a check is: a function that tries one promise of one thing, and returns what it tried or what is wrong."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from dpexp.plugins.loaded import error_words, owners_of
from dpexp.plugins.shape import place_of

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
    name: str
    value: T


@dataclass(frozen=True)
class Promise(Generic[T]):
    """One promise, and what it tries in a sentence. `run` returns what it tried, or raises Breach or NotTried."""

    name: str
    tries: str
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
        where = place_in_plugin(error.at, subject.value)
    except Exception as error:  # a subject may raise anything at all: that is what is being found out
        message, hint = error_words(error)
        # what a plug-in raised begins with its line; what dpexp raised is told at the subject
        located = re.match(r"(\S+\.py:\d+): ", message)
        where = located[1] if located else place_in_plugin(subject.value)
        outcome, detail = "failed", "; ".join(filter(None, (message.removeprefix(f"{where}: "), hint)))
    seconds = time.perf_counter() - begin
    return CheckResult(
        subject.kind, subject.name, check.name, check.tries, outcome, " ".join(detail.split()), where, seconds
    )


def place_in_plugin(*parts: Any) -> str:
    """file:line of the first of these classes and functions that a plug-in's folder has; empty for dpexp's own."""
    written = (part for part in parts if inspect.isclass(part) or inspect.isroutine(part))
    return next((place_of(part, loaded) for part in written for loaded in owners_of(part)), "")
