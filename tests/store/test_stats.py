"""Statistics against simulated truth: coverage of the intervals, and no summary over survivors."""

import math
import random

import numpy as np
import pytest
from scipy import stats as reference
from scipy.optimize import brentq

from dpexp.engine.result import CellData
from dpexp.store.simulating import checkpoint_steps
from dpexp.store.stats import interval, paired_difference, summarise, too_far
from dpexp.theory.slopes import t_quantile

RNG = np.random.default_rng(31)


def test_summaries_are_numpys():
    values = RNG.gamma(2.0, size=(3, 4, 37))
    s = summarise(values, np.zeros(values.shape, bool))
    np.testing.assert_allclose(s["mean"], values.mean(-1))
    np.testing.assert_allclose(s["sd"], values.std(-1, ddof=1))
    for name, q in {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}.items():
        np.testing.assert_allclose(s[name], np.quantile(values, q, axis=-1))
    for index in np.ndindex(3, 4):
        np.testing.assert_allclose((s["ci_lo"][index], s["ci_hi"][index]), by_hall(values[index], 0.95), rtol=1e-10)
        order = np.sort(values[index])  # P(Binomial(37, 1/2) <= 12) = .024 and P(... <= 13) = .049: ranks 13 and 25
        assert (s["median_lo"][index], s["median_hi"][index]) == (order[12], order[24])


def by_hall(values, level):
    """Hall's interval from its definition: where his cubic of T, with scipy's skewness, equals Student's quantile."""
    n, s = len(values), values.std(ddof=1)
    a = reference.skew(values, bias=False) / math.sqrt(n)

    def cubic(t):
        return t + a / 3 * t**2 + a**2 / 27 * t**3 + a / 6

    q = reference.t.ppf((1 + level) / 2, n - 1)
    high, low = (brentq(lambda t, x=x: cubic(t) - x, -1e4, 1e4, xtol=1e-13) for x in (-q, q))
    return values.mean() - s / math.sqrt(n) * low, values.mean() - s / math.sqrt(n) * high


LAWS = {
    "normal": (lambda rng, size: rng.normal(size=size), 0.0),
    "chi-squared, 7 degrees": (lambda rng, size: rng.chisquare(7, size), 7.0),
    "chi-squared, 1 degree": (lambda rng, size: rng.chisquare(1, size), 1.0),
}


@pytest.mark.parametrize(("law", "replicates", "worst"), [
    ("normal", 16, 0.03), ("normal", 200, 0.03), ("chi-squared, 7 degrees", 64, 0.032),
    ("chi-squared, 1 degree", 64, 0.035), ("chi-squared, 1 degree", 200, 0.031),
])  # fmt: skip
def test_each_side_of_an_interval_holds_for_skewed_replicates(law, replicates, worst):
    """Each side misses about 2.5 % of the time; Student's misses 4.5 to 7 % from below where replicates are skewed."""
    draw, truth = LAWS[law]
    values = draw(np.random.default_rng(9), (12_000, replicates))
    _, low, high = interval(values)
    error = 3 * math.sqrt(0.025 * 0.975 / 12_000)
    assert np.mean(high < truth) < worst + error
    assert np.mean(low > truth) < 0.025 + error
    mean, reach = values.mean(-1), t_quantile(replicates - 1) * values.std(-1, ddof=1) / math.sqrt(replicates)
    if law == "chi-squared, 1 degree":
        assert np.mean(mean + reach < truth) > worst + 2 * error


def test_diverged_replicates_are_not_left_out():
    values = np.tile(np.arange(1.0, 21.0), (3, 1))
    values[0, 0], values[1, :3] = math.inf, math.nan
    s = summarise(values, ~np.isfinite(values))
    np.testing.assert_array_equal(s["n"], 20)
    np.testing.assert_array_equal(s["n_diverged"], [1, 3, 0])
    assert s["mean"][0] == math.inf
    assert math.isnan(s["mean"][1])
    assert s["median"][0] == 11.5  # one value moved from the bottom to +inf
    assert s["median"][1] == 13.5
    assert s["q95"][1] == math.inf
    assert s["mean"][2] == 10.5


def test_one_replicate_has_no_error():
    s = summarise(np.ones((2, 1)), np.zeros((2, 1), bool))
    assert np.all(s["mean"] == 1)
    assert np.all(np.isnan(s["se"]))
    assert np.all(s["median_hi"] == math.inf)  # so few leave it open
    assert t_quantile(0) == math.inf


def test_a_paired_difference_by_hand():
    """a - b = 0, 1, 2; mean a = 7/3, mean b = 4/3, ratio 7/4; a - 7/4 b = -3/4, 1/4, 1/2 with squared deviations 7/8."""
    d = paired_difference(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0]))
    t = 4.302653  # of 2 degrees of freedom
    assert (d.difference, d.n) == (1, 3)
    assert d.se == pytest.approx(math.sqrt(1 / 3), rel=1e-12)
    assert (d.ci_lo, d.ci_hi) == pytest.approx((1 - t * d.se, 1 + t * d.se), rel=1e-6)
    low, high = by_hall(np.array([-0.75, 0.25, 0.5]) / (4 / 3), 0.95)
    assert (d.ratio, d.ratio_lo, d.ratio_hi) == pytest.approx((1.75, 1.75 + low, 1.75 + high), rel=1e-6)
    assert high + low < -0.01  # and not symmetric


def test_a_number_that_is_none_is_never_done():
    """A metric that is nan or overflowed makes the replicate a diverged one, however near its parameter is."""
    values = np.zeros((1, 2, 2, 4))
    values[0, 0, 1, 1], values[0, 1, 1, 2], values[0, 1, 0, 3] = np.nan, np.inf, 2.0
    data = CellData(np.array([1, 2]), ("last",), ("param_distance_sq", "loss_gap"), values)
    expected = np.zeros((1, 2, 4), bool)
    expected[0, 0, 1] = expected[0, 1, 2] = expected[0, 1, 3] = True
    assert np.array_equal(too_far(data, 1.0), expected)
    alone = CellData(np.array([1, 2]), ("last",), ("seen",), 5 * values[:, :, 1:])
    assert np.array_equal(too_far(alone, 1.0), ~np.isfinite(values[:, :, 1]))


def test_checkpoints_are_whole_steps_from_1_to_n():
    """Of random n and numbers of checkpoints: increasing, both ends, at most so many, and even on a log scale."""
    rng = random.Random(4)
    pairs = [(n, k) for n in range(1, 12) for k in range(1, 14)]
    pairs += [(int(10 ** rng.uniform(1, 12)), int(10 ** rng.uniform(0.5, 2.7))) for _ in range(30)]
    for n, checkpoints in pairs:
        steps = checkpoint_steps(n, checkpoints)
        assert steps.dtype == np.int64
        assert len(steps) <= min(n, checkpoints)
        assert steps[-1] == n
        assert checkpoints == 1 or (steps[0] == 1 and (np.diff(steps) > 0).all())
        if checkpoints >= 10:
            assert len(steps) >= 0.8 * min(n, checkpoints)
            gaps = np.diff(np.log(steps[steps > 1000]))
            assert len(gaps) < 2 or gaps.max() < 1.1 * gaps.min()
