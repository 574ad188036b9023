"""A claim notices what makes it wrong: evidence that it spoils itself gives another verdict."""

import pytest

from dpexp.papers import claims
from dpexp.reporting.evidence import Evidence
from tests.conftest import AT_LENGTH, COSTLY, in_share

DEAR = ("dp-sgld/table-1/privacy", "dp-sgld/lemma-7/floor", "noisy-sgd/theorem-4-1")
"""from five seconds to a minute of a processor: `make soak` tries them"""
TRIED = [
    claim
    for paper in claims().values()
    for claim in paper
    if claim.sabotage is not None
    and not COSTLY & set(claim.experiments)
    and (AT_LENGTH or claim.id not in DEAR)
    and (not claim.experiments or in_share(claim.id, 16))
]


@pytest.mark.slow
@pytest.mark.parametrize("claim", TRIED, ids=lambda claim: claim.id)
def test_a_claim_notices_its_own_sabotage(claim, toys):
    evidence = Evidence(toys.results(claim.experiments))
    right = claim.judged(evidence).verdict
    assert claim.judged(claim.sabotage(evidence)).verdict != right
    if not claim.experiments:  # no size of a run excuses theory that comes out otherwise
        assert right == claim.expected
