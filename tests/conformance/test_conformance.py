"""The conformance suite on everything in the registries: whatever is added there is tested without a line here."""

import pytest

from dpexp.commands.check import SHOWN as SHOWN_BY_COMMANDS
from dpexp.conformance.check import carry_out
from dpexp.conformance.suite import SUITE, built_in
from dpexp.problems import PROBLEMS

SLOW = {
    ("algorithm", name) for name in ("shapes", "chunks", "other cells", "jobs", "global state", "seeds", "no privacy")
} | {("problem", "is run"), ("problem", "risk")}
"""simulates much, or has to be compiled; nothing that tests privacy"""
DEAR = {
    *((name, "constants of the sum") for name in PROBLEMS if name != "sigmoid"),
    *((name, "curvature") for name in ("insensitive-linear", "huber-linear")),
    ("epoch-gaussian", "in noise"),
    ("epoch-gaussian", "attained"),
}
"""takes a second or more of some, where others are tried quickly by the same check"""
SHOWN = ("paper", "figure", "table", "claim")
"""in tests/conformance/test_shown.py"""


def cases(kinds, slow=frozenset()):
    """One test for each check of each thing that is built in."""
    return [
        pytest.param(
            subject,
            check,
            id=f"{subject.kind} {subject.name}: {check.name}",
            marks=[pytest.mark.slow] * ((subject.kind, check.name) in slow or (subject.name, check.name) in DEAR),
        )
        for subject in built_in()
        if subject.kind in kinds
        for check in SUITE[subject.kind]
    ]


def hold(subject, check, toys):
    """The check does not fail, and says what it tried; `dpexp check` lists those that have nothing to try."""
    result = carry_out(check, subject, toys)
    assert result.outcome != "failed", f"{result.where}: {result.detail}"
    assert result.detail  # what was tried, or why there is nothing to try


@pytest.mark.slow
@pytest.mark.parametrize(
    "subject", [s for s in built_in() if s.kind in ("problem", "algorithm")], ids=lambda s: f"{s.kind} {s.name}"
)
def test_a_toy_result_goes_through_every_command(subject, toys):
    hold(subject, SHOWN_BY_COMMANDS, toys)


@pytest.mark.parametrize(("subject", "check"), cases([kind for kind in SUITE if kind not in SHOWN], SLOW))
def test_what_is_built_in_conforms(subject, check, toys, request):
    if check.name == "shapes" and subject.name != "ldp-sgd":  # which is tried on every problem
        request.getfixturevalue("few_problems")
    hold(subject, check, toys)
