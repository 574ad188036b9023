"""A bound from a file or a function: what it declares, and its value at a setting, with errors that say where."""

from __future__ import annotations

import ast
import inspect
import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.files import MOST_OF_DOCUMENT, read_ordinary
from dpexp.core.text import guess
from dpexp.privacy.judge.setting import (
    KINDS,
    NEEDS,
    RELATIONS,
    RELEASED,
    SAMPLINGS,
    Assumes,
    BoundKind,
    Setting,
    allowed,
)

WORDS = {"sampling": SAMPLINGS, "relation": RELATIONS, "released": RELEASED}
"""what ASSUMES must say"""


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

    def __call__(self, at: float, setting: Setting) -> float:
        """The most that a pair may attain at `at`; inf where it says nothing."""
        largest, beta = self.kind.largest, self.kind.function == "beta"
        limits = f"number from 0 to {largest:g}" if largest < math.inf else "number >= 0"
        values = {name: getattr(setting, name) for name in self.parameters}
        value = self.value((at,), values, largest, f"{limits}, and {0 if beta else largest:g} where it says nothing")
        # a trade-off curve bounds the power of a test from above
        power = 1 - value if beta else value
        return math.inf if power == largest else power


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """The names that a Python file defines, and the lines of those at its top level. UsageError says where it fails."""
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
    lines: dict[str, int] = {}
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        lines |= {target.id: node.lineno for target in targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.FunctionDef):
            lines[node.name] = node.lineno
    return names, lines


def from_names(path: Path, names: Mapping[str, Any], lines: Mapping[str, int]) -> Bound:
    """The bound that a Python file holds, by the names that it defines."""
    if "ASSUMES" not in names:
        raise UsageError(f"{path}: there is no ASSUMES", 'for instance ASSUMES = {"sampling": "poisson", ...}')
    kinds = [kind for name, kind in KINDS.items() if callable(names.get(name))]
    if len(kinds) != 1:
        known = ", ".join(f"{k.function}({k.argument}, ...)" for k in KINDS.values())
        has = " and ".join(kind.function for kind in kinds) or "none"
        raise UsageError(f"{path}: needs one function of {known}, not {has}")
    name = kinds[0].function
    assumes = _assumes(names["ASSUMES"], f"{path}:{lines.get('ASSUMES', 1)}")
    return _bound(names[name], kinds[0], assumes, str(path), lines.get(name, 1))


def from_function(function: Callable[..., Any], assumes: Mapping[str, Any] | None) -> Bound:
    """The bound of a Python function, whose first argument is called delta, order, eps or alpha."""
    if assumes is None:
        raise UsageError("a function is judged with assumes={...}", 'for instance {"sampling": "poisson", ...}')
    place = inspect.unwrap(function)
    file, line = (
        (place.__code__.co_filename, place.__code__.co_firstlineno) if inspect.isfunction(place) else ("<function>", 1)
    )
    first = next(iter(inspect.signature(function).parameters), "")
    kinds = {k.argument: k for k in KINDS.values()}
    if first not in kinds:
        hint = "call it delta (a bound on epsilon), order (Renyi), eps (delta) or alpha (a trade-off curve)"
        raise UsageError(f"{file}:{line}: the first argument is {first!r}", hint)
    return _bound(function, kinds[first], _assumes(assumes, f"{file}:{line}"), file, line)


def _assumes(declared: Any, where: str) -> Assumes:
    """ASSUMES, checked: all mistakes at once."""
    if not isinstance(declared, Mapping):
        raise UsageError(f"{where}: ASSUMES is a dict, not {type(declared).__name__}")
    known, faults, hints = [field.name for field in fields(Assumes)], list[str](), list[str]()
    for key, value in declared.items():
        if key not in known:
            faults.append(f"ASSUMES has no {key!r}")
            hints.append(f"{guess(str(key), known)}it takes {', '.join(known)}")
        elif key in WORDS and value not in WORDS[key]:
            faults.append(f"{key} is one of {', '.join(WORDS[key])}, not {value!r}")
        elif key not in WORDS and not isinstance(value, bool):
            faults.append(f"{key} is True or False, not {value!r}")
    if missing := [key for key in WORDS if key not in declared]:
        faults.append(f"ASSUMES lacks {', '.join(missing)}")
        hints += [f"{key}: {WORDS[key]}" for key in missing]
    if declared.get("strongly_convex") is True and declared.get("convex") is not True:
        faults.append("strongly convex losses are convex: say convex: True")
    if declared.get("sampling") == "fixed-size" and declared.get("relation") == "add-remove":
        faults.append("batches of fixed size are defined for replace-one neighbours")
    if faults:
        raise UsageError(f"{where}: {'; '.join(faults)}", "; ".join(hints))
    return Assumes(**declared)


def _bound(function: Callable[..., Any], kind: BoundKind, assumes: Assumes, file: str, line: int) -> Bound:
    """With the parameters that its signature asks for, all of them for **."""
    names, parameters = allowed(assumes), list[str]()
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
