"""Statements of the papers that are decided without runs, and the differences that `paper.yaml` declares: each computed."""

import math
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from dpexp.papers import our_papers
from dpexp.reporting.evidence import Evidence
from tests.conftest import at_length
from tests.papers.test_sabotage import notices_another_number

FOLDER = Path(__file__).parent / "statements"
CHECKS = {
    name: check
    for path in sorted(FOLDER.glob("*/*.py"))
    for name, check in getattr(import_module(f"tests.papers.statements.{path.parent.name}.{path.stem}"), "CHECKS", {}).items()
}  # fmt: skip
DIFFERENCES = {one.id: one for paper in our_papers().values() for one in paper.differences}
HELD = {
    name: row for path in FOLDER.glob("*/statements.yaml") for name, row in yaml.safe_load(path.read_text()).items()
}
EXPECTED = {name: (row["expected"], row["found"]) for name, row in HELD.items()}
EXPECTED |= {name: (one.verdict, one.found) for name, one in DIFFERENCES.items()}
NOWHERE = Evidence(Path("nowhere"))
LONG = ("dp-sgld/lemma-7/floor", "noisy-sgd/theorem-4-1")
"""statements that take from five seconds to a minute"""
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?")


@cache
def outcome(name):
    return CHECKS[name].check(NOWHERE)


def same(one, other):
    """The same words, and numbers to a thousandth: their last digits depend on the processor."""
    assert NUMBER.sub("#", one) == NUMBER.sub("#", other)
    for mine, theirs in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True):
        values = [float(text.replace(",", "")) for text in (mine, theirs)]
        assert math.isclose(*values, rel_tol=1e-3, abs_tol=1e-9), (one, other)


@pytest.mark.parametrize("name", [pytest.param(n, marks=at_length) if n in LONG else n for n in EXPECTED])
def test_statement(name):
    """What is computed is what is told of it, and a paper that prints another number has another verdict."""
    verdict, found = EXPECTED[name]
    assert outcome(name).verdict == verdict
    if found:
        same(outcome(name).measured, found)
    notices_another_number(CHECKS[name].rule, verdict)


def test_every_statement_has_a_check_and_every_difference_names_its_test():
    assert CHECKS.keys() == EXPECTED.keys()
    for one in DIFFERENCES.values():
        assert one.test == f"tests/papers/test_statements.py::test_statement[{one.id}]"
        assert all((one.quote, one.printed, one.correct, one.version)), one.id
