"""`--only EXPR`: which cells, by a comparison of their columns such as `alpha == 1/2 and mu in [1, 2]`.

A value may be written as it is printed: `mu = non-private`, `alpha == '1/3'`. A comparison with a column that a cell
does not have is neither true nor false there, and so is what follows from it (Kleene's logic): the cell does not match.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Collection
from typing import Any

from dpexp.config.settings import NON_PRIVATE, spelled
from dpexp.core.errors import UsageError
from dpexp.core.text import guess

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


class _Budget(float):
    """mu of a cell, which is also called by the label of its budgets."""

    label: str


_BARE = re.compile(rf"""('[^']*'|"[^"]*")|\b{NON_PRIVATE}\b|(?<![<>=!])=(?!=)""")
"""what is printed without quotes and is no Python: the word for an infinite mu, and one equals sign"""


def matches(expression: str, columns: dict[str, Any], known: Collection[str] = ()) -> bool:
    """Whether the expression holds of these columns: comparisons, and, or, not, in, numbers, 1/3, inf, quoted text.

    `known` are columns that other cells have. Raises UsageError that says what is not understood, with the names there
    are.
    """
    # Quoted text stays as it is, whatever stands in it.
    python = _BARE.sub(lambda found: found[1] or {"=": "=="}.get(found[0], repr(NON_PRIVATE)), expression.strip())
    # A cell of another problem lacks a parameter, which is no spelling mistake.
    cell = {**dict.fromkeys(known), **columns}
    if "mu" in columns:
        cell["mu"] = _Budget(columns["mu"])
        cell["mu"].label = columns.get("budget", "")
    try:
        return bool(_value(ast.parse(python, mode="eval").body, cell))
    except UsageError:
        raise
    except (SyntaxError, ValueError) as error:
        raise UsageError(
            f"--only {expression!r}: not an expression ({getattr(error, 'msg', error)})", _EXAMPLE
        ) from None
    except (TypeError, ZeroDivisionError) as error:
        raise UsageError(f"--only {expression!r}: {error}", _EXAMPLE) from None
    # An expression comes from a command line, and may be of any length.
    except RecursionError:
        raise UsageError("--only: the expression is nested too deeply", _EXAMPLE) from None


_EXAMPLE = "for instance --only 'alpha == 1/2 and mu in [1, 2]'"


def _value(node: ast.AST, columns: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            return _named(name, columns)
        case ast.Attribute() if (name := ast.unparse(node)) in columns:
            return columns[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return None if (value := _value(operand, columns)) is None else -value
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return None if (value := _value(operand, columns)) is None else not value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            sides = _value(left, columns), _value(right, columns)
            # As in SQL, whatever is said of a missing value is neither true nor false.
            return None if None in sides else _ARITHMETIC[type(op)](*sides)
        case ast.BoolOp(op=op, values=values):
            decides = isinstance(op, ast.Or)  # one true term decides an or, one false term an and
            results = [None if (value := _value(v, columns)) is None else bool(value) for v in values]
            return decides if decides in results else None if None in results else not decides
        case ast.List(elts=items) | ast.Tuple(elts=items):
            each = [_value(item, columns) for item in items]
            return None if None in each else each
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            terms = [_value(term, columns) for term in [left, *comparators]]
            triples = zip(terms[:-1], ops, terms[1:], strict=True)
            if all(type(op) in _COMPARE for op in ops):
                if None in terms:
                    return None
                return all(_COMPARE[type(op)](a, b) for a, op, b in triples)
    raise ValueError(f"{ast.unparse(node)} is not supported")


def _named(name: str, columns: dict[str, Any]) -> Any:
    if name in columns:
        return columns[name]
    if name in ("inf", "nan"):
        return float(name)
    if name in ("true", "false"):
        return name == "true"
    raise UsageError(f"--only: no column '{name}'", f"{guess(name, columns)}columns: {', '.join(columns)}")


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        # 1/3 is typed and read as a fraction, and stored as a double.
        return math.isclose(a, b, rel_tol=1e-9)
    if isinstance(a, str) and not isinstance(b, str):
        return _equal(b, a)
    if isinstance(b, str) and not isinstance(a, str):
        return b in (a.label if isinstance(a, _Budget) else None, spelled("", a))
    return bool(a == b)
