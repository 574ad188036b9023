"""Formulas in a paper's YAML: Python's expressions of a few kinds, which are checked before they are evaluated.

Allowed are names, also with dots, numbers, texts, `and`, `or`, comparisons, + - * /, and calls of functions. Names are
settings of a run; functions are those that the caller gives.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.text import guess

ALLOWED = {
    ast.Constant, ast.Name, ast.UnaryOp, ast.USub, ast.BoolOp, ast.And, ast.Or, ast.BinOp, ast.Add, ast.Sub, ast.Mult,
    ast.Div, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Call,
}  # fmt: skip


@dataclass(frozen=True)
class Formula:
    """A formula that has been parsed."""

    text: str
    code: CodeType

    def __call__(self, names: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
        """Its value. Raises UsageError for an unknown name or function."""
        try:
            # the code has no attributes, no subscripts and no names but these
            return eval(self.code, {"__builtins__": {}}, {**functions, **names})
        except NameError as error:
            if error.name not in self.code.co_names:
                raise
            hint = f"{guess(error.name, [*names, *functions])}names: {', '.join(sorted(names))}; functions: "
            raise UsageError(f"a formula has the name '{error.name}'", hint + ", ".join(sorted(functions))) from None


class _DottedNames(ast.NodeTransformer):
    """`population.d` is one name."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.copy_location(ast.Name(ast.unparse(node), ast.Load()), node)


def parse(text: str) -> Formula:
    """Raises UsageError, with the column, for what is no formula."""
    try:
        tree = _DottedNames().visit(ast.parse(text, mode="eval"))
    except (SyntaxError, ValueError, RecursionError) as error:
        column = error.offset if isinstance(error, SyntaxError) else 1
        message = f"formula '{text}', column {column}: a value, operator or bracket is missing or wrong"
        raise UsageError(message) from None
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.expr)):
        kinds = {type(part) for part in (node, getattr(node, "op", node), *getattr(node, "ops", ()))}
        if not kinds <= ALLOWED or getattr(node, "keywords", None):
            place = f"formula '{text}', column {node.col_offset + 1}"
            raise UsageError(f"{place}: '{ast.get_source_segment(text, node)}' is not allowed in a formula")
    return Formula(text, compile(tree, "formula", "eval"))
