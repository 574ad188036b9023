"""The conformance suite on papers, figures, tables and claims: from toy results of the experiments that each declares."""

import re

import pytest

from tests.conformance.test_conformance import SHOWN, cases, hold
from tests.conftest import AT_LENGTH, COSTLY, in_share

SLOW = {("figure", "drawn"), ("table", "built"), ("claim", "settled"), ("claim", "sabotage")}


ON_TOYS = {"settled", "hypotheses", "sabotage"}
"""checks of claims on toy results. `tests/papers/test_claims.py` settles every claim on the stored means and on wrong ones, so
that one claim in six is enough here; `make soak` tries all"""


ALIKE = re.compile(r"_(d10|d20|theory)$")
"""figures that differ from another one by the dimension or by the lines of the theory alone: one in ten is drawn, and by
`make soak` all; `tests/papers/test_figures_and_tables.py` lays the theory over three"""


DEAR = ("hidden_state_figure", "coverage", "figure2_theory", "sgld_counterexamples", "sampling_noise", "sgld_order", "privacy_analyses", "dp_sgld_region", "memory_width", "dp-sgld/table-1/privacy", "dp-sgld/lemma-7/floor", "noisy-sgd/theorem-4-1")  # fmt: skip
"""figures, tables and claims that take from five seconds to a minute of a processor: `make soak` and `make reproduce` make them"""


def tried(case):
    subject, check = case.values
    needed = getattr(subject.value, "needs", ()) or getattr(subject.value, "experiments", ())
    if COSTLY & set(needed):
        return check.name == "members"
    if subject.name in DEAR and check.name not in ("members", "hypotheses"):
        return AT_LENGTH
    if subject.kind == "figure" and ALIKE.search(subject.name) and check.name == "drawn":
        return in_share(subject.name, 10)
    if subject.kind == "claim" and not needed and check.name == "settled":
        return subject.value.sabotage is not None or in_share(
            subject.name, 3
        )  # rows evaluate their cases once for both
    return not (subject.kind == "claim" and needed and check.name in ON_TOYS) or in_share(subject.name, 16)


@pytest.mark.parametrize(("subject", "check"), list(filter(tried, cases(SHOWN, SLOW))))
def test_what_is_shown_conforms(subject, check, toys):
    hold(subject, check, toys)
