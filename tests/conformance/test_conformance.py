"""The conformance suite on everything in the registries: whatever is added there is tested without a line here."""

import pytest

from dpexp.conformance.check_result import carry_out
from dpexp.conformance.suite import SUITE, built_in
from tests.conftest import AT_LENGTH, in_share

SLOW = {("algorithm", name) for name in ("attacked", "shapes", "chunks", "other cells", "jobs", "seeds")} | {
    ("problem", "is run"),
    ("problem", "risk"),
}
"""simulates much, or has to be compiled; nothing that tests privacy"""
TRIED_ON = {
    "attacked": ("dp-sgd", "batch-descent", "gradient-recursion"),
    "curvature": ("mallows-logistic", "pinball-linear"),
    "constants of the sum": ("sigmoid",),  # tests/problems/test_finite_sums.py tries all
}
"""what takes a second or more of some is tried on these, and by `make soak` on all"""
ALIKE = ("clipped-ldp-sgd", "heavy-ball-ldp-sgd")
"""compiled from the templates of `ldp-sgd`, whose shapes are tried on every problem; `make soak` tries theirs"""


def in_time(subject, check):
    """Whether `make test` has time: it tries each slow check on some of those that it is for."""
    if check.name in TRIED_ON:
        return subject.name in TRIED_ON[check.name]
    if check.name == "shapes" and subject.name in ALIKE:
        return False
    slow = (subject.kind, check.name) in SLOW
    return subject.name == "ldp-sgd" or not slow or in_share(f"{subject.name} {check.name}", 3)


CASES = [
    pytest.param(
        subject,
        check,
        id=f"{subject.kind} {subject.name}: {check.name}",
        marks=[pytest.mark.slow] * ((subject.kind, check.name) in SLOW or check.name in TRIED_ON),
    )
    for subject in built_in()
    for check in SUITE[subject.kind]
    if AT_LENGTH or in_time(subject, check)
]


@pytest.mark.parametrize(("subject", "check"), CASES)
def test_what_is_built_in_conforms(subject, check, request):
    """The check does not fail, and says what it tried; `dpexp check` lists those that have nothing to try."""
    if check.name in ("shapes", "messages") and subject.name != "ldp-sgd":  # which is tried on every problem
        request.getfixturevalue("few_problems")
    result = carry_out(check, subject)
    assert result.outcome != "failed", f"{result.where}: {result.detail}"
    assert result.detail  # what was tried, or why there is nothing to try
