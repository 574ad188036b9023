"""Statements of `momentum`: golden values, what each derivation gives, and the conditions as printed."""

import math

import numpy as np
import pytest

from dpexp.theory.momentum import momentum_formulas

DELTA = 1e-5


@pytest.mark.parametrize(
    ("N", "d", "eps", "steps", "bound"),
    [
        (1000, 10, 0.5, 3.9e3, 13.6), (1000, 10, 1, 7.3e3, 9.7), (1000, 10, 4, 2.5e4, 5.1),
        (10**4, 100, 0.5, 9.0e4, 8.5), (10**4, 100, 1, 1.7e5, 6.1), (10**4, 100, 4, 6.1e5, 3.1),
        (10**5, 100, 0.5, 6.5e6, 3.0), (10**5, 100, 1, 1.25e7, 2.15), (10**5, 100, 4, 4.6e7, 1.11),
    ],
)  # fmt: skip
def test_theorem_6_schedule_and_bound(N, d, eps, steps, bound):
    schedule = momentum_formulas.theorem6_schedule(N, d, eps, DELTA)
    T = schedule.exact_steps
    assert steps == pytest.approx(T, rel=0.02)
    assert bound == pytest.approx(momentum_formulas.theorem6_printed(N, d, eps, DELTA, T, 1, 1, 1), rel=0.02)
    assert T * math.log2(T) == pytest.approx(eps * N**2 / math.sqrt(d * math.log(1 / DELTA)), rel=1e-12)
    assert schedule.alpha * N == pytest.approx(1, abs=1e-12)
    assert schedule.eta == 1 / math.sqrt(N * schedule.steps)
    assert schedule.feasible
    assert momentum_formulas.theorem6_schedule(N, d, 1e-12, DELTA).steps == 1


@pytest.mark.parametrize(
    ("N", "d", "eps", "steps", "gamma"),
    [
        (1000, 10, 0.5, 8.6e5, 0.034), (1000, 10, 1, 2.15e6, 0.022), (1000, 10, 4, 1.4e7, 0.009),
        (10**4, 10, 1, 4.6e8, 0.00464), (10**4, 100, 1, 1.0e8, 0.01), (10**4, 100, 4, 6.4e8, 0.00397),
        (10**5, 10, 1, 1e11, 0.001), (10**5, 10, 4, 6.4e11, 0.0004), (10**5, 100, 1, 2.2e10, 0.00215),
    ],
)  # fmt: skip
def test_theorem_9_schedule(N, d, eps, steps, gamma):
    schedule = momentum_formulas.theorem9_schedule(N, d, eps, DELTA)
    assert steps == pytest.approx(schedule.exact_steps, rel=0.03)
    assert gamma == pytest.approx(schedule.gamma, rel=0.06)
    assert schedule.alpha * N == pytest.approx(1, abs=1e-12)
    assert schedule.gamma == pytest.approx(math.sqrt(N / schedule.steps), rel=1e-14)
    assert schedule.feasible


def test_theorem_9_bound():
    for eps, bound in ((0.5, 9972), (1, 6564), (4, 2844)):
        T = momentum_formulas.theorem9_schedule(1000, 10, eps, DELTA).exact_steps
        assert round(momentum_formulas.theorem9_printed(1000, 10, eps, DELTA, T, 1, 1, 1)) == bound


def test_lemma_7_terms():
    schedule = momentum_formulas.theorem9_schedule(1000, 10, 1, DELTA)
    given = (1000, 10, 1, DELTA, schedule.steps, schedule.alpha, schedule.eta, 1, 1)
    assert [round(term) for term in momentum_formulas.lemma7_terms(*given)] == [43, 591, 6]
    assert round(momentum_formulas.lemma7_printed(*given)) == 640


def test_lemma_5_constants_are_three_halves_of_the_sharp_ones():
    assert momentum_formulas.lemma5_sharp(1.0, 0.25, 0.1, 20, 3.0) == pytest.approx(0.5 + 0.15 + 0.5)
    assert momentum_formulas.lemma5_printed(1.0, 0.25, 0.1, 20, 3.0) == pytest.approx(0.75 + 0.225 + 0.75)


@pytest.mark.parametrize("noise", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("eta", [0.003, 0.1, 1.0])
def test_lemma_5_sharp_holds_on_every_path(noise, eta):
    """F(w) = sum of 1 - cos(w_j) + w_j^2 / 4, non-convex and 3/2-smooth."""
    rng = np.random.default_rng(5)
    w = rng.standard_normal(4) * 2
    start, sizes, errors = w, [], []
    for _ in range(200):
        gradient = np.sin(w) + w / 2
        used = gradient + noise * rng.standard_normal(4)
        sizes.append(np.linalg.norm(gradient))
        errors.append(np.linalg.norm(used - gradient))
        w = w - eta * used / np.linalg.norm(used)

    def loss(v):
        return np.sum(1 - np.cos(v) + v**2 / 4)

    bound = momentum_formulas.lemma5_sharp(loss(start) - loss(w), np.mean(errors), eta, 200, 1.5)
    assert (
        np.mean(sizes)
        <= bound
        <= momentum_formulas.lemma5_printed(loss(start) - loss(w), np.mean(errors), eta, 200, 1.5)
    )


@pytest.mark.parametrize("eps", [0.1, 0.5, 1, 4, 8])
def test_the_best_order_is_the_minimum_over_orders(eps):
    for rdp, sigma in (
        (momentum_formulas.theorem4_rdp, momentum_formulas.theorem4_sigma_best_order),
        (momentum_formulas.theorem8_rdp, momentum_formulas.theorem8_sigma_best_order),
    ):
        s = sigma(eps, DELTA)
        orders = 1 + np.geomspace(1e-3, 1e5, 200001)
        values = [rdp(s, 1.0) * orders + math.log(1 / DELTA) / (orders - 1)]
        assert np.min(values) == pytest.approx(eps, rel=1e-6)


@pytest.mark.parametrize(("N", "d", "eps", "steps"), [(1000, 10, 0.7, 5000), (50, 3, 2.0, 64)])
def test_every_printed_constant_of_theorems_6_and_9(N, d, eps, steps):
    """The terms are linear in (gap, G, L); the factor of each is written down from the paper, one by one."""
    log_t, log_d = math.log2(steps), math.log(1 / DELTA)
    K = 16 * log_t * log_d
    rate6, rate9 = d**0.25 / math.sqrt(eps * N), d ** (1 / 3) / (eps * N) ** (2 / 3)
    noise, start = 12 * math.sqrt(log_t) * log_d**0.25 * rate6, 6 * log_t * math.sqrt(d * log_d) / (eps * N)
    large, small = 6 * math.sqrt(log_t * log_d) * rate6, 0.75 * (d * log_d) ** 0.25 * math.sqrt(log_t / (eps * N**1.5))
    six = ((1.5 * rate6, 0, 0, 0, 0, 0), (0, 0, noise, 0, 6 / math.sqrt(N), start), (0, large, 0, small, 0, 0))
    nine = (
        (1.5 * rate9, 0, 0, 0),
        (24 * K * rate9, 6 / math.sqrt(N), 36 * K * math.sqrt(d) / (eps * N), 0),
        ((48 * K + 12) * rate9, 0, 0, 9 * K * math.sqrt(d) / (eps * N)),
    )
    for terms, printed in ((momentum_formulas.theorem6_terms, six), (momentum_formulas.theorem9_terms, nine)):
        for unit, factors in zip(np.eye(3), printed, strict=True):
            assert terms(N, d, eps, DELTA, steps, *unit) == pytest.approx(factors, rel=1e-12)
