"""Composition: hockey-stick curves against integrals, loss distributions against another library, many distinct steps."""

import math

import numpy as np
import pytest

from dpexp.privacy.accounting import hockey_sticks as curves
from dpexp.privacy.accounting.gdp import delta_of, eps_of
from dpexp.privacy.accounting.loss_distributions import StepLoss, step_loss

Z = np.linspace(-18, 24, 400_001)


def normal(mean):
    return np.exp(-((Z - mean) ** 2) / 2) / math.sqrt(2 * math.pi)


def integral(p, r, eps):
    return float(np.sum(np.maximum(p - math.exp(eps) * r, 0))) * (Z[1] - Z[0])


@pytest.mark.parametrize("q", [1e-3, 0.2, 1.0])
@pytest.mark.parametrize("mu", [0.05, 0.8, 3.0])
def test_curves_are_integrals(q, mu):
    base, far, back = normal(0), normal(mu), normal(-mu)
    mixture, opposite = (1 - q) * base + q * far, (1 - q) * base + q * back
    for eps in (-1.0, -1e-3, 0.0, 0.02, 0.7, 2.5):
        at = np.array([eps])
        assert curves.removing(at, q, mu)[0] == pytest.approx(integral(mixture, base, eps), abs=2e-9)
        assert curves.adding(at, q, mu)[0] == pytest.approx(integral(base, mixture, eps), abs=2e-9)
        assert curves.opposite(at, q, mu)[0] == pytest.approx(integral(mixture, opposite, eps), abs=2e-9)
        both = max(integral(mixture, base, eps), integral(base, mixture, eps))
        assert curves.symmetrised(at, q, mu)[0] == pytest.approx(both, abs=2e-9)


@pytest.mark.parametrize("scheme", ["add-remove", "replace-one", "fixed-size"])
def test_full_batches_compose_to_a_gaussian(scheme):
    reach = 2 if scheme == "replace-one" else 1
    for multiplier, steps in ((5.0, 20), (1.0, 1), (200.0, 10**6)):
        mu = reach * math.sqrt(steps) / multiplier
        for delta in (1e-3, 1e-8):
            exact = eps_of(mu, delta)
            assert exact <= StepLoss(1.0, multiplier, scheme).eps(steps, delta) <= exact * 1.002
        assert delta_of(mu, 0.3) <= StepLoss(1.0, multiplier, scheme).delta(steps, 0.3) <= delta_of(mu, 0.3) * 1.003


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "multiplier", "steps"),
    [(0.1, 4.0, 1000), (0.01, 1.0, 1000), (0.04, 1.5, 2250), (0.5, 0.5, 3), (0.05, 0.8, 1)],
)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_accountant_of_another_library(q, multiplier, steps, relation):
    from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent, SelfComposedDpEvent
    from dp_accounting.pld import PLDAccountant

    kind = {"add-remove": "ADD_OR_REMOVE_ONE", "replace-one": "REPLACE_ONE"}[relation]
    theirs = PLDAccountant(NeighboringRelation[kind], value_discretization_interval=1e-4)
    theirs.compose(SelfComposedDpEvent(PoissonSampledDpEvent(q, GaussianDpEvent(multiplier)), steps))
    for delta in (1e-3, 1e-5, 1e-9):
        assert step_loss(q, multiplier, relation).eps(steps, delta) == pytest.approx(
            theirs.get_epsilon(delta), rel=2e-4
        )


@pytest.mark.parametrize("scheme", ["add-remove", "replace-one", "fixed-size"])
def test_a_gaussian_run_beside_sampled_steps_is_one_step_of_their_scheme(scheme):
    """Its noise counts in units of the scheme, whose means are two norms apart where records are replaced, else one."""
    sampled = step_loss(0.05, 1.0, scheme)
    ((step, count),) = sampled.gaussian(0.8)
    exact = eps_of(0.8, 1e-5)
    assert exact <= step.eps(count, 1e-5) <= exact * 1.002
    assert sampled.eps(20, 1e-5) < sampled.eps_among(((sampled, 20), (step, 1)), 1e-5)
    assert sampled.gaussian(0.0) == ()


def test_published_epsilons_of_privacy_loss_distributions():
    """Opacus' PRV table at delta = 1e-6, whose own error is 0.01, and dp_accounting's delta of three steps."""
    for sigma, q, steps, eps in (
        (1.5, 0.001, 1000, 0.09982066),
        (0.8, 0.05, 100, 6.74105194),
        (3, 0.2, 100, 3.38122051),
    ):
        ours = step_loss(q, float(sigma), "add-remove").eps(steps, 1e-6)
        assert eps - 0.012 < ours <= eps + 1e-4
    assert step_loss(0.2, 0.5, "add-remove").delta(3, 1.0) == pytest.approx(0.15594, abs=1e-4)
    assert step_loss(0.8, 1.0, "add-remove").delta(1, 1.0) == pytest.approx(0.0816951787, rel=1e-4)
    assert step_loss(0.8, 2.0, "replace-one").delta(1, 1.0) == pytest.approx(0.0580866565, rel=1e-4)


def test_batches_of_fixed_size_lie_between_a_true_pair_and_the_renyi_bound():
    """q = 0.01, multiplier 0.7, 500 steps at 1e-5: an attained pair needs 3.597, Renyi composition 4.722."""
    eps = step_loss(0.01, 0.7, "fixed-size").eps(500, 1e-5)
    assert step_loss(0.01, 0.7, "add-remove").eps(500, 1e-5) == pytest.approx(3.597, abs=2e-3)
    assert 3.597 < eps < 4.722


def test_delta_and_epsilon_are_inverse_and_monotone():
    loss = step_loss(0.05, 1.2, "fixed-size")
    for steps in (1, 7, 3000):
        values = [loss.eps(steps, delta) for delta in (1e-2, 1e-4, 1e-6, 1e-8)]
        assert values == sorted(values)
        for delta, eps in zip((1e-2, 1e-4, 1e-6, 1e-8), values, strict=True):
            assert loss.delta(steps, eps) <= delta * (1 + 1e-9)
            if eps > 0:
                assert loss.delta(steps, eps * 0.999) > delta
    assert loss.eps(1, 1.0) == 0
    assert loss.attained(10, 1e-18) <= loss.eps(10, 1e-18) < loss.attained(10, 1e-18) * 1.001
    for wrong in ((0.0, 1.0), (1.1, 1.0), (0.5, 0.0), (0.5, math.inf)):
        with pytest.raises(ValueError):
            StepLoss(*wrong, "fixed-size")
