"""`--only EXPR`: which cells, by a comparison of their columns such as `alpha == 1/2 and mu in [1, 2]`."""

from __future__ import annotations

import ast
import difflib
import math
import operator
from collections.abc import Callable
from typing import Any

from dpexp.core.errors import UsageError

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: lambda a, b: a < b or _equal(a, b),
    ast.Gt: operator.gt,
    ast.GtE: lambda a, b: a > b or _equal(a, b),
    ast.Eq: lambda a, b: _equal(a, b),
    ast.NotEq: lambda a, b: not _equal(a, b),
    ast.In: lambda a, b: any(_equal(a, item) for item in b),
    ast.NotIn: lambda a, b: not any(_equal(a, item) for item in b),
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def matches(expression: str, columns: dict[str, Any]) -> bool:
    """Whether the expression holds of these columns: comparisons, and, or, not, in, numbers, 1/3, inf, quoted text.

    Raises UsageError that says what is not understood, with the names there are.
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        return bool(_value(tree.body, columns))
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"--only {expression!r}: not an expression ({error})", _EXAMPLE) from None
    except (TypeError, ZeroDivisionError) as error:
        raise UsageError(f"--only {expression!r}: {error}", _EXAMPLE) from None
    except RecursionError:
        raise UsageError("--only: the expression is nested too deeply", _EXAMPLE) from None


_EXAMPLE = "for instance --only 'alpha == 1/2 and mu in [1, 2]'"


def _value(node: ast.AST, columns: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            return _named(name, columns)
        case ast.Attribute(value=ast.Name(id=section), attr=name) if f"{section}.{name}" in columns:
            return columns[f"{section}.{name}"]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, columns)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, columns)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_value(left, columns), _value(right, columns))
        case ast.BoolOp(op=op, values=values):
            results = [_value(v, columns) for v in values]
            return all(results) if isinstance(op, ast.And) else any(results)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, columns) for item in items]
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            terms = [_value(term, columns) for term in [left, *comparators]]
            triples = zip(terms[:-1], ops, terms[1:], strict=True)
            if all(type(op) in _COMPARE for op in ops):
                return all(_COMPARE[type(op)](a, b) for a, op, b in triples)
    raise ValueError(f"{ast.unparse(node)} is not supported")


def _named(name: str, columns: dict[str, Any]) -> Any:
    if name in columns:
        return columns[name]
    if name in ("inf", "nan"):
        return float(name)
    close = difflib.get_close_matches(name, columns, n=1)
    guess = f"did you mean '{close[0]}'? " if close else ""
    raise UsageError(f"--only: no column '{name}'", f"{guess}columns: {', '.join(columns)}")


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=1e-9)
    return bool(a == b)
