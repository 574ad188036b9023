"""Theorems 4 and 8 of `momentum` are stated where the printed noise is enough, and refused with what holds elsewhere."""

import math

import numpy as np
import pytest

from dpexp.accounting.gaussian import eps_of
from dpexp.config.experiment_file import read_experiment
from dpexp.config.yamlfile import ConfigError
from dpexp.privacy.mechanisms import MECHANISMS
from tests.oracles.trees import release_mu


def printed(n, steps):
    """V of Theorem 4, term by term."""
    depth, half = math.floor(math.log2(steps)), math.floor(math.log2(n))
    return (min(depth, half) + 1) * steps / n + sum(steps // 2**j for j in range(half + 1, depth + 1))


def tree(**changes):
    return MECHANISMS["tree-momentum"](
        **{"n": 1000, "steps": 1, "momentum": 0.01, "lipschitz": 1, "sigma": 1} | changes
    )


def named(mechanism, name):
    (found,) = [a for a in mechanism.upper_bounds() if a.name == name]
    return found


@pytest.mark.parametrize("seed", range(5))
def test_theorem_4_is_stated_only_where_the_covariance_of_the_release_proves_it(seed):
    rng, seen = np.random.default_rng(seed), {True: 0, False: 0}
    for _ in range(25):
        n = int(rng.integers(1, 12)) if rng.random() < 0.6 else int(rng.integers(20, 90))
        steps = int(rng.integers(1, 40))
        alpha, sigma = float(rng.choice([1.0, 0.5, 1 / n, rng.uniform(0.01, 1)])), float(rng.uniform(0.3, 3))
        mechanism = tree(n=n, steps=steps, momentum=alpha, sigma=sigma, lipschitz=1.7)
        std = 4 * alpha * 1.7 * sigma * math.sqrt(printed(n, steps))
        truth = release_mu([t % n for t in range(steps)], alpha, std, 1.7)
        theorem, exact = mechanism.upper_bounds()
        assert exact.mu == pytest.approx(truth, rel=1e-9)
        assert mechanism.lower_bounds()[0].eps(1e-5) == pytest.approx(eps_of(truth, 1e-5), rel=1e-6)
        seen[theorem.valid] += 1
        if theorem.valid:
            assert truth <= 1 / sigma * (1 + 1e-12)
        else:
            assert theorem.refused
    assert min(seen.values()) > 2


def test_a_quarter_of_an_epoch_is_what_the_theorem_needs():
    """From N / 4 steps on it is proved; with a little less and a long memory it is false, and not only unproved."""
    for n in (64, 100, 1000):
        enough = -(-n // 4)
        for steps in (enough, enough + 1, n - 1, n, n + 1, 2 * n - 1):
            theorem, exact = tree(n=n, steps=steps, momentum=2 / n).upper_bounds()
            assert theorem.valid
            assert exact.mu <= theorem.mu
        theorem, exact = tree(n=n, steps=enough // 2, momentum=1 / n).upper_bounds()
        assert not theorem.valid
        assert exact.mu > theorem.mu


def test_what_else_the_theorem_needs():
    assert tree(steps=2000).upper_bounds()[0].valid
    assert tree(steps=2000, momentum=1.0).upper_bounds()[0].valid
    assert tree(steps=0).upper_bounds()[0].valid
    assert not tree(steps=2000, momentum=1e-4).upper_bounds()[0].valid
    assert not tree(steps=2000, order="reshuffled").upper_bounds()[0].valid
    assert tree(steps=2000, order="reshuffled").lower_bounds() == []
    assert len(tree(steps=2000, order="reshuffled", calibration="exact").lower_bounds()) == 1


def test_theorem_8_counts_no_node_of_a_single_record():
    sizes = {"step_size": 0.1, "lipschitz": 1, "smoothness": 0.5, "sigma": 1}
    one = MECHANISMS["reduced-momentum"](n=1, steps=806, momentum=0.5, **sizes)
    assert named(one, "exact-sensitivities").mu == math.inf
    assert not named(one, "tree-composition").valid
    many = MECHANISMS["reduced-momentum"](n=200, steps=4000, momentum=0.005, **sizes | {"step_size": 0.01})
    assert named(many, "tree-composition").valid
    assert named(many, "exact-sensitivities").mu <= math.sqrt(3)


CONFIG = """\
experiment: short
problem:   {name: rippled-mean, N: 1000, d: 10}
algorithm: {name: NAME, order: fixed, calibration: HOW}
schedule:  {name: path-length, length: 3}
privacy:   BUDGET
run:       {n: 10, replicates: 2, seed: 1, checkpoints: 1}
"""


@pytest.mark.parametrize("budget", ["{eps: 1, delta: 1e-5}", "{mu: 0.3}"])
def test_a_config_whose_printed_noise_misses_its_budget_is_refused(budget):
    config = CONFIG.replace("NAME", "tree-momentum").replace("BUDGET", budget)
    with pytest.raises(ConfigError) as error:
        read_experiment(config.replace("HOW", "paper"), "short.yaml")
    assert "calibration: exact" in str(error.value)
    (cell,) = read_experiment(config.replace("HOW", "exact"), "short.yaml").cells
    stated = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    assert stated.analysis.mu <= cell.privacy.mu.largest
    twin = config.replace("HOW", "paper, noise: false")
    assert read_experiment(twin, "short.yaml").cells
