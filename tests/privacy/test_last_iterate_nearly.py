"""The search for the order of the last iterate's bound: a model shows where to look, and never what is stated."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from dpexp.privacy.accounting.conversions import ORDERS, RULES, eps_of_curve, improved_eps
from dpexp.privacy.accounting.gdp import rdp_of
from dpexp.privacy.accounting.sampled_gaussian import base_from_mixture, mixture_from_base, symmetrised
from dpexp.privacy.analyses.analysis import LAST, Search, renyi_analysis
from dpexp.privacy.analyses.last_iterate import last_iterate, over_steps, shift
from dpexp.privacy.analyses.last_iterate_nearly import Nearly, enough_steps
from dpexp.privacy.mechanisms import noisy_sgd
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd

SETTINGS = [(0.01, 50.0, 100.0, 1000), (0.01, 50.0, 100.0, 10**6), (0.1, 2.0, 5.0, 300), (0.01, 10.0, 100.0, 50_000)]
DIVERGENCES = {"literal": base_from_mixture, "mixture": mixture_from_base, "symmetrised": symmetrised}
BETWEEN = [1.02, 1.7, 5.3, 44.0]


def literally(order, q, multiplier, width, steps, step):
    """Least over many shares and numbers of steps of the formula itself."""
    shares = 1 / (1 + np.exp(-np.linspace(-6.5, 9.5, 641)))
    counts = np.unique(np.rint(np.geomspace(1, steps, 4000)))
    found = math.inf
    for share in shares.tolist():
        cost = DIVERGENCES[step](order, q, multiplier * math.sqrt(1 - share))
        found = min(found, float((cost * counts + order * width**2 / (2 * share) / counts).min()))
    return found


@pytest.mark.parametrize("step", DIVERGENCES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_model_is_next_to_the_bound(setting, step):
    nearly = Nearly(*setting, step)
    # polynomials are off where the divergence of a step turns steeply upwards; a search that they mislead is done again
    for order in [*BETWEEN, *ORDERS[5:18:3].tolist()] if step == "literal" else [BETWEEN[0], *ORDERS[4:10].tolist()]:
        assert nearly(order) == pytest.approx(last_iterate(order, *setting, step).rdp, rel=2e-3)


@pytest.mark.parametrize("step", DIVERGENCES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_bound_at_an_order_is_that_of_some_share(setting, step):
    """Not below what any share gives, since it comes from the divergence itself; and as low as the slower search."""
    nearly = Nearly(*setting, step)
    for order in BETWEEN:
        found = nearly.bound(order)
        assert found == pytest.approx(last_iterate(order, *setting, step).rdp, rel=2e-6)
        if order == BETWEEN[1]:
            least = literally(order, *setting, step)
            assert found <= least * (1 + 1e-9)
            assert found >= least * (1 - 2e-4), "below what the formula gives anywhere"


def test_steps_without_cost_and_too_costly_ones_have_their_limits():
    free = Nearly(0.0, 2.0, 5.0, 300, "symmetrised")
    assert free.bound(3.0) == pytest.approx(3.0 * 25 / 2 / 300, rel=1e-3)
    of_grid = float(ORDERS[14])  # costs of 0 have no logarithm, and no polynomial goes through them
    assert free(of_grid) == pytest.approx(of_grid * 25 / 2 / 300, rel=1e-3)
    # next to no noise: finite or not, the two agree on what can be stated
    loud = Nearly(0.5, 1e-6, 1e6, 10, "symmetrised")
    assert loud.bound(3.0) == pytest.approx(last_iterate(3.0, 0.5, 1e-6, 1e6, 10, "symmetrised").rdp)


def test_orders_of_the_grid_are_orders_like_others():
    nearly = Nearly(*SETTINGS[0], "symmetrised")
    for order in ORDERS[[3, 12, 20]].tolist():
        assert nearly(order) == pytest.approx(nearly(order * (1 + 1e-7)), rel=1e-3)
        assert nearly.bound(order) == pytest.approx(last_iterate(order, *SETTINGS[0], "symmetrised").rdp, rel=2e-6)


@pytest.mark.parametrize("step", DIVERGENCES)
def test_more_steps_than_enough_have_the_same_bound(step):
    q, multiplier, width, _ = SETTINGS[1]
    enough = enough_steps(q, multiplier, width, 10**9, step)
    assert enough == 2**29  # the power of two below
    assert enough_steps(q, multiplier, width, 2 * enough - 1, step) == enough
    assert enough_steps(q, multiplier, width, 1000, step) == 1000
    least = next(2**k for k in range(30) if enough_steps(q, multiplier, width, 2**k + 1, step) == 2**k)
    assert 10**5 < least < 10**7
    nearly = Nearly(q, multiplier, width, least, step)
    for order in (1.5, *BETWEEN, 64.0):
        wanted = last_iterate(order, q, multiplier, width, 10**9, step).rdp
        assert wanted * (1 - 1e-12) <= nearly.bound(order) <= wanted * (1 + 2e-6)
    # a bound that still uses all of its steps is not enough
    few = last_iterate(2.0, q, multiplier, width, 1000, step)
    assert few.steps == 1000
    assert few.rdp > last_iterate(2.0, q, multiplier, width, 1001, step).rdp * (1 + 1e-4)


@pytest.mark.parametrize("steps", [700, 40_000, 3 * 10**7])
def test_a_statement_has_the_bounds_of_its_own_number_of_steps(steps):
    mechanism = NoisySgd(
        n=1000, batch_size=10, step_size=0.02, noise_std=2.0, lipschitz=1.0, diameter=1.5, smoothness=1.0, steps=steps
    )
    for analysis in mechanism.analyses():
        kind = analysis.name.removeprefix("iteration-")
        if kind in DIVERGENCES:
            for order in (1.5, 2.0, 16.0):
                own = last_iterate(order, mechanism.q, mechanism.multiplier / 2, mechanism.width, steps, kind)
                assert analysis.rdp(order) == pytest.approx(own.rdp, rel=2e-6)


def curve(order):
    return rdp_of(0.7, order)


@pytest.mark.parametrize("factor", [1e-3, 0.5, 1.5])
def test_a_model_that_lies_does_not_make_epsilon_smaller(factor):
    """What is stated is the curve's own value at some order, whatever the model says."""
    least = eps_of_curve(curve, 1e-5)[0]

    def lying(order):
        return curve(order) * factor * (1 + 0.5 * math.sin(3 * math.log(order - 1)))

    found, order = eps_of_curve(lying, 1e-5, sharp=curve)
    assert found == pytest.approx(improved_eps(order, curve(order), 1e-5))
    assert found >= least * (1 - 1e-9)
    # one search that is misled and one that is not: the second one counts
    both = renyi_analysis("x", "", LAST, curve, (), searches=[Search(lying, curve), Search(curve, curve)])
    assert both.eps(1e-5) == pytest.approx(least, rel=1e-9)


def test_a_model_that_is_right_is_believed():
    def never(order):
        raise AssertionError("asked in vain")

    slightly = Search(lambda order: curve(order) * (1 + 1e-6), curve)
    found = renyi_analysis("x", "", LAST, curve, (), searches=[slightly, Search(never, never)])
    assert found.eps(1e-5) == pytest.approx(eps_of_curve(curve, 1e-5)[0], rel=1e-9)


def test_where_every_model_lies_the_curve_is_followed():
    def lying(order):
        return curve(order) * (1 + 0.2 * math.sin(3 * math.log(order - 1)))

    least, at = eps_of_curve(curve, 1e-5)
    misled, order = eps_of_curve(lying, 1e-5, sharp=curve)
    assert misled > least * (1 + 1e-4), "it does not lie enough for this test"
    assert abs(math.log((order - 1) / (at - 1))) < 0.5
    found = renyi_analysis("x", "", LAST, curve, (), searches=[Search(lying, curve)])
    assert least * (1 - 1e-9) <= found.eps(1e-5) <= least * (1 + 1e-6)


def test_a_promise_of_what_is_infinite_is_not_kept():
    def cut(order):
        return curve(order) if order < 6 else math.inf

    least, best_order = eps_of_curve(cut, 1e-5)
    assert eps_of_curve(curve, 1e-5)[1] > 6 > best_order
    found = renyi_analysis(
        "x",
        "",
        LAST,
        cut,
        (),
        searches=[Search(curve, cut, on_grid=lambda: np.array([curve(order) for order in ORDERS])), Search(cut, cut)],
    )
    assert found.eps(1e-5) == pytest.approx(least, rel=1e-2)


NOISY = {"n": 10_000, "batch_size": 100, "step_size": 0.01, "noise_std": 1.0, "lipschitz": 1.0, "diameter": 1.0, "smoothness": 1.0}  # fmt: skip


def iterated(**changed):
    """The analyses by iteration, made anew: answers are kept otherwise."""
    mechanism = NoisySgd(**{**NOISY, **changed})
    noisy_sgd._iterated.cache_clear()
    return [analysis for analysis in mechanism.analyses() if analysis.name.startswith("iteration-")]


@pytest.mark.parametrize("steps", [1000, 3000, 30_000, 300_000])
def test_an_order_read_off_the_polynomial_loses_nothing(steps):
    for analysis in iterated(steps=steps):
        for delta in (1e-3, 1e-5, 1e-9):
            least, _ = eps_of_curve(analysis.rdp, delta)
            assert least * (1 - 1e-12) <= analysis.eps(delta) <= least * (1 + 1e-8)


@pytest.mark.parametrize(
    "changed", [{"steps": 5000}, {"steps": 1}, {"steps": 5000, "noise_std": 1e-3, "batch_size": 3}]
)
def test_what_is_told_ahead_changes_no_number(changed):
    deltas, orders = (1e-5, 1e-6), (1.5, 2.0, 3.7, 33.0)
    plain = [([a.eps(d) for d in deltas], [a.rdp(o) for o in orders]) for a in iterated(**changed)]
    told = iterated(**changed)
    for analysis in told:
        analysis.ahead(deltas, orders)
    assert [([a.eps(d) for d in deltas], [a.rdp(o) for o in orders]) for a in told] == plain


def exactly(setting, step, order):
    return last_iterate(order, *setting, step).rdp


def test_infinite_costs_at_some_shares_leave_the_others():
    """The divergence of a step is beyond all numbers where next to no noise is left for it: there is no polynomial."""
    for changed in ({"steps": 1, "n": 100, "batch_size": 1, "step_size": 0.1, "noise_std": 5.0, "diameter": 2.0},
                    {"steps": 50, "n": 100, "batch_size": 5, "noise_std": 0.02, "diameter": 10.0}):  # fmt: skip
        mechanism = NoisySgd(**{**NOISY, **changed})
        setting = mechanism.q, mechanism.multiplier / 2, mechanism.width, mechanism.steps
        for analysis in iterated(**changed):
            step = analysis.name.removeprefix("iteration-")
            analysis.ahead((1e-5,), (1.5, 3.7, 64.0))
            for order in (1.5, 3.7, 64.0):
                own = last_iterate(order, *setting, step).rdp
                assert math.isfinite(own)
                assert analysis.rdp(order) == pytest.approx(own, rel=1e-4)
            least, _ = eps_of_curve(partial(exactly, setting, step), 1e-5)
            assert math.isfinite(least)
            assert analysis.eps(1e-5) <= least * (1 + 1e-4)


@pytest.mark.parametrize("contraction", [0.0, 0.3, 0.9, 1 - 1e-4, 1 - 1e-9, 1.0, 1 + 1e-4, 1.3])
def test_the_best_number_of_steps_is_the_one_that_a_scan_finds(contraction):
    """A closed form, held against every number of steps: the scan's value, and no other place is lower."""
    for cost, spread, most in ((1e-4, 2.0, 900), (0.5, 1e3, 900), (3.0, 1e-3, 900), (0.0, 1.0, 40), (1e-9, 5.0, 900)):
        scan = min(cost * r + spread * shift(r, contraction) for r in range(1, most + 1))
        found, steps = over_steps(cost, spread, most, contraction)
        assert found == pytest.approx(scan, rel=1e-14, abs=0)
        assert 1 <= steps <= most
        assert found == pytest.approx(cost * steps + spread * shift(steps, contraction), rel=1e-14, abs=0)


@pytest.mark.parametrize("rule", ["classic", "improved"])
def test_no_order_of_the_grid_is_better_than_the_one_that_every_fourth_leads_to(rule):
    """Epsilon has one valley: the places between those that are asked hide no other."""
    for curve in (
        *(partial(rdp_of, mu) for mu in (1e-3, 0.1, 1.0, 30.0)),
        *((lambda a, q=q, z=z: 2000 * mixture_from_base(a, q, z)) for q, z in ((1e-4, 0.3), (0.01, 0.7), (0.2, 5.0))),
    ):
        for delta in (1e-3, 1e-9):
            found, order = eps_of_curve(curve, delta, rule)
            assert found <= min(RULES[rule](a, curve(a), delta) for a in ORDERS.tolist())
            assert found == RULES[rule](order, curve(order), delta)
