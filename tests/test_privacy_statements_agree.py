"""Guarantees beside what pairs of neighbours attain, for random mechanisms of every kind; `make soak` draws thousands."""

from collections import Counter
from types import SimpleNamespace

import pytest

from dpexp.core.errors import DpexpError
from dpexp.privacy.attained.lower_bounds import LowerBound
from dpexp.privacy.mechanisms import MECHANISMS
from tests.campaigns import statements
from tests.campaigns.statements import Draw, faults, loose


@pytest.mark.parametrize("seed", range(4))
def test_no_pair_attains_more_than_a_guarantee_allows(seed):
    draw, seen = Draw(seed), Counter()
    while len(seen) < len(MECHANISMS) or seen.total() < 40:
        drawn = draw.drawn()
        seen[drawn.name] += 1
        try:
            assert list(faults(drawn.mechanism, drawn.delta)) == [], str(drawn)
        except DpexpError:  # refused with a word
            seen["refused"] += 1
    assert seen["refused"] < 5


def test_numbers_that_cannot_be_right_are_seen(monkeypatch):
    mechanism = MECHANISMS["sampled-gaussian"](noise_multiplier=1.0, sampling_probability=0.1, steps=100)
    assert list(faults(mechanism, 1e-5)) == []
    eps = mechanism.lower_bounds()[0].eps(1e-5)
    bounds = [LowerBound(f"{share:g}", "all-iterates", "", lambda delta, s=share: s * eps) for share in (0.999, 1.01)]
    bounds.append(LowerBound("below nothing", "last-iterate", "", lambda delta: -0.1))
    assert list(loose(mechanism, 1e-5)) == []
    monkeypatch.setattr(statements, "every_lower_bound", lambda *_: bounds)
    found = list(faults(mechanism, 1e-5))
    assert [fault.split(" attains")[0] for fault in found] == ["1.01", "below nothing"]


def test_a_composition_that_could_be_smaller_is_remarked_upon(monkeypatch):
    mechanism = MECHANISMS["sampled-gaussian"](noise_multiplier=1.0, sampling_probability=0.1, steps=100)
    stated = {"1e-05": 3.0, "1e-06": 2.9}
    analysis = SimpleNamespace(
        name="slack", valid=True, released="all-iterates", eps=lambda delta: stated[f"{delta:g}"]
    )
    monkeypatch.setattr(statements, "every_analysis", lambda _: [analysis])
    assert list(loose(mechanism, 1e-5)) == ["slack states 3.0, and 2.9 at a tenth of delta"]
    stated["1e-06"] = 3.1
    assert list(loose(mechanism, 1e-5)) == []
