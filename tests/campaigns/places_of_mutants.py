"""One-line mutants of a module: every place where one token or one operand can be changed, as an edit of its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SYMBOLS: dict[type, tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.Pow: ("**", "*"),
    ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "+"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
    ast.Lt: ("<", ">="), ast.LtE: ("<=", ">"), ast.Gt: (">", "<="), ast.GtE: (">=", "<"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.In: ("in", "not in"),
}  # fmt: skip
"""operator -> how it is written, and what is written instead. A comparison is turned round and not moved by its edge:
of numbers that are measured, `<` and `<=` are the same"""
OTHER_CALLS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any",
               "floor": "ceil", "ceil": "floor", "argmin": "argmax", "argmax": "argmin"}  # fmt: skip
WORDS = ("describe", "label", "__repr__", "__str__", "name", "seconds")
"""functions that make words for people, and estimates of run time, which no number depends on"""


class Place(NamedTuple):
    """An edit of one line: bytes start to end of the file become `new`."""

    line: int
    kind: str
    start: int
    end: int
    new: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


def places(source: bytes) -> list[Place]:
    """All of a module, in the order of its text. None of them in annotations, decorators, messages or assertions.

    A few, of operands without their brackets, are no program any more: `is_program` says so.
    """
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in _nodes(ast.parse(source)):
        found += _of(node, source, starts)
    return sorted(set(found), key=lambda place: (place.start, place.end, place.kind))


def is_program(source: bytes) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is inside it, without what no number depends on."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.FunctionDef) and node.name in WORDS:
        return
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _nodes(child)


def _of(node: ast.AST, source: bytes, starts: list[int]) -> Iterator[Place]:
    def span(one: ast.AST) -> tuple[int, int]:
        return (
            starts[one.lineno - 1] + one.col_offset,  # type: ignore[attr-defined]
            starts[one.end_lineno - 1] + one.end_col_offset,  # type: ignore[attr-defined]
        )

    def text(one: ast.AST) -> str:
        start, end = span(one)
        return source[start:end].decode()

    if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        start, end = span(node)
        if isinstance(node.value, bool):
            yield Place(node.lineno, "truth", start, end, str(not node.value))
        else:
            new = str(node.value + 1) if isinstance(node.value, int) else repr(node.value * 1.2 if node.value else 0.2)
            yield Place(node.lineno, "number", start, end, new)
    elif isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp) and node.lineno == node.end_lineno:
        if isinstance(node, ast.BinOp):
            left, op, right = node.left, node.op, node.right
        elif isinstance(node, ast.Compare):
            left, op, right = node.left, node.ops[0], node.comparators[0]
        else:
            left, op, right = node.values[0], node.op, node.values[1]
        if type(op) in SYMBOLS:
            old, new = SYMBOLS[type(op)]
            between = span(left)[1], span(right)[0]
            at = source.find(old.encode(), *between)
            if at >= 0:
                yield Place(node.lineno, "operator", at, at + len(old), new)
        if isinstance(node, ast.BinOp) and not isinstance(op, ast.Mod):
            # the whole is in brackets where it was an operand of something else, so an operand may stand for it
            yield Place(node.lineno, "dropped", *span(node), text(left))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not) and node.lineno == node.end_lineno:
        yield Place(node.lineno, "sign", *span(node), text(node.operand))
    elif isinstance(node, ast.Call) and node.func.lineno == node.func.end_lineno:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        start, end = span(node.func)
        if called in OTHER_CALLS:
            yield Place(node.lineno, "call", end - len(called), end, OTHER_CALLS[called])
        if called in ("abs", "sqrt", "float", "square") and len(node.args) == 1 and node.lineno == node.end_lineno:
            yield Place(node.lineno, "call", *span(node), f"({text(node.args[0])})")
    elif isinstance(node, ast.If | ast.IfExp) and node.test.lineno == node.test.end_lineno:
        yield Place(node.test.lineno, "condition", *span(node.test), f"not ({text(node.test)})")


def module_name(path: Path, root: Path) -> str:
    """dpexp.room.module of a file of the tree at `root`."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
