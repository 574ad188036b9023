"""Formulas in a paper's YAML: a few nodes of Python's grammar, and Python evaluates none of them.

Allowed are names, also with dots, numbers, texts, `and`, `or`, one comparison, + - * /, and calls of functions. Names
are settings of a run; functions are those that the caller gives. Numbers that agree to 1e-9 are equal, so that
`alpha == 1/3` holds.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.text import guess

Names = Mapping[str, Any]
Functions = Mapping[str, Callable[..., Any]]


def _equal(a: Any, b: Any) -> bool:
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    return math.isclose(a, b, rel_tol=1e-9) if numbers else bool(a == b)


OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Eq: _equal,
    ast.NotEq: lambda a, b: not _equal(a, b),
    ast.Lt: lambda a, b: a < b and not _equal(a, b), ast.LtE: lambda a, b: a < b or _equal(a, b),
    ast.Gt: lambda a, b: a > b and not _equal(a, b), ast.GtE: lambda a, b: a > b or _equal(a, b),
}  # fmt: skip


@dataclass(frozen=True)
class Formula:
    """A formula that has been parsed."""

    text: str
    tree: ast.expr

    def __call__(self, names: Names, functions: Functions) -> Any:
        """Its value. Raises UsageError for an unknown name or function, and, with the column, for other grammar."""
        return self._value(self.tree, names, functions)

    def _value(self, tree: ast.expr, names: Names, functions: Functions) -> Any:
        of = partial(self._value, names=names, functions=functions)
        match tree:
            case ast.Constant(value=str(word)):
                return word
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return float(number)
            case ast.Name() | ast.Attribute(value=ast.Name() | ast.Attribute()):
                return _look_up(ast.unparse(tree), names, "name")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -of(operand)
            case ast.BoolOp(op=op, values=values):
                return (all if isinstance(op, ast.And) else any)(map(of, values))
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]) if (
                type(op) in OPERATORS
            ):
                return OPERATORS[type(op)](of(left), of(right))
            case ast.Call(func=ast.Name(id=name), args=values, keywords=[]):
                return _look_up(name, functions, "function")(*map(of, values))
        place = f"formula '{self.text}', column {tree.col_offset + 1}"
        raise UsageError(f"{place}: '{ast.get_source_segment(self.text, tree)}' is not allowed in a formula")


def parse(text: str) -> Formula:
    """Raises UsageError, with the column, for what is no formula."""
    try:
        return Formula(text, ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError) as error:
        column = error.offset if isinstance(error, SyntaxError) else 1
        raise UsageError(
            f"formula '{text}', column {column}: a value, operator or bracket is missing or wrong"
        ) from None


def _look_up(name: str, known: Mapping[str, Any], kind: str) -> Any:
    if name not in known:
        hint = f"{guess(name, known)}{kind}s: {', '.join(sorted(known))}"
        raise UsageError(f"a formula has the {kind} '{name}'", hint)
    return known[name]
