"""Statements of `dp-sgld` as functions: values of the published runs, consistency, and a ridge toy."""

import itertools
import math

import numpy as np
import pytest

from dpexp.accounting.renyi import eps_of_curve
from dpexp.theory.dp_sgld import privacy_statements, softmax_constants, utility
from dpexp.theory.dp_sgld.ridge import Ridge
from tests.conftest import share

# step, lambda, L, sigma, n, delta, epochs, iterations; eps with K = epochs and K = iterations
RUNS = [
    ((0.018, 0.001, 15, 0.0022, 50000, 1e-5, 30, 11730), 0.982, 25.98),
    ((0.0038, 0.005, 15, 0.001, 50000, 1e-5, 30, 11730), 0.993, 26.29),
    ((0.0014, 0.005, 18, 0.0082, 5163, 1e-4, 50, 2050), 0.991, 7.21),
]


@pytest.mark.parametrize(("run", "epochs_eps", "steps_eps"), RUNS)
def test_the_published_epsilon_counts_epochs(run, epochs_eps, steps_eps):
    step, lam, size, sigma, n, delta, epochs, steps = run
    for count, expected in ((epochs, epochs_eps), (steps, steps_eps)):
        slope = privacy_statements.corollary32(1, size, n, sigma, lam, step, count)
        assert privacy_statements.eps_of_slope(slope, delta) == pytest.approx(expected, abs=0.006)


def mironov(slope, delta):
    """The least epsilon over orders of Mironov's rule, by trying them."""
    orders = 1 + np.geomspace(1e-4, 1e7, 200_000)
    return float(np.min(orders * slope + math.log(1 / delta) / (orders - 1)))


def test_conversion_and_its_inverse():
    slope = privacy_statements.corollary32(1, 15, 50000, 0.0022, 0.001, 0.018, 30)
    assert mironov(slope, 1e-5) == pytest.approx(privacy_statements.eps_of_slope(slope, 1e-5))
    assert eps_of_curve(lambda a: a * slope, 1e-5) == pytest.approx(0.796, abs=5e-4)
    assert privacy_statements.slope_of_eps(1, 1e-5) == pytest.approx(0.02082, abs=5e-6)
    for eps in (1e-6, 0.3, 40):
        assert privacy_statements.eps_of_slope(privacy_statements.slope_of_eps(eps, 1e-5), 1e-5) == pytest.approx(
            eps, rel=1e-10
        )
    sigma = privacy_statements.sigma_for_eps(1.0, 1e-5, 2.0, 1000, 0.1, 7.0)
    assert privacy_statements.eps_of_slope(
        privacy_statements.theorem31(1, 2.0, 1000, sigma, 0.1, 7.0), 1e-5
    ) == pytest.approx(1)


def test_the_statements_agree_with_each_other():
    lsi = 0.2 / (2 * 1.3**2)  # that of Lemma 3.3
    expected = privacy_statements.theorem31(3, 2, 50, 1.3, 0.2, 40 * 0.1)
    assert privacy_statements.theorem33(3, 2, 50, 1.3, lsi, 4.0) == pytest.approx(expected)
    assert privacy_statements.corollary31(3, 2, 50, 1.3, lsi, 0.1, 40) == pytest.approx(expected)
    assert privacy_statements.corollary32(3, 2, 50, 1.3, 0.2, 0.1, 40) == pytest.approx(expected)
    beta, lam = 5.0, 1e-6
    small = 3 * 2**2 * 10 / (beta * 50**2 * 1.3**2)
    assert privacy_statements.corollary32(3, 2, 50, 1.3, lam, 1 / (2 * beta), 10) == pytest.approx(small, rel=1e-5)
    assert privacy_statements.corollary33(3, 2, 50, 1.3, lam, beta, 10) == pytest.approx(small, rel=1e-5)
    large = 4 * 3 * 2**2 / (lam * 50**2 * 1.3**2)
    assert privacy_statements.corollary32(3, 2, 50, 1.3, lam, 0.1, 10**10) == pytest.approx(large)


@pytest.mark.parametrize(
    ("beta", "lam", "steps", "factors"),
    [(1, 0.5, 100, (0.9302, 0.9259, 0.9216)), (55, 0.001, 11730, (0.0506194, 0.0506193, 0.0506191))],
)
def test_corollary33_lies_between_the_two_sums(beta, lam, steps, factors):
    def factor(first):
        return -math.expm1(-lam / 2 * privacy_statements.total_decreasing_step(beta, lam, steps, first))

    bound = privacy_statements.corollary33(1, 1, 1, 1, lam, beta, steps) * lam / 4
    assert (factor(0), bound, factor(1)) == pytest.approx(factors, abs=5e-5 if beta == 1 else 6e-8)
    assert factor(1) <= bound <= factor(0)


def test_the_closed_sum_is_the_sum():
    for first in (0, 1):
        terms = math.fsum(privacy_statements.decreasing_steps(55, 0.001, 20_000, first))
        assert privacy_statements.total_decreasing_step(55, 0.001, 20_000, first) == pytest.approx(terms, rel=1e-10)


def test_utility_statements_are_the_printed_formulas():
    """Term by term, at numbers of which none is 1 and no two are alike."""
    K, eta, beta, lam, d, sigma, xi, start, L, n = 17, 0.11, 3.0, 0.2, 10, 0.7, 0.6, 5.0, 1.5, 4000
    order, eps, delta = 20.0, 0.5, 1e-3
    floor = beta * eta * xi**2 / (2 * lam) + beta * d * sigma**2 / lam
    seven = beta / 2 * start * math.exp(-lam * eta * K) + floor
    assert utility.lemma7(K, eta, beta, lam, d, sigma, xi**2, start) == pytest.approx(seven, rel=1e-12)
    proved = seven + beta * eta * xi**2 / (2 * lam)
    assert utility.lemma7(K, eta, beta, lam, d, sigma, xi**2, start, "proved") == pytest.approx(proved, rel=1e-12)
    four = 2 * beta * L**2 / lam**2 * math.exp(-lam * eta * K) + floor
    assert utility.lemma41(K, eta, beta, lam, d, sigma, xi**2, L) == pytest.approx(four, rel=1e-12)
    theorem = 6 * order * beta * d * L**2 / (eps * lam**2 * n**2) + xi**2 / (4 * lam)
    assert utility.theorem41(order, eps, beta, lam, d, L, n, xi**2) == pytest.approx(theorem, rel=1e-12)
    log = math.log(1 / delta)
    form = 48 * beta * d * L**2 * log / (eps**2 * lam**2 * n**2) + xi**2 / (4 * lam)
    assert utility.theorem41_dp(eps, delta, beta, lam, d, L, n, xi**2) == pytest.approx(form, rel=1e-12)
    variance = 4 * order * L**2 / (eps * lam * n**2)
    assert utility.theorem41_sigma(order, eps, lam, L, n) ** 2 == pytest.approx(variance, rel=1e-12)
    variance = 8 * L**2 * (eps + 2 * log) / (eps**2 * lam * n**2)
    assert utility.dp_sigma(eps, delta, lam, L, n) ** 2 == pytest.approx(variance, rel=1e-12)
    ratio, other = eps * n**2 / (order * d), eps**2 * n**2 / (4 * log * d)
    assert utility.theorem41_steps(order, eps, beta, lam, d, n) == pytest.approx(2 * beta / lam * math.log(ratio))
    assert utility.theorem41_dp_steps(eps, delta, beta, lam, d, n) == pytest.approx(2 * beta / lam * math.log(other))
    eleven = 2 * beta * start / K + 4 * xi**2 / (K * lam) * math.log(1 + lam * K / (4 * beta)) + 2 * d * sigma**2
    assert utility.lemma11(K, beta, lam, d, sigma, xi**2, start) == pytest.approx(eleven, rel=1e-12)
    steps = sum(1 / (2 * beta + lam * k / 2) for k in range(K))
    proved = (2 * beta - lam / 2) * start / K + 2 * xi**2 * steps / K + 2 * d * sigma**2
    assert utility.lemma11(K, beta, lam, d, sigma, xi**2, start, "proved") == pytest.approx(proved, rel=1e-12)
    theorem = 18 * order * d * L**2 / (eps * lam * n**2)
    assert utility.theorem42(order, eps, lam, d, L, n) == pytest.approx(theorem, rel=1e-12)
    form = 144 * d * L**2 * log / (eps**2 * lam * n**2)
    assert utility.theorem42_dp(eps, delta, lam, d, L, n) == pytest.approx(form, rel=1e-12)
    assert utility.theorem42_steps(order, eps, beta, lam, d, n) == pytest.approx(lam / beta * ratio**2)
    assert utility.theorem42_steps(order, eps, 1e4 * beta, lam, d, n) == pytest.approx(1e4 * beta / lam * ratio)
    assert utility.theorem42_dp_steps(eps, delta, beta, lam, d, n) == pytest.approx(lam / beta * other**2)


def test_softmax_constants_bound_the_hessian():
    rng = np.random.default_rng(3)
    x, lam, classes = rng.standard_normal((40, 4)), 0.05, 3
    each = softmax_constants.smoothness_of_norm(np.linalg.norm(x, axis=1).max(), lam)
    for _ in range(50):
        logits = 3 * rng.standard_normal((40, classes))
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        hessians = [np.kron(np.diag(a) - np.outer(a, a), np.outer(b, b)) for a, b in zip(p, x, strict=True)]
        assert max(np.linalg.eigvalsh(h)[-1] for h in hessians) + lam <= each
        gradients = np.linalg.norm(p - np.eye(classes)[0], axis=1) * np.linalg.norm(x, axis=1)
        assert np.all(gradients <= softmax_constants.data_lipschitz(1.0) * np.linalg.norm(x, axis=1))
    assert softmax_constants.data_lipschitz(math.sqrt(1.0625)) == pytest.approx(1.458, abs=5e-4)
    assert softmax_constants.minimiser_radius(1.0, 0.01, 10) == pytest.approx(math.sqrt(200 * math.log(10)))


def test_softmax_constants_are_attained_by_two_equal_classes():
    """At p = (1/2, 1/2) the Hessian of a record x is (1/2) |x|^2 along x: 4.5 for |x| = 3, and lambda is added."""
    p = np.array([0.5, 0.5])
    largest = np.linalg.eigvalsh(np.kron(np.diag(p) - np.outer(p, p), np.outer([3.0, 0.0], [3.0, 0.0])))[-1]
    assert softmax_constants.smoothness_of_norm(3.0, 0.1) == pytest.approx(largest + 0.1, rel=1e-12)
    assert largest == pytest.approx(4.5, rel=1e-12)


def test_exact_risks_are_those_of_every_path_of_batches():
    """Every sequence of two batches out of 15, each a Gaussian, averaged; also xi^2 and the start."""
    toy, sigma, m, steps = Ridge(2, d=2, n=6, strong_convexity=0.4), 0.3, 2, np.array([0.1, 0.07])
    x, y = toy.records
    eye, start = np.eye(2), 2 * sigma**2 / 0.4 * np.eye(2)
    batches = [list(b) for b in itertools.combinations(range(6), m)]

    def risk(mean, cov):
        off = mean - toy.optimum
        return float(np.trace(toy.hessian @ (cov + np.outer(off, off)))) / 2

    laws, expected = [(np.zeros(2), start)], []
    for eta in steps:
        expected.append(np.mean([risk(*law) for law in laws]))
        following = []
        for mean, cov in laws:
            for b in batches:
                a = eye - eta * (x[b].T @ x[b] / m + 0.4 * eye)
                following.append((a @ mean + eta * x[b].T @ y[b] / m, a @ cov @ a.T + 2 * eta * sigma**2 * eye))
        laws = following
    expected.append(np.mean([risk(*law) for law in laws]))
    assert toy.risks(steps, sigma, m) == pytest.approx(expected, rel=1e-12)
    at_best = [x[b].T @ (x[b] @ toy.optimum - y[b]) / m + 0.4 * toy.optimum for b in batches]
    assert toy.xi_sq(m) == pytest.approx(np.mean([g @ g for g in at_best]), rel=1e-12)


@pytest.mark.parametrize("seed", share(range(6), 6))
@pytest.mark.parametrize("form", ["printed", "proved"])
def test_utility_statements_hold_on_the_ridge_toy(form, seed):
    """Lemmas (7) and (11), Lemma 4.1, Theorems 4.1 and 4.2 in both privacy forms against exact moments; not vacuous."""
    toy, m, delta = Ridge(seed), 4, 1e-3
    lam, beta, d, n, xi_sq = toy.strong_convexity, toy.smoothness, toy.d, toy.n, toy.xi_sq(m)
    size = float(np.max(np.linalg.norm(toy.gradients, axis=1))) + 3 * beta * float(np.linalg.norm(toy.optimum))
    sigma, constant = 0.05, np.full(300, 1 / (2 * beta))
    last = toy.risks(constant, sigma, m)[-1]
    start = 2 * sigma**2 / lam * d + toy.optimum @ toy.optimum  # E|theta_0 - theta*|^2
    near = utility.lemma7(300, constant[0], beta, lam, d, sigma, xi_sq, start, form)
    assert 0.005 * near < last < near
    assert near <= utility.lemma41(300, constant[0], beta, lam, d, sigma, xi_sq, size, form)
    average = toy.risks(privacy_statements.decreasing_steps(beta, lam, 300), sigma, m)[:-1].mean()
    bound = utility.lemma11(300, beta, lam, d, sigma, xi_sq, start, form)
    assert 0.05 * bound < average < bound
    eps, order = 0.5, 20.0
    renyi = (
        utility.theorem41_sigma(order, eps, lam, size, n),
        utility.theorem41_steps(order, eps, beta, lam, d, n),
        utility.theorem41(order, eps, beta, lam, d, size, n, xi_sq, form),
        utility.theorem42_steps(order, eps, beta, lam, d, n),
        utility.theorem42(order, eps, lam, d, size, n),
    )
    both = (
        utility.dp_sigma(eps, delta, lam, size, n),
        utility.theorem41_dp_steps(eps, delta, beta, lam, d, n),
        utility.theorem41_dp(eps, delta, beta, lam, d, size, n, xi_sq, form),
        utility.theorem42_dp_steps(eps, delta, beta, lam, d, n),
        utility.theorem42_dp(eps, delta, lam, d, size, n),
    )
    for noise, k1, one, k2, two in (renyi, both):
        risk = toy.risks(np.full(math.ceil(k1), 1 / (2 * beta)), noise, m)[-1]
        assert 0.01 * one < risk < one
        mean = toy.risks(privacy_statements.decreasing_steps(beta, lam, math.ceil(k2)), noise, m)[1:].mean()
        assert 0.01 * two < mean < two
