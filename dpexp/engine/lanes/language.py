"""The language of rules: which functions compiled code may call, and what is said of a line that it cannot take.

Scores, updates and rescalings are plain Python: arithmetic, comparisons, the functions of `elementwise`, and functions
of one's own that are made of these.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import njit
from numba.core.errors import NumbaError, UnsupportedBytecodeError

from dpexp.core.errors import UsageError
from dpexp.engine.lanes import elementwise
from dpexp.engine.lanes import vectormath as _overloads  # noqa: F401 - teaches the compiler normal_cdf, softplus, ...

OURS = "dpexp.engine.lanes"
"""functions of these modules mean something to the compiler already"""
FUNCTIONS = tuple(name for name, value in vars(elementwise).items() if isinstance(value, FunctionType))
ALLOWED = (
    f"write it with + - * /, comparisons and {', '.join(FUNCTIONS)} of {elementwise.__name__}, "
    "or with functions of your own that are made of these"
)


@cache
def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the language as compiled code calls it, the functions of its own module that it calls included."""
    compiled: Callable[..., Any] = njit(_with_helpers(function), nogil=True, forceinline=True)
    return compiled


def _with_helpers(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same code, for which the functions that it calls by a name of its module are compiled ones."""
    if not isinstance(function, FunctionType):
        return function
    named = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    # what lanes teach the compiler stays as it is, and so does a function that calls itself
    helpers = {
        name: inlined(value)
        for name, value in named.items()
        if isinstance(value, FunctionType) and not value.__module__.startswith(OURS) and value is not function
    }
    if not helpers:
        return function
    known = {**function.__globals__, **helpers}
    return FunctionType(function.__code__, known, function.__name__, function.__defaults__, function.__closure__)


@contextmanager
def located_errors() -> Iterator[None]:
    """Compiler errors within are said in one sentence, at the line of the function of the language that caused them."""
    try:
        yield
    except (NumbaError, UnsupportedBytecodeError) as error:
        # the first place that numba names and that is not of the engine is a line of the rule
        places = re.findall(r'(?: at|Raised from) (.+?) \((\d+)\)|File "(.+?)", line (\d+)', str(error))
        engine = Path(__file__).parents[1]
        for file, line in ((a or c, int(b or d)) for a, b, c, d in places):
            path = Path(file).resolve()
            if path.is_file() and engine not in path.parents:
                path_here = path.relative_to(here) if path.is_relative_to(here := Path.cwd()) else path
                raise UsageError(f"{path_here}:{line}: {_sentence(path, line)}", ALLOWED) from error
        raise


def _sentence(file: Path, line: int) -> str:
    """Why a line cannot be compiled for eight replicates at once."""
    nodes = list(ast.walk(ast.parse(file.read_bytes())))
    here = [node for node in nodes if getattr(node, "lineno", 0) <= line <= getattr(node, "end_lineno", 0)]
    # a definition spans the lines of its whole body, so that anything might stand in it
    here = [node for node in here if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    if any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) for node in here):
        return "`**` takes no number that differs between replicates: write a * a, or sqrt(a) for a ** 0.5"
    if any(isinstance(node, ast.If | ast.IfExp | ast.BoolOp | ast.Not | ast.While) for node in here):
        return "`if`, `and`, `or` and `not` have one answer for eight replicates: write where(condition, a, b)"
    if any(isinstance(node, ast.Import | ast.ImportFrom) for node in here):
        return "`import` has its place at the top of the file"
    calls = [node.func for node in here if isinstance(node, ast.Call)]
    for call in calls:
        if isinstance(call, ast.Attribute) or (isinstance(call, ast.Name) and hasattr(builtins, call.id)):
            return f"`{ast.unparse(call)}` is no function of the rule language"
    return "this cannot be compiled for eight replicates at once"
