"""What a check is: a function that tries one promise of one thing, and says what it tried or what is wrong."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from dpexp.conformance.experiments import ToyExperiments
from dpexp.conformance.failures import Failed, NotTried
from dpexp.conformance.places import place_in_file_of, place_of_error
from dpexp.core.errors import DpexpError

T = TypeVar("T")
Outcome = Literal["ok", "failed", "not tried"]


@dataclass(frozen=True)
class Subject(Generic[T]):
    """One thing to be checked: an entry of a registry."""

    kind: str
    """algorithm, problem, figure, ..."""
    name: str
    value: T


@dataclass(frozen=True)
class Check(Generic[T]):
    """One promise. `run` returns what it tried; it raises Failed, or NotTried where there is nothing to try."""

    name: str
    tries: str
    """one sentence"""
    run: Callable[[Subject[T], ToyExperiments], str]


@dataclass(frozen=True)
class Result:
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
        """The result with the keys of `dpexp check --json`."""
        return {
            "kind": self.kind,
            "what": self.what,
            "check": self.check,
            "tries": self.tries,
            "result": self.outcome,
            "detail": self.detail,
            "where": self.where,
            "seconds": round(self.seconds, 3),
        }


def carry_out(check: Check[T], subject: Subject[T], toys: ToyExperiments) -> Result:
    """The result of a check; whatever else the subject raises is a failure of its own, at the line that raised it."""
    begin = time.perf_counter()
    outcome: Outcome = "ok"
    where = ""
    try:
        detail = check.run(subject, toys)
    except NotTried as reason:
        outcome, detail = "not tried", str(reason)
    except Failed as error:
        outcome, detail = "failed", str(error)
        where = place_in_file_of(error.at, subject.value)
    except DpexpError as error:
        outcome, detail = "failed", "; ".join(filter(None, (error.message, error.hint)))
        located = re.match(r"(\S+\.py:\d+): ", detail)
        where = located[1] if located else place_of_error(error, subject.value)
        detail = detail.removeprefix(f"{where}: ")
    except Exception as error:  # a subject may raise anything at all: that is what is being found out
        outcome, detail = "failed", f"{type(error).__name__}: {error}"
        where = place_of_error(error, subject.value)
    seconds = time.perf_counter() - begin
    return Result(
        subject.kind, subject.name, check.name, check.tries, outcome, " ".join(detail.split()), where, seconds
    )
