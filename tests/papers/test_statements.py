"""Statements of the papers that are decided without runs, and the differences that `paper.yaml` declares: each computed."""

from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from dpexp.papers import our_papers
from dpexp.store.evidence import Evidence
from tests.conftest import at_length
from tests.papers.test_sabotage import notices_another_number

CHECKS = {
    name: check
    for path in sorted((Path(__file__).parent / "statements").glob("*/[a-z]*.py"))
    for name, check in getattr(
        import_module(f"tests.papers.statements.{path.parent.name}.{path.stem}"), "CHECKS", {}
    ).items()
}
DIFFERENCES = {difference.id: difference for paper in our_papers().values() for difference in paper.differences}
EXPECTED = {
    "ldp-sgd/remark-1/alpha-1": ("misleading", 0.85807, 0.85807),
    "ldp-sgd/remark-1/dimension": ("reproduced", 1.0, 1.0),
    "ldp-sgd/remark-2/summation": ("misprint", 0.0, 1.0),
    "ldp-sgd/remark-2/start": ("false", -2.0, -0.02),
    "ldp-sgd/remark-2/factors": ("reproduced", -2.0, 1.0),
    "ldp-sgd/theorem-5/half": ("misprint", 0.0, 0.0),
    "ldp-sgd/remark-4/range": ("misleading", 0.29534, 1.3614),
    "noisy-sgd/theorem-4-1": ("holds as a bound", 4745.4, 1.5851e06),
    "noisy-sgd/appendix-a4/suffices": ("false", 0.0088889, 0.88889),
    "noisy-sgd/appendix-a4/number": ("misprint", 0.99922, 0.99922),
    "noisy-sgd/observation-a-2": ("misprint", 0.0001375, 137.5),
    "noisy-sgd/section-3-2/not-centred": ("misprint", 0.4, 0.4),
    "noisy-sgd/footnote-5": ("misprint", 2.0, 2.0),
    "noisy-sgd/theorem-1-3/large-range": ("reproduced", 10.979, 7499.9),
    "noisy-sgd/remark-1-4/tight": ("false", 0.35194, 0.94697),
    "noisy-sgd/section-1-2/convexity": ("misleading", 0.99039, 0.99039),
    "noisy-sgd/section-1-3/true-answer": ("misleading", 0.133, 4.4),
    "noisy-sgd/section-6/clipped": ("reproduced", 1.0, 189.64),
    "noisy-sgd/section-6/clipped-expands": ("reproduced", 4.2797, 104.41),
    "hidden-state/noise-scale": ("misprint", 0.74765, 1.0432),
    "hidden-state/figure": ("reproduced", 2.0434, 66.821),
    "hidden-state/hybrid": ("holds as a bound", 3.5399, 24.201),
    "hidden-state/memory": ("reproduced", 1.3288, 3.918),
    "hidden-state/linear-loss/general": ("false", 0.25523, 0.75254),
    "dp-sgld/lemma-sensitivity": ("false", 0.33333, 1.0),
    "dp-sgld/lemma-smoothness": ("false", 0.14565, 0.20324),
    "dp-sgld/section-5-1/sign": ("misprint", -7.9779, -7.9779),
    "dp-sgld/theorem-3-1/index": ("misprint", 1.0, 1.1129),
    "dp-sgld/theorem-4-1/privacy": ("false", 0.0017043, 0.021414),
    "dp-sgld/theorem-3-3": ("false", 0.00014748, 149.61),
    "dp-sgld/lemma-3-3": ("false", 1.5613e-32, 382.18),
    "dp-sgld/corollary-3-1": ("false", 0.00014748, 149.61),
    "dp-sgld/corollary-3-2": ("false", 0.00011876, 14.96),
    "dp-sgld/corollary-3-3": ("false", 0.00018831, 0.00066524),
    "dp-sgld/table-1/epsilon": ("false", 7.934, 26.291),
    "dp-sgld/table-1/privacy/pneumonia": ("not testable", 0.42312, 7.5586),
    "dp-sgld/table-1/printed": ("false", 0.0, 23.0),
    "dp-sgld/theorem-4-2": ("holds as a bound", 8.4877, 17.283),
    "dp-sgld/table-4/values": ("false", 0.050344, 0.095933),
    "dp-sgld/theorem-4-2/improves": ("reproduced", 1.0, 1.0),
    "dp-sgld/theorem-4-2/improves-the-error": ("false", 0.49582, 0.5304),
    "dp-sgld/section-5-2/step-size": ("false", 0.991, 1.98),
    "dp-sgld/table-4/regulariser": ("false", 1.0, 5.019),
    "momentum/compose/partial-sums": ("misprint", 0.625, 1.0),
    "momentum/equation-3/fixed": ("reproduced", 0.0, 0.0),
    "momentum/section-4/differences": ("false", 0.5074, 0.5205),
    "momentum/theorem-4/any-alpha": ("misprint", 0.62425, 0.77767),
    "momentum/theorem-4/any-length": ("misprint", 0.063246, 0.64311),
    "momentum/theorem-4/sigma": ("holds as a bound", 1.4132, 2.2069),
    "momentum/theorem-4/hypothesis": ("misprint", 0.27627, 0.27627),
    "momentum/theorem-4/node": ("false", 0.77854, 0.89141),
    "momentum/theorem-4/count": ("misprint", 0.72, 1.0714),
    "momentum/theorem-8/proof": ("misprint", 0.57316, 1.9258),
    "momentum/abstract/rate": ("misleading", -0.64, -0.522),
    "momentum/theorem-9/overtakes": ("misleading", 3.5894e-11, 3.5894e-11),
}
"""statement -> verdict, and the least and the largest of the computed numbers: bounds over exact values, or values"""
LONG = ("noisy-sgd/theorem-4-1",)
"""takes a minute"""


@cache
def outcome(name):
    return CHECKS[name].check(Evidence(Path("nowhere")))


def ends(numbers):
    """The least and the largest of the computed numbers, which stand after the printed ones."""
    values = [pair[1] for pair in numbers.values() if isinstance(pair, list) and len(pair) == 2]
    return [numbers["least"], numbers["most"]] if "least" in numbers else [min(values), max(values)]


@pytest.mark.parametrize("name", [pytest.param(n, marks=at_length) if n in LONG else n for n in EXPECTED])
def test_statement(name):
    """The verdict and its numbers; and a paper that prints another number has another verdict."""
    verdict, *values = EXPECTED[name]
    assert outcome(name).verdict == verdict
    assert ends(outcome(name).numbers) == pytest.approx(values, rel=1e-3, abs=1e-9)
    notices_another_number(CHECKS[name].rule, verdict)


def test_every_difference_is_tested_with_its_verdict():
    assert CHECKS.keys() == EXPECTED.keys()
    for name, difference in DIFFERENCES.items():
        assert difference.verdict == EXPECTED[name][0]
        assert difference.test == f"tests/papers/test_statements.py::test_statement[{name}]"
        assert all((difference.quote, difference.printed, difference.correct, difference.version)), name
