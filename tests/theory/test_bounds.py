"""Theorems 3 to 6: golden values, literal transcriptions, limits, and what every bound must do."""

import math

import numpy as np
import pytest
from scipy.stats import ncx2

from dpexp.algorithms.near_the_optimum import local
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.papers.ldp_sgd.predictions import constants, predicted, settled_step
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems import PROBLEMS
from dpexp.theory.ldp_sgd import linearised as lin
from dpexp.theory.ldp_sgd import theorem4
from dpexp.theory.ldp_sgd.convex import (
    theorem5_last_iterate,
    theorem5_printed,
    theorem5_rooted,
    theorem6_completed,
    theorem6_visible,
)
from dpexp.theory.ldp_sgd.terms import fourth_moment, second_moment
from dpexp.theory.ldp_sgd.theorem3 import theorem3_printed, theorem3_recursion
from tests.oracles import bounds

LINEAR, LOGISTIC = PROBLEMS["huber-linear"](), PROBLEMS["mallows-logistic"]()
N = np.array([300_000])
ALPHAS = [0.0, 1 / 4, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.9]


def of(problem, alpha=0.5, mu=1.0, eta=0.2, steps=N):
    schedule = SCHEDULES["power"](eta=eta, alpha=alpha)
    return constants(problem, schedule, ConstantBudget(mu=mu)) | {"steps": np.asarray(steps)}


def test_golden_values_of_the_printed_bounds():
    """Computed with 5 in place of the number of parameters in 64 d."""
    m, c0 = LINEAR.curvature().m, LINEAR.gradient_bound()
    assert theorem3_printed(N, 0.2, 0.5, m, c0, 5, 1.0, 7.0)[0] == pytest.approx(12.227348, rel=1e-7)
    m, c0 = LOGISTIC.curvature().m, LOGISTIC.gradient_bound()
    assert theorem3_printed(N, 0.2, 0.5, m, c0, 5, 1.0, 6.0)[0] == pytest.approx(138.61623, rel=1e-7)
    assert theorem6_visible(N, 0.2, 0.5, c0, 5, 1.0, 6.0)[0] == pytest.approx(1.7396149, rel=1e-7)


@pytest.mark.parametrize(("n", "last", "average"), [(10, 14.861398, 11.993336), (300_000, 0.27730700, 0.16599914)])
def test_golden_values_of_the_completed_bounds(n, last, average):
    args = (np.array([n]), 0.2, 0.5, math.sqrt(50), 1, 0.0, 0.0, 6.0)
    assert theorem5_last_iterate(*args)[0] == pytest.approx(last, rel=1e-7)
    assert theorem6_completed(*args)[0] == pytest.approx(average, rel=1e-7)


def test_summation_b_is_the_printed_sum():
    eta, alpha, m = 0.3, 0.4, 0.2
    terms = [
        math.exp(
            -m * eta * k ** (1 - alpha) / 4
            + (k ** (1 - 2 * alpha) - 1) / (1 - 2 * alpha)
            + 4 * eta**3 * (k ** (1 - 3 * alpha) - 1) / (1 - 3 * alpha)
        )
        for k in range(1, 21)
    ]
    steps = np.array([1, 7, 20])
    np.testing.assert_allclose(
        10 ** theorem4.log10_summation_b(steps, eta, alpha, m), np.cumsum(terms)[steps - 1], rtol=1e-12
    )


@pytest.mark.parametrize("alpha", [0.0, 1 / 3, 0.5, 0.7])
def test_theorem_4_is_the_printed_sum_of_terms(alpha):
    """At numbers of which none is 1 and no two are alike, so that every factor and every power shows in some digit."""
    steps, eta, m, M, c0, p, mu, start, c1, trace = np.array([1, 3, 40]), 0.7, 0.11, 1.9, 1.3, 4, 0.6, 5.0, 37.0, 44.0
    s2 = c0**2 * (1 + 64 * p / mu**2)
    literal = [bounds.printed_theorem4(int(n), eta, alpha, m, M, s2, start, c1, trace) for n in steps]
    args = (steps, eta, alpha, m, M, c0, p, mu, start, c1, trace)
    np.testing.assert_allclose(theorem4.theorem4_without_b(*args), [without for without, _ in literal], rtol=1e-12)
    b = 10 ** theorem4.log10_summation_b(steps, eta, alpha, m)
    wanted = [np.log10(without + factor * one) for (without, factor), one in zip(literal, b, strict=True)]
    np.testing.assert_allclose(theorem4.theorem4_printed_log10(*args), wanted, rtol=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_recursions_agree_with_their_literal_forms(alpha):
    steps = np.array([1, 2, 3, 17, 60])
    m, eta, c0, p, delta, inverse, start, c1, trace = 0.11, 0.7, 1.3, 4, 2.1, 0.4, 5.0, 0.3, 44.0
    second, fourth = second_moment(c0, p, delta, inverse), fourth_moment(c0, p, delta**2 * inverse)
    literal = bounds.squared_errors(60, eta, alpha, m, second, fourth, start)
    found = theorem3_recursion(steps, eta, alpha, m, c0, p, delta, inverse, start)
    np.testing.assert_allclose(found, [literal[n][0] for n in steps], rtol=1e-12)
    found = theorem4.theorem4_completed(steps, eta, alpha, m, c0, p, delta, inverse, start, c1, trace)
    wanted = [bounds.completed_theorem4(n, eta, alpha, m, second, fourth, start, c1, trace) for n in steps]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    found = theorem5_last_iterate(steps, eta, alpha, c0, p, delta, inverse, start)
    np.testing.assert_allclose(found, [bounds.last_iterate(n, eta, alpha, second, start) for n in steps], rtol=1e-12)
    found = theorem6_completed(steps, eta, alpha, c0, p, delta, inverse, start)
    np.testing.assert_allclose(found, [bounds.averaged_gap(n, eta, alpha, second, start) for n in steps], rtol=1e-12)


def test_theorems_5_and_6_are_the_printed_formulas():
    """Case by case, at numbers of which none is 1 and no two are alike."""
    n, eta, M, c0, p, mu, start = 40, 0.7, 1.9, 1.3, 4, 0.6, 5.0
    s2 = c0**2 * (1 + 64 * p / mu**2)
    args = (M, c0, p, mu, start)

    def psi_of(beta):
        return math.log(n) if beta == 0 else (n**beta - 1) / beta

    factor = 2 * (1 + 4 * M**0.5 * s2**0.5 * eta**1.5) / eta
    for alpha, wanted in (
        (0.8, factor * (start + s2 * eta**2 * psi_of(-0.6)) ** 0.5 / psi_of(0.2)),
        (0.6, factor * (start + s2 * eta**2 * psi_of(-0.2)) ** 0.5 / psi_of(0.3)),
        (0.4, factor * (start + s2 * eta**2) / (0.2**0.5 * psi_of(0.1))),
    ):
        assert theorem5_printed(np.array([n]), eta, alpha, *args)[0] == pytest.approx(wanted, rel=1e-9)
    for alpha in (0.0, 0.3, 0.5, 0.8):
        first = (start + s2 * eta**2 * psi_of(1 - 2 * alpha)) / (2 * eta * n ** (1 - alpha))
        wanted = first + s2 * eta * psi_of(1 - alpha) / (2 * n)
        assert theorem6_visible(np.array([n]), eta, alpha, *args[1:])[0] == pytest.approx(wanted, rel=1e-9)


def test_the_root_that_the_third_case_lacks():
    args = (0.2, 0.4, 0.1, 1.4, 6, 1.0, 6.0)
    spread = 6.0 + 1.4**2 * (1 + 64 * 6) * 0.2**2
    printed, rooted = theorem5_printed(np.array([1000]), *args), theorem5_rooted(np.array([1000]), *args)
    assert printed[0] / rooted[0] == pytest.approx(math.sqrt(spread))
    half = theorem5_rooted(np.array([1000]), 0.2, 0.5, *args[2:])[0]
    near = theorem5_printed(np.array([1000]), 0.2, 0.5 + 1e-7, *args[2:])[0]
    assert half == pytest.approx(near, rel=1e-5)
    assert theorem5_rooted(np.array([1000]), 0.2, 0.6, *args[2:]) == theorem5_printed(
        np.array([1000]), 0.2, 0.6, *args[2:]
    )


def test_traces_and_lyapunov_equation():
    for problem, mu, trace in ((LINEAR, 1.0, 7404.1087), (LINEAR, math.inf, 35.764606), (LOGISTIC, 2.0, 11202.239)):
        c = problem.curvature()
        s = lin.noisy_covariance(c.score_covariance, problem.noise_sensitivity(), mu**-2)
        assert np.trace(lin.averaged_covariance(c.hessian, s)) == pytest.approx(trace, rel=1e-7)
        v = lin.iterate_covariance(c.hessian, s)
        np.testing.assert_allclose(c.hessian @ v + v @ c.hessian, s, atol=1e-10 * np.abs(s).max())


@pytest.mark.parametrize("c0", [0.3, 2.0, 11.0])
@pytest.mark.parametrize("variance", [0.04, 0.64, 25.0])
def test_both_moments_are_those_of_a_chi_square_law(c0, variance):
    """|g + s omega|^2 / s^2 is chi-square of p degrees of freedom, not central by |g|^2 / s^2."""
    for p in (1, 3, 20):
        mean, spread = ncx2.stats(p, c0**2 / variance)
        assert second_moment(c0, p, 1.0, variance) == pytest.approx(variance * mean, rel=1e-12)
        assert fourth_moment(c0, p, variance) == pytest.approx(variance**2 * (mean**2 + spread), rel=1e-12)


def test_the_spectral_norm_of_orthogonal_vectors_is_the_largest_weight_in_any_unit():
    u = np.linalg.qr(np.random.default_rng(5).standard_normal((4, 4)))[0]
    tensor = np.einsum("k,ik,jk,lk->ijl", [1.0, 0.8, -0.5, 0.2], u, u, u)
    for unit in (1e-4, 1.0, 1e4):
        assert lin.spectral_norm(unit * tensor) == pytest.approx(unit, rel=1e-8)
    assert lin.spectral_norm(np.zeros((3, 3, 3))) == 0
    assert lin.spectral_norm(LINEAR.third_derivative()) == pytest.approx(0.0586, rel=0.01)


@pytest.mark.parametrize("alpha", [0.0, 1 / 3, 0.7, 1.0])
def test_linearised_moments_are_those_of_the_full_matrices(alpha):
    rng = np.random.default_rng(1)
    root = rng.standard_normal((4, 4))
    hessian = root @ root.T / 4 + 0.1 * np.eye(4)
    root = rng.standard_normal((4, 4))
    covariance, start = root @ root.T, rng.standard_normal(4)
    modes = lin.modes_of(hessian, covariance, start)
    found = lin.linearised_moments(np.array([1, 2, 40]), np.array([0.1, 0.3]), alpha, modes)
    for e, eta in enumerate((0.1, 0.3)):
        for k, n in enumerate((1, 2, 40)):
            iterate, average = bounds.second_moments(n, eta, alpha, hessian, covariance, start)
            assert found.iterate[e, k].sum() == pytest.approx(iterate, rel=1e-11)
            assert found.average[e, k].sum() == pytest.approx(average, rel=1e-11)


def test_linearised_golden_values():
    """Quadratic predictions of E|theta_n - theta*|^2, and n E / tr of the average at 3e5 (linear, mu = 2)."""
    for mu, value in ((1.0, 0.1625), (2.0, 0.04128), (3.0, 0.01883), (math.inf, 8.67e-4)):
        place = local(LINEAR, ConstantBudget(mu=mu))
        curves = predicted(place, SCHEDULES["power"](eta=0.2, alpha=0.5), N)
        assert curves.sgd["param_distance_sq"][0] == pytest.approx(value, rel=5e-4)
    place = local(LINEAR, ConstantBudget(mu=2.0))
    average = lin.linearised_moments(N, np.array([0.2]), 2 / 3, place.modes).average.sum()
    assert N[0] * average / 1877.8506 == pytest.approx(6.8, abs=0.05)


@pytest.mark.parametrize(("eta", "alpha", "m"), [(0.2, 0.5, 0.1), (0.05, 1 / 3, 0.4), (0.1, 0.0, 0.02)])
def test_the_bias_builds_up_as_the_literal_sum(eta, alpha, m):
    """Mean over k <= n of eta_k (1 - exp(-m (eta_1 + ... + eta_k)))^2; the integral in its place errs like 1 / n."""
    steps = np.array([2000, 20_000])
    sizes = eta * np.arange(1, steps[-1] + 1) ** -alpha
    terms = sizes * (1 - np.exp(-m * np.cumsum(sizes))) ** 2
    literal = np.array([terms[:n].mean() for n in steps])
    np.testing.assert_allclose(settled_step(steps, eta, alpha, m), literal, rtol=0.011)
    assert literal[0] < 0.9 * sizes[:2000].mean()  # the sum without what is still missing is another number
