"""No stated epsilon is below what any two neighbours of a few records attain, by the law of the algorithm as written."""

import math

import numpy as np
import pytest
from scipy.stats import beta

from dpexp.privacy.mechanisms import MECHANISMS
from tests.conftest import AT_LENGTH
from tests.oracles.literal_laws import DRAWS, Small
from tests.oracles.literal_momentum import attacked_iterates

DELTAS = (1e-2, 1e-5)
SETTINGS = 60 if AT_LENGTH else 4


def stated(mechanism, released):
    """The least epsilon at each delta that is stated of the release."""
    valid = [a for a in mechanism.upper_bounds() if a.valid and a.released in ("all-iterates", released)]
    return [min((a.eps(delta) for a in valid), default=math.inf) for delta in DELTAS]


def compared(name, seed) -> tuple[Small, list[tuple[float, float]], bool]:
    """A random setting, (stated, attained) at each delta, and whether its planted error is exceeded."""
    small = DRAWS[name](np.random.default_rng([seed, *name.encode()]))
    found = small.largest(DELTAS)
    rows = list(zip(stated(small.mechanism, small.released), found, strict=True))
    wrong = stated(small.planted, small.released) if small.planted else [math.inf]
    return small, rows, any(eps < low for eps, low in zip(wrong, found, strict=False))


def test_every_mechanism_is_enumerated_or_listed():
    assert set(DRAWS) == set(MECHANISMS) - {"reduced-momentum", "shuffled-messages"}  # these have tests of their own


@pytest.mark.parametrize("name", DRAWS)
def test_no_pair_of_small_data_sets_attains_more_than_is_stated(name):
    ratios, planted, noticed = [], 0, 0
    for seed in range(SETTINGS):
        small, rows, seen = compared(name, seed)
        for eps, low in rows:
            assert low <= eps * (1 + 1e-9) + 1e-12, (small.mechanism, eps, low)
            ratios += [low / eps] if 0 < eps < math.inf else []
        planted, noticed = planted + (small.planted is not None), noticed + seen
    assert max(ratios) > 0.3  # what is attained is not far below
    assert not planted or noticed > planted / 3, "an error that was planted is hardly ever noticed"


def test_the_mechanism_that_is_not_enumerated_by_monte_carlo():
    """Algorithm 2 on gradients that change their sign: the best linear test of its estimates, in 20,000 runs of each."""
    rng, delta, runs = np.random.default_rng(5), 1e-2, 20_000
    for _ in range(20 if AT_LENGTH else 5):
        mechanism, one, other = attacked_iterates(rng, runs)
        cut = np.quantile(one, [0.1, 0.3, 0.5, 0.7, 0.9])
        hits, misses = (np.array([(x > c).sum() for c in cut]) for x in (one, other))
        low = beta.ppf(1e-6, np.maximum(hits, 1), runs - hits + 1)
        high = beta.ppf(1 - 1e-6, misses + 1, np.maximum(runs - misses, 1))
        shown = np.log(np.maximum(low - delta, 1e-300) / high).max()
        valid = [a for a in mechanism.upper_bounds() if a.valid]
        assert shown <= min(a.eps(delta) for a in valid)
