"""Formulas in a paper's YAML: parsed by one small grammar, and never evaluated by Python.

    formula    = conjunction { "or" conjunction }
    conjunction = comparison { "and" comparison }
    comparison = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
    sum        = product { ("+" | "-") product }
    product    = factor { ("*" | "/") factor }
    factor     = "-" factor | number | 'text' | name | name "(" [ formula { "," formula } ] ")" | "(" formula ")"

Names are settings of a run; functions are those that the caller gives. Numbers that agree to 1e-9 are equal, so that
`alpha == 1/3` means what it says.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.text import guess

TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<text>'[^']*'|\"[^\"]*\")|(?P<name>[A-Za-z_][\w.]*)"
    r"|(?P<sign><=|>=|==|!=|[-+*/()<>,]))"
)
Names = Mapping[str, Any]
Functions = Mapping[str, Callable[..., Any]]
Node = Callable[[Names, Functions], Any]


def _equal(one: Any, other: Any) -> bool:
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    return math.isclose(one, other, rel_tol=1e-9) if numbers else bool(one == other)


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda one, other: not _equal(one, other),
    "<": lambda one, other: one < other and not _equal(one, other),
    "<=": lambda one, other: one < other or _equal(one, other),
    ">": lambda one, other: one > other and not _equal(one, other),
    ">=": lambda one, other: one > other or _equal(one, other),
}
SUMS = {"+": operator.add, "-": operator.sub}
PRODUCTS = {"*": operator.mul, "/": operator.truediv}


@dataclass(frozen=True)
class Formula:
    """A formula that has been parsed."""

    text: str
    node: Node

    def __call__(self, names: Names, functions: Functions) -> Any:
        """Its value. Raises UsageError for a name or function that is not there."""
        return self.node(names, functions)


def parse(text: str) -> Formula:
    """Raises UsageError, with the column, for what the grammar does not have."""
    parser = _Parser(text)
    node = parser.either()
    parser.require("end")
    return Formula(text, node)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.kind, self.word = "", ""
        self.advance()

    def advance(self) -> None:
        found = TOKEN.match(self.text, self.at)
        if found is None:
            if self.text[self.at :].strip():
                raise self.error(f"unexpected {self.text[self.at :].strip()[0]!r}")
            self.kind, self.word = "end", "end"
            return
        self.at, self.kind, self.word = found.end(), str(found.lastgroup), found[str(found.lastgroup)]

    def error(self, message: str) -> UsageError:
        return UsageError(f"formula '{self.text}', column {self.at}: {message}")

    def accept(self, *words: str) -> str:
        if self.kind in ("sign", "name") and self.word in words:
            word = self.word
            self.advance()
            return word
        return ""

    def require(self, word: str) -> None:
        if self.word != word:
            raise self.error(f"'{self.word}' where '{word}' is expected")
        if word != "end":
            self.advance()

    def either(self) -> Node:
        parts = [self.both()]
        while self.accept("or"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else lambda names, functions: any(p(names, functions) for p in parts)

    def both(self) -> Node:
        parts = [self.comparison()]
        while self.accept("and"):
            parts.append(self.comparison())
        return parts[0] if len(parts) == 1 else lambda names, functions: all(p(names, functions) for p in parts)

    def comparison(self) -> Node:
        left = self.binary(SUMS)
        if sign := self.accept(*COMPARISONS):
            right, compare = self.binary(SUMS), COMPARISONS[sign]
            return lambda names, functions: compare(left(names, functions), right(names, functions))
        return left

    def binary(self, signs: Mapping[str, Callable[[Any, Any], Any]]) -> Node:
        def inner() -> Node:
            return self.binary(PRODUCTS) if signs is SUMS else self.factor()

        node = inner()
        while sign := self.accept(*signs):
            node = _applied(signs[sign], node, inner())
        return node

    def factor(self) -> Node:
        kind, word = self.kind, self.word
        if self.accept("-"):
            of = self.factor()
            return lambda names, functions: -of(names, functions)
        if self.accept("("):
            node = self.either()
            self.require(")")
            return node
        if kind not in ("number", "text", "name"):
            raise self.error(f"'{word}' where a value is expected")
        self.advance()
        if kind == "number":
            value = float(word)
            return lambda names, functions: value
        if kind == "text":
            return lambda names, functions: word[1:-1]
        return self.call(word) if self.accept("(") else lambda names, functions: _look_up(word, names, "name")

    def call(self, name: str) -> Node:
        arguments: list[Node] = []
        while not self.accept(")"):
            arguments.append(self.either())
            if self.word != ")":
                self.require(",")
        return lambda names, functions: _look_up(name, functions, "function")(*(a(names, functions) for a in arguments))


def _applied(apply: Callable[[Any, Any], Any], left: Node, right: Node) -> Node:
    return lambda names, functions: apply(left(names, functions), right(names, functions))


def _look_up(name: str, known: Mapping[str, Any], kind: str) -> Any:
    if name not in known:
        raise UsageError(
            f"a formula has the {kind} '{name}'", f"{guess(name, known)}{kind}s: {', '.join(sorted(known))}"
        )
    return known[name]
