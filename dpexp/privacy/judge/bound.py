"""A bound from a file or a function: what it declares, and its value at a setting, with errors that say where."""

from __future__ import annotations

import ast
import inspect
import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.files import MOST_OF_DOCUMENT, read_ordinary
from dpexp.core.text import guess
from dpexp.privacy.judge.setting import KINDS, NEEDS, Assumes, BoundKind, allowed, numbers_of
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd


@dataclass(frozen=True)
class StatedBound:
    """A function that an author states, with its place."""

    function: Callable[..., Any]
    name: str
    file: str
    line: int

    def value(self, first: tuple[float, ...], parameters: Mapping[str, float], largest: float, limits: str) -> float:
        """Its value, a number from 0 to `largest`; `limits` describes what it may return. UsageError for others."""
        arguments = [*map(repr, first), *(f"{key}={value!r}" for key, value in parameters.items())]
        call = f"in {self.name}({', '.join(arguments)})"
        try:
            value = self.function(*first, **parameters)
        except Exception as error:
            # the author's own line, however deep in a library the error was raised
            where = f"{self.file}:{_line_in(error, self.file) or self.line}"
            raise UsageError(f"{where}: {type(error).__name__}: {error}", call) from None
        try:
            # truth values and texts are numbers to float(), and no bounds
            number = math.nan if isinstance(value, bool | str) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not 0 <= number <= largest:
            wrong = f"{self.file}:{self.line}: {self.name} returns {value!r}, which is no bound"
            raise UsageError(wrong, f"{call}; a bound is a {limits}")
        return number


@dataclass(frozen=True)
class Bound(StatedBound):
    """A bound on privacy: a function of one of the `KINDS`, such as eps(delta, **parameters)."""

    kind: BoundKind
    assumes: Assumes
    parameters: tuple[str, ...]
    """names of the parameters that it is called with"""

    def __call__(self, at: float, run: NoisySgd) -> float:
        """The most that a pair may attain at `at`; inf where it says nothing."""
        largest, beta = self.kind.largest, self.kind.function == "beta"
        limits = f"number from 0 to {largest:g}" if largest < math.inf else "number >= 0"
        numbers = numbers_of(run)
        values = {name: numbers[name] for name in self.parameters}
        value = self.value((at,), values, largest, f"{limits}, and {0 if beta else largest:g} where it says nothing")
        # a trade-off curve bounds the power of a test from above
        power = 1 - value if beta else value
        return math.inf if power == largest else power


def read_file(path: Path) -> tuple[dict[str, Any], int]:
    """The names that a Python file defines, and the line of its ASSUMES. UsageError says where it fails."""
    try:
        source = read_ordinary(path, MOST_OF_DOCUMENT).decode()
    except (OSError, UnicodeDecodeError) as error:
        hint = f"give a Python file with one of {', '.join(KINDS)}"
        raise UsageError(f"{path}: {getattr(error, 'strerror', 'is not UTF-8 text')}", hint) from None
    names: dict[str, Any] = {"__name__": "dpexp_judged", "__file__": str(path)}
    try:
        # compiled under its own path, so that tracebacks name its lines
        exec(compile(source, str(path), "exec"), names)
    except SyntaxError as error:
        raise UsageError(f"{path}:{error.lineno or 1}: {error.msg}") from None
    except Exception as error:
        raise UsageError(f"{path}:{_line_in(error, str(path)) or 1}: {type(error).__name__}: {error}") from None
    assigned = (node for node in ast.parse(source).body if isinstance(node, ast.Assign))
    return names, next((node.lineno for node in assigned if "ASSUMES" in map(ast.unparse, node.targets)), 1)


def from_names(path: Path, names: Mapping[str, Any], assumes: Assumes) -> Bound:
    """The bound that a Python file holds, by the names that it defines."""
    kinds = [kind for name, kind in KINDS.items() if callable(names.get(name))]
    if len(kinds) != 1:
        known = ", ".join(f"{k.function}({k.argument}, ...)" for k in KINDS.values())
        has = " and ".join(kind.function for kind in kinds) or "none"
        raise UsageError(f"{path}: needs one function of {known}, not {has}")
    return _bound(names[kinds[0].function], kinds[0], assumes)


def from_function(function: Callable[..., Any], assumes: Assumes) -> Bound:
    """The bound of a Python function, whose first argument is called delta, order, eps or alpha."""
    first = next(iter(inspect.signature(function).parameters), "")
    kinds = {k.argument: k for k in KINDS.values()}
    if first not in kinds:
        hint = "call it delta (a bound on epsilon), order (Renyi), eps (delta) or alpha (a trade-off curve)"
        raise UsageError("{}:{}: the first argument is {!r}".format(*place_of(function), first), hint)
    return _bound(function, kinds[first], assumes)


def place_of(function: Callable[..., Any]) -> tuple[str, int]:
    """The file of a function and its first line."""
    place = inspect.unwrap(function)
    return (
        (place.__code__.co_filename, place.__code__.co_firstlineno) if inspect.isfunction(place) else ("<function>", 1)
    )


def _bound(function: Callable[..., Any], kind: BoundKind, assumes: Assumes) -> Bound:
    """With the parameters that its signature asks for, all of them for **."""
    (file, line), names, parameters = place_of(function), allowed(assumes), list[str]()
    for p in list(inspect.signature(function).parameters.values())[1:]:
        if p.kind is inspect.Parameter.VAR_KEYWORD:
            parameters = names
            break
        if p.name.startswith("_") and p.default is not inspect.Parameter.empty:
            continue  # an author's own constant
        if p.name not in names or p.kind is inspect.Parameter.POSITIONAL_ONLY:
            needs = f"{p.name} needs {NEEDS[p.name]} in ASSUMES" if p.name in NEEDS else ""
            hint = needs or f"{guess(p.name, names)}parameters here: {', '.join(names)}"
            raise UsageError(
                f"{file}:{line}: {kind.function} takes {p.name!r}, which is no parameter of such a run", hint
            )
        parameters.append(p.name)
    return Bound(function, kind.function, file, line, kind, assumes, tuple(parameters))


def _line_in(error: BaseException, file: str) -> int | None:
    """The deepest line of the file that the error passed through."""
    frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return frames[-1] if frames else None
