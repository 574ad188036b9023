"""How Poisson batches contract: against enumeration of batch sizes, simulation, and values of another program."""

from __future__ import annotations

import itertools
import math
from unittest import mock

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpexp.accounting.gaussian import delta_of
from dpexp.privacy.analyses.hidden_state import PoissonReach
from dpexp.privacy.analyses.random_contraction import RandomContraction
from dpexp.privacy.mechanisms import MECHANISMS


def theta(eps, r):
    """E_{e^eps} of two unit Gaussians at distance r, from the definition."""
    return norm.sf(eps / r - r / 2) - math.exp(eps) * norm.sf(eps / r + r / 2)


def block(law, eps, steps):
    """The contraction of exactly so many steps as one block."""
    with mock.patch("dpexp.privacy.analyses.random_contraction.blocks", lambda *given: given):
        lengths, logs = law.log_contraction(eps)
    (at,) = np.flatnonzero(lengths == steps)
    return math.exp(logs[at])


def enumerated(width, n, q, least, largest, steps, eps):
    """E theta(width / sqrt X) over all sequences of batch sizes."""
    total, pmf = 0.0, binom.pmf(np.arange(n + 1), n, q)
    for sizes in itertools.product(range(n + 1), repeat=steps):
        c = [max(abs(1 - least * k), abs(1 - largest * k)) for k in sizes]
        noise, hidden = 0.0, 1.0
        for factor in c:
            hidden /= max(factor, 1e-9) ** 2
            noise += hidden
        total += math.prod(pmf[k] for k in sizes) * theta(eps, width / math.sqrt(noise))
    return total


def test_blocks_are_the_mean_over_all_batch_sizes():
    """Never below the enumeration, and close to it where steps do not expand much."""
    rng, closest = np.random.default_rng(3), 2.0
    for _ in range(25):
        n, steps, eps = int(rng.integers(1, 4)), int(rng.integers(1, 4)), float(rng.choice([0.0, 0.3, 1.5]))
        q, width = float(rng.uniform(0.1, 0.9)), float(10 ** rng.uniform(-0.5, 1))
        largest = float(rng.choice([0.3, 1.0, 1.9]) / rng.integers(1, n + 1))
        least = float(rng.choice([0.0, 0.1, 0.9, 1.0])) * largest
        exact = enumerated(width, n, q, least, largest, steps, eps)
        found = block(RandomContraction(width, n, q, least, largest), eps, steps)
        assert exact * (1 - 1e-9) <= found, (n, q, width, least, largest, steps, eps)
        closest = min(closest, found / exact)
    assert closest < 1.001


# the last value: the same by another program's simulation, where it is known
def test_the_counterexample_contracts_slowly():
    """n = 10, b = 1, eta m = eta M = 0.999, width 10: the factor of the mean batch gives 0.0040 after one step."""
    law = RandomContraction(10.0, 10, 0.1, 0.999, 0.999)
    for steps, wanted in ((1, 0.614), (2, 0.377), (3, 0.231), (5, 0.0860), (10, 0.00728)):
        assert block(law, 0.0, steps) == pytest.approx(wanted, rel=0.02)
    assert math.exp(law.log_contraction(0.0)(20)) == pytest.approx(5.9e-5, rel=0.1)
    assert delta_of(10 * math.sqrt(0.001**2), 0.0) == pytest.approx(0.0040, abs=5e-5)


SET = {"n": 1000, "batch_size": 100, "step_size": 0.1, "noise_std": 0.5, "lipschitz": 1.0, "diameter": 1.0, "steps": 10**6}  # fmt: skip


# above what the factor of full batches gives, which is no bound; not above an earlier program's coarser grids
@pytest.mark.parametrize(
    ("m", "M", "invalid", "coarser"),
    [
        (0.0, 0.5, 0.86548, 0.87055),
        (0.0, 1.5, 0.86548, 0.87150),
        (0.0, 1.9, 0.86548, 3.45),
        (0.02, 0.5, 0.26111, 0.39050),
        (0.1, 0.5, 0.11916, 0.19106),
    ],
)
def test_golden_epsilons_of_the_hybrid_bound(m, M, invalid, coarser):
    mechanism = MECHANISMS["noisy-sgd"](**SET, sampling="poisson", smoothness=10 * M, strong_convexity=10 * m)
    (hybrid,) = [a for a in mechanism.upper_bounds() if a.name == "hybrid"]
    assert invalid < hybrid.eps(1e-5) <= coarser


def test_golden_limits_without_convexity():
    """T = inf: (n, b, eta C / s, D / s) = (1000, 10, 0.5, 1) and (5, 1, 1, 2)."""
    for n, b, move, width, wanted in (
        (1000, 10, 0.5, 1.0, (0.0212024, 0.0107049)),
        (5, 1, 1.0, 2.0, (0.614154, 0.502725)),
    ):
        law = PoissonReach(width, 2 * move / b, n, b / n)
        assert [law.last_iterate_delta(eps, math.inf) for eps in (0, 1)] == pytest.approx(wanted, rel=5e-6)
        for eps in (0.0, 0.7):
            sizes = np.arange(n + 1)
            direct = binom.pmf(sizes, n, b / n) @ theta(eps, width + 2 * move * sizes / b)
            assert law.contraction(eps) == pytest.approx(direct, rel=1e-9)
            few_steps, delta = 4, 0.0
            others = binom.pmf(sizes[:-1], n - 1, b / n)
            t0, t1 = (others @ theta(eps, width + 2 * move * (sizes[:-1] + j) / b) for j in (0, 1))
            for _ in range(few_steps):
                delta = (1 - b / n) * t0 * delta + b / n * t1
            assert law.last_iterate_delta(eps, few_steps) == pytest.approx(delta, rel=1e-9)


def test_the_contraction_of_neighbours_is_that_of_the_slower_data_set():
    """With a record removed one run has n - 1 records, whose smaller batches pull together less."""
    setting = {"n": 3, "batch_size": 1, "step_size": 0.2, "noise_std": 1.0, "diameter": 2.0, "steps": 4}
    curved = {"sampling": "poisson", "smoothness": 4.0, "strong_convexity": 3.0}
    for relation, records in (("add-remove", (3, 2)), ("replace-one", (3,))):
        sgd = MECHANISMS["noisy-sgd"](**SET | setting, **curved, neighboring_relation=relation)
        for steps, eps in itertools.product((2, 3), (0.0, 0.3, 1.5)):
            exact = max(enumerated(sgd.width, n, sgd.q, 0.6, 0.8, steps, eps) for n in records)
            found = math.exp(sgd._convex()(eps)(steps))
            assert exact * (1 - 1e-9) <= found <= 1.1 * exact, (relation, steps, eps)
