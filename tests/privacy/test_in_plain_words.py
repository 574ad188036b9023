"""The sentence that every privacy statement begins with: the largest probability of a right guess about one row."""

import math

import pytest

from dpexp.privacy.analyses.analysis import Analysis, gaussian_analysis
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.reporting.statement import sentence, success
from tests.privacy.test_mechanisms import EXAMPLES


def known_at(pairs):
    """Epsilon of delta -> epsilon where nothing more is known."""
    return lambda delta: min((eps for at, eps in pairs.items() if at <= delta), default=math.inf)


def stated(eps, **changes):
    return Analysis(eps, name="stated", source="", released="all-iterates", **changes)


def best_guess(p, q):
    """By all rules: of each outcome the likelier data set is guessed."""
    return sum(max(a, b) for a, b in zip(p, q, strict=True)) / 2


@pytest.mark.parametrize(("eps", "delta"), [(0.0, 0.1), (0.5, 1e-5), (1.0, 0.0), (1.0, 1e-2), (4.0, 1e-5), (0.2, 0.5)])
def test_epsilon_and_delta_allow_what_the_worst_pair_of_them_does_and_no_more(eps, delta):
    """The pair of Kairouz, Oh and Viswanath is (eps, delta)-private in both orders, and its best guess is the bound."""
    high, low = ((1 - delta) * part / (1 + math.exp(eps)) for part in (math.exp(eps), 1))
    p, q = (delta, high, low, 0.0), (0.0, low, high, delta)
    for one, other in ((p, q), (q, p)):
        assert sum(max(0.0, a - math.exp(eps) * b) for a, b in zip(one, other, strict=True)) == pytest.approx(delta)
    bound = success([stated(known_at({delta: eps}))], (delta,))
    assert best_guess(p, q) == pytest.approx(bound, rel=1e-12)
    assert bound == pytest.approx(1 - (1 - delta) / (1 + math.exp(eps)), rel=1e-12)


def test_the_least_of_all_deltas_counts_and_a_loss_distribution_knows_its_advantage():
    pairs = {1e-5: 3.0, 1e-2: 0.5}
    both, one = (success([stated(known_at(pairs))], deltas) for deltas in (tuple(pairs), (1e-5,)))
    assert both == pytest.approx(1 - 0.99 / (1 + math.exp(0.5)))
    assert one > both
    mechanism = MECHANISMS["sampled-gaussian"](**EXAMPLES["sampled-gaussian"])
    pld = next(a for a in mechanism.upper_bounds() if a.steps)
    ((loss, steps),) = pld.steps
    assert success([pld], (1e-5,)) == pytest.approx((1 + loss.times(steps).delta(0.0)) / 2)


def test_no_promise_and_a_refused_one_limit_nothing():
    assert success([], (1e-5,)) == success([stated(lambda _: 0.1, refused="so")], (1e-5,)) == 1
    assert success([stated(lambda _: math.inf)], (1e-5, 1e-6)) == 1
    nothing = gaussian_analysis("nothing", "", "all-iterates", 0.0, ())
    assert success([stated(lambda _: 1.0), nothing], (1e-5,)) == 0.5  # the least of all that hold
    assert "at most" not in sentence(0.9996, "add-remove", "all iterates")
    assert "73.2%" in sentence(0.73106, "add-remove", "all iterates")  # rounded up
