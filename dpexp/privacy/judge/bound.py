"""A bound from a file or a function: what it declares, and its value at a setting, with errors that say where."""

from __future__ import annotations

import ast
import inspect
import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import CodeType
from typing import Any

from dpexp.accounting.gaussian import eps_of
from dpexp.core.errors import UsageError
from dpexp.core.files import MOST_OF_DOCUMENT, read_ordinary
from dpexp.core.text import guess
from dpexp.privacy.judge.kinds import KINDS, Kind
from dpexp.privacy.judge.setting import NEEDS, RELATIONS, RELEASED, SAMPLINGS, Assumes, Setting, allowed, parameter

NEEDED = ("sampling", "relation", "released")
WORDS = {"sampling": SAMPLINGS, "relation": RELATIONS, "released": RELEASED}


@dataclass(frozen=True)
class Bound:
    """A bound: a function of one of the `KINDS`, such as eps(delta, **parameters)."""

    function: Callable[..., Any]
    kind: Kind
    assumes: Assumes
    takes: tuple[str, ...]
    """names of the parameters that it is called with"""
    file: str
    line: int
    floor: float = 0.0
    """of mu: it says nothing of deltas below"""

    def __call__(self, at: float, setting: Setting) -> float:
        """The most that a pair may attain at `at`, or of a lower bound the least; inf, or 0, where it says nothing.

        UsageError where it fails.
        """
        if self.kind.function == "mu":
            return eps_of(self._said((), setting), at) if at > self.floor else math.inf
        said = self._said((at,), setting)
        # a trade-off curve bounds the power of a test from above
        power = 1 - said if self.kind.quantity == "beta" else said
        return math.inf if not self.kind.lower and power == self.kind.most else power

    def _said(self, first: tuple[float, ...], setting: Setting) -> float:
        values = {name: parameter(setting, name) for name in self.takes}
        name = self.kind.function
        try:
            value = self.function(*first, **values)
        except Exception as error:
            # the author's own line, however deep in a library the error was raised
            line = _line_in(error, self.file) or self.line
            raise UsageError(
                f"{self.file}:{line}: {type(error).__name__}: {error}", f"in {name}({_given(first, values)})"
            ) from None
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        # truth values and texts are numbers to float(), and no bounds
        if (
            isinstance(value, bool | str)
            or not 0 <= number <= self.kind.most
            or (self.kind.lower and number == math.inf)
        ):
            nothing = "0" if (self.kind.quantity == "beta") != self.kind.lower else f"{self.kind.most:g}"
            limits = f"number from 0 to {self.kind.most:g}" if self.kind.most < math.inf else "number >= 0"
            raise UsageError(
                f"{self.file}:{self.line}: {name} returns {value!r}, which is no bound",
                f"in {name}({_given(first, values)}); a bound is a {limits}, and {nothing} where it says nothing",
            )
        return number


def from_file(path: Path) -> Bound:
    """The bound that a Python file holds."""
    try:
        source = read_ordinary(path, MOST_OF_DOCUMENT).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path}: {getattr(error, 'strerror', 'is not UTF-8 text')}",
            f"give a Python file with ASSUMES and one of {', '.join(KINDS)}",
        ) from None
    # run first: a file that fails says where before anything else is asked of it
    names = _run(source, str(path))
    assigned = _lines(source)
    if "ASSUMES" not in names:
        raise UsageError(f"{path}: there is no ASSUMES", 'for instance ASSUMES = {"sampling": "poisson", ...}')
    found = [kind for name, kind in KINDS.items() if callable(names.get(name))]
    if len(found) != 1:
        known = ", ".join(
            "mu(...)" if k.function == "mu" else f"{k.function}({k.argument}, ...)" for k in KINDS.values()
        )
        has = " and ".join(kind.function for kind in found) or "none"
        raise UsageError(f"{path}: needs one function of {known}, not {has}")
    where = f"{path}:{assigned.get('ASSUMES', 1)}"
    name = found[0].function
    floor = names.get("MU_FLOOR", 0.0)
    if isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 <= floor < 1:
        raise UsageError(f"{path}:{assigned.get('MU_FLOOR', 1)}: MU_FLOOR is a delta from 0 to 1, not {floor!r}")
    return _bound(names[name], found[0], names["ASSUMES"], where, str(path), assigned.get(name, 1), floor)


def from_function(function: Callable[..., Any], assumes: Mapping[str, Any]) -> Bound:
    """The bound of a Python function, whose first argument is called delta, order, eps or alpha.

    It is one from below if its name ends in `_attained`.
    """
    code = getattr(function, "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if isinstance(code, CodeType) else ("<function>", 1)
    first = next(iter(inspect.signature(function).parameters), "")
    lower = getattr(function, "__name__", "").endswith("_attained")
    kinds = (kind for kind in KINDS.values() if kind.lower == lower and kind.function != "mu")
    kind = {kind.argument: kind for kind in kinds}.get(first)
    if kind is None:
        hint = "call it delta (a bound on epsilon), order (Renyi), eps (delta) or alpha (a trade-off curve)"
        raise UsageError(f"{file}:{line}: the first argument is {first!r}", hint)
    return _bound(function, kind, assumes, f"{file}:{line}", file, line)


def _bound(
    function: Callable[..., Any], kind: Kind, given: Any, where: str, file: str, line: int, floor: float = 0.0
) -> Bound:
    assumes = assumptions(given, where)
    return Bound(function, kind, assumes, _taken(function, kind, assumes, f"{file}:{line}"), file, line, floor)


def _given(first: tuple[float, ...], values: Mapping[str, Any]) -> str:
    """The arguments of a call."""
    return ", ".join([*map(repr, first), *(f"{name}={value!r}" for name, value in values.items())])


def assumptions(given: Any, where: str) -> Assumes:
    """ASSUMES, checked."""
    if not isinstance(given, Mapping):
        raise UsageError(f"{where}: ASSUMES is a dict, not {type(given).__name__}")
    known = [field.name for field in fields(Assumes)]
    faults: list[tuple[str, str]] = []
    for key, value in given.items():
        if key not in known:
            faults.append((f"ASSUMES has no {key!r}", f"{guess(str(key), known)}it takes {', '.join(known)}"))
        elif key in WORDS and value not in WORDS[key]:
            faults.append((f"{key} is one of {', '.join(WORDS[key])}, not {value!r}", ""))
        elif key not in WORDS and not isinstance(value, bool):
            faults.append((f"{key} is True or False, not {value!r}", ""))
    missing = [key for key in NEEDED if key not in given]
    if missing:
        faults.append((f"ASSUMES lacks {', '.join(missing)}", "; ".join(f"{k}: {WORDS[k]}" for k in missing)))
    if given.get("strongly_convex") is True and given.get("convex") is not True:
        faults.append(("strongly convex losses are convex", "say convex: True"))
    if given.get("sampling") == "fixed-size" and given.get("relation") == "add-remove":
        faults.append(("batches of fixed size are defined for replace-one neighbours", ""))
    if faults:
        raise UsageError(f"{where}: {'; '.join(said for said, _ in faults)}", "; ".join(h for _, h in faults if h))
    return Assumes(**given)


def _taken(function: Callable[..., Any], kind: Kind, assumes: Assumes, where: str) -> tuple[str, ...]:
    """Which parameters the signature asks for, all of them for **."""
    names, taken = allowed(assumes), []
    for k, p in enumerate(inspect.signature(function).parameters.values()):
        if k == 0 and kind.function != "mu":
            continue
        if p.kind is inspect.Parameter.VAR_KEYWORD:
            return tuple(names)
        if p.name.startswith("_") and p.default is not inspect.Parameter.empty:
            # an author's own constant
            continue
        if p.name in names and p.kind is not inspect.Parameter.POSITIONAL_ONLY:
            taken.append(p.name)
            continue
        if p.name in NEEDS:
            hint = f"{p.name} needs {NEEDS[p.name]} in ASSUMES"
        else:
            hint = f"{guess(p.name, names)}parameters here: {', '.join(names)}"
        raise UsageError(f"{where}: {kind.function} takes {p.name!r}, which is no parameter of such a run", hint)
    return tuple(taken)


def _run(source: str, path: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "dpexp_judged", "__file__": path}
    try:
        # compiled under its own path, so that tracebacks name its lines
        exec(compile(source, path, "exec"), names)
    except SyntaxError as error:
        raise UsageError(f"{path}:{error.lineno or 1}: {error.msg}") from None
    except Exception as error:
        raise UsageError(f"{path}:{_line_in(error, path) or 1}: {type(error).__name__}: {error}") from None
    return names


def _lines(source: str) -> dict[str, int]:
    """Where top-level names are defined."""
    found: dict[str, int] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            found |= {t.id: node.lineno for t in node.targets if isinstance(t, ast.Name)}
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = node.lineno
    return found


def _line_in(error: BaseException, file: str) -> int | None:
    """The deepest line of the file that the error passed through."""
    frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return frames[-1] if frames else None
