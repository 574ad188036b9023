"""Several records at once under Poisson sampling: digits, another library, literal draws, and vectors of any direction."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpexp.accounting.curve import Group
from dpexp.accounting.steps import StepLoss, eps_of_steps, step_loss
from dpexp.privacy.accounting.group_losses import GroupStep, of_group
from dpexp.privacy.analyses.groups import group_profile
from dpexp.privacy.mechanisms import MECHANISMS
from tests.conftest import call


def test_one_record_is_the_step_itself():
    for q, noise in ((0.01, 1.0), (0.3, 2.5), (0.9, 0.8)):
        group, one = GroupStep(q, noise, 1), StepLoss(q, noise, "add-remove")
        eps = np.linspace(-3, 3, 61)
        for mine, other in zip(group.curves, one.curves, strict=True):
            assert np.allclose(mine[0](eps), other[0](eps), rtol=1e-11, atol=1e-15)
        assert eps_of_steps(((group, 50),), 1e-5) == pytest.approx(one.eps(50, 1e-5), rel=1e-4)
        assert group.rdp(3.0) == pytest.approx(one.rdp(3.0), rel=1e-8)
    certain, gauss = GroupStep(1.0, 3.0, 4), StepLoss(1.0, 0.75, "add-remove")
    assert certain.curves[0][0](np.array([0.7]))[0] == pytest.approx(gauss.curves[0][0](np.array([0.7]))[0], rel=1e-12)


@pytest.mark.slow
def test_curves_have_their_digits():
    """By quadrature of the positive part with 40 digits, which shares no formula with the curves."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        for q, noise, size in ((0.05, 1.0, 3), (0.001, 0.7, 4)):
            p = [
                mpmath.binomial(size, j) * mpmath.mpf(q) ** j * (1 - mpmath.mpf(q)) ** (size - j)
                for j in range(size + 1)
            ]
            mu = 1 / mpmath.mpf(noise)

            def mixed(x, p=p, mu=mu):
                return sum(w * mpmath.npdf(x - j * mu) for j, w in enumerate(p))

            group = GroupStep(q, noise, size)
            for eps in (-0.01, 0.2, 2.0):
                for (curve, _), one, other in zip(
                    group.curves, (mixed, mpmath.npdf), (mpmath.npdf, mixed), strict=True
                ):

                    def gap(x, one=one, other=other, eps=eps):
                        return one(x) - mpmath.e ** mpmath.mpf(eps) * other(x)

                    found = float(curve(np.array([eps]))[0])
                    grid = [mpmath.mpf(x) / 4 for x in range(-60, 100)]
                    signs = [gap(x) > 0 for x in grid]
                    turns = [k for k in range(len(grid) - 1) if signs[k] != signs[k + 1]]
                    if not turns:
                        assert found == pytest.approx(max(0.0, -math.expm1(eps)), rel=1e-12, abs=1e-18)
                        continue
                    (turn,) = turns
                    root = mpmath.findroot(gap, (grid[turn], grid[turn + 1]), solver="anderson")
                    places = [root, root + 1, root + 4, root + 12, root + 30] if signs[-1] else [root - 30, root - 12, root - 4, root - 1, root]  # fmt: skip
                    wanted = float(mpmath.quad(gap, places))
                    assert found == pytest.approx(wanted, rel=1e-11, abs=1e-16)


@pytest.mark.slow
@pytest.mark.parametrize(("q", "noise", "steps", "size"), [(0.1, 2.0, 20, 4), (0.5, 3.0, 5, 2), (0.05, 4.0, 40, 8)])
def test_the_composition_is_that_of_another_library(q, noise, steps, size):
    """dp_accounting's mixture of Gaussians; beside it a step that moves `size` times as far, which is told apart."""
    losses = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    weights = list(binom(size, q).pmf(range(size + 1)))
    theirs = losses.from_mixture_gaussian_mechanism(
        noise, list(range(size + 1)), weights, value_discretization_interval=2e-3
    ).self_compose(steps)
    mine = ((GroupStep(q, noise, size), steps),)
    for delta in (1e-2, 1e-5):
        wanted = theirs.get_epsilon_for_delta(delta)
        assert eps_of_steps(mine, delta) == pytest.approx(wanted, rel=3e-3)
        assert mine[0][0].attained(steps, delta) <= wanted
        assert eps_of_steps(mine, delta) < 0.97 * StepLoss(q, noise / size, "add-remove").eps(steps, delta)


def test_draws_of_the_literal_mechanism():
    """Sums of log ratios over steps in which each of five records throws a coin of its own; wrong noise is rejected."""
    q, noise, steps, size, draws = 0.1, 2.0, 30, 5, 60_000
    rng = np.random.default_rng(1)
    weights = binom(size, q).pmf(range(size + 1))

    def loss(x, scale):
        j = np.arange(size + 1)
        return np.log((weights * np.exp((x[..., None] * j - j**2 / 2) / scale**2)).sum(-1))

    present = (rng.random((draws, steps, size)) < q).sum(-1) + noise * rng.standard_normal((draws, steps))
    total = loss(present, noise).sum(1)
    step = GroupStep(q, noise, size)
    for eps in (0.5, 2.0):
        gains = np.maximum(-np.expm1(eps - total), 0)
        error = 4 * gains.std() / math.sqrt(draws)
        assert gains.mean() == pytest.approx(step.delta(steps, eps), abs=error)
        for wrong in (
            GroupStep(q, noise * 2 / 3, size),
            GroupStep(q, noise * 3 / 2, size),
            GroupStep(q, noise, size - 1),
        ):
            assert abs(gains.mean() - wrong.delta(steps, eps)) > error


def test_vectors_of_any_directions_give_away_less_than_the_pair():
    """One step in two dimensions by quadrature: subsets of three vectors of norm at most 1, in both orders."""
    rng = np.random.default_rng(3)
    grid = np.linspace(-9, 9, 361)
    x, y = np.meshgrid(grid, grid, indexing="ij")
    area = (grid[1] - grid[0]) ** 2
    base = norm.pdf(x) * norm.pdf(y)
    q, noise, size = 0.3, 1.2, 3
    pair = GroupStep(q, noise, size)
    closest = 0.0
    for trial in range(12):
        angles = rng.uniform(0, 2 * math.pi, size) * (trial > 0)  # the first: all in one direction, attained
        lengths = np.where(trial < 6, 1.0, rng.uniform(0, 1, size)) / noise
        moves = np.stack([lengths * np.cos(angles), lengths * np.sin(angles)], axis=1)
        mixed = np.zeros_like(base)
        for chosen in itertools.product((0, 1), repeat=size):
            a, b = np.array(chosen) @ moves
            mixed += q ** sum(chosen) * (1 - q) ** (size - sum(chosen)) * norm.pdf(x - a) * norm.pdf(y - b)
        for eps in (0.0, 0.3, 1.0):
            for (curve, _), one, other in zip(pair.curves, (mixed, base), (base, mixed), strict=True):
                exact = float(np.maximum(one - math.exp(eps) * other, 0).sum() * area)
                stated = float(curve(np.array([eps]))[0])
                assert exact <= stated + 3e-5  # the error of the rule at the kink
                if stated > 1e-3:
                    closest = max(closest, exact / stated)
                    assert trial == 0 or exact < stated * 1.0001
    assert closest > 0.999


def analyses(name="sampled-gaussian", **given):
    return MECHANISMS[name].model_validate(given).analyses()


def test_where_the_law_of_a_group_is_stated():
    sampled = {"noise_multiplier": 4.0, "sampling_probability": 0.05, "steps": 200}
    known = {a.name: a for a in analyses(**sampled)}
    assert group_profile(known["renyi-composition"], 10) is None
    own, generic = group_profile(known["pld-composition"], 10), Group(known["pld-composition"].curve, 10)
    assert own.delta(9.2) < 1e-5 < generic.delta(9.2)
    assert own.tpr(0.01) < generic.tpr(0.01)
    assert own.delta(2.0) == pytest.approx(GroupStep(0.05, 4.0, 10).delta(200, 2.0))
    turns = {"noise_multiplier": 4.0, "batches": 3, "epochs": 20, "sampling": "cyclic-poisson", "sampling_probability": 0.1}  # fmt: skip
    replaced = {**sampled, "neighboring_relation": "replace-one"}
    others = [*analyses(**replaced), *analyses(**replaced, sampling="fixed-size"), *analyses("epoch-gaussian", **turns)]
    assert not any(group_profile(a, 10) for a in others)
    phases = {"noise_multiplier": [4.0, 3.0], "sampling_probability": [0.05, 0.02], "steps": [50, 100]}
    (two,) = [group_profile(a, 3) for a in analyses(**phases) if group_profile(a, 3)]
    parts = ((GroupStep(0.05, 4.0, 3), 50), (GroupStep(0.02, 3.0, 3), 100))
    assert two.eps(1e-5) == pytest.approx(eps_of_steps(parts, 1e-5))
    with pytest.raises(ValueError, match="Poisson sampling"):
        of_group(((step_loss(0.1, 1.0, "fixed-size"), 3),), 2)


@pytest.mark.slow
def test_the_command_says_which_law_it_is():
    words = ("privacy", "--mechanism", "sampled-gaussian", "noise_multiplier=4", "sampling_probability=0.05", "steps=200", "group=10", "eps=2")  # fmt: skip
    text = call(*words).stdout
    assert "own law of the group" in text
    assert "all there or all absent" in text
    rows = json.loads(call(*words, "--json").stdout)["tradeoff"]["statements"]
    laws = {row["analysis"]: row["group_law"] for row in rows}
    assert laws["pld-composition"] == "own"
    assert laws["renyi-composition"] == "generic"
    assert laws["exact-composition"] is None
    assert "all there or all absent" not in call(*words, "sampling=full-batch").stdout


@pytest.mark.parametrize(("size", "theirs", "ours"), [(3, 6.425, 3.93705), (10, math.inf, 15.46483)])
def test_the_epsilon_of_a_group_is_one_number_in_all_commands(size, theirs, ours):
    """Settings of the tests of TensorFlow Privacy, whose conversion is generic and larger."""
    words = ["sampling_probability=0.0064", "steps=782", f"group={size}"]
    of_noise = call(
        "privacy", "--mechanism", "sampled-gaussian", "noise_multiplier=1", *words, "delta=1e-6", "fpr=0.01", "--json"
    )
    rows = json.loads(of_noise.stdout)["tradeoff"]["statements"]
    ((_, stated),) = next(row["eps"] for row in rows if row["analysis"] == "pld-composition")
    assert stated == pytest.approx(ours, rel=1e-5)
    assert stated < theirs
    card = [
        "relation=add-remove",
        "sampler=poisson",
        "records=100000",
        "records_public=true",
        "noise_multiplier=1",
        *words,
    ]
    receipt = json.loads(call("receipt", *card, f"eps={stated}", "delta=1e-6", "--json").stdout)
    (line,) = receipt["readings"][0]["eps"]
    assert line["eps"] == pytest.approx(stated, rel=1e-9)
    assert stated * (1 - 1e-3) < line["attained"] <= stated
    target = [f"eps={stated}", "delta=1e-6", *words]
    found = json.loads(call("calibrate", "--mechanism", "sampled-gaussian", *target, "--json").stdout)
    assert found["value"] == pytest.approx(1.0, rel=1e-5)


def test_the_generic_epsilon_of_a_group_is_that_of_its_delta():
    group = Group(
        MECHANISMS["sampled-gaussian"](noise_multiplier=2, sampling_probability=0.05, steps=50).analyses()[0].curve,
        2,
    )
    eps = group.eps(1e-5)
    assert group.delta(eps) <= 1e-5 < group.delta(eps * 0.999)
