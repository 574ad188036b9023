"""A claim that theory decides notices a paper that prints another number."""

from pathlib import Path

import pytest

from dpexp.papers import claims
from dpexp.store.evidence import Evidence
from tests.conftest import AT_LENGTH

DEAR = ("dp-sgld/theorem-3-1", "dp-sgld/table-1/privacy", "dp-sgld/lemma-7/floor", "noisy-sgd/theorem-4-1")
"""from two seconds to a minute of a processor: `make soak` tries them"""
TRIED = [
    claim
    for paper in claims().values()
    for claim in paper
    if claim.rule is not None and (AT_LENGTH or claim.id not in DEAR)
]


def notices_another_number(rule, verdict):
    """The computed number in place of the printed one is not accused, or one below every other is not confirmed."""
    wrong = (lambda printed, computed: computed), (lambda printed, computed: -abs(printed) - 1)
    assert rule is None or any(rule(printing).verdict != verdict for printing in wrong)


@pytest.mark.slow
@pytest.mark.parametrize("claim", TRIED, ids=lambda claim: claim.id)
def test_a_claim_notices_another_printed_number(claim):
    verdict = claim.judged(Evidence(Path("nowhere"))).verdict
    assert verdict == claim.expected
    notices_another_number(claim.rule, verdict)
