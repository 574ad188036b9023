"""What a run states never exceeds the target that it was calibrated to, not by a last digit."""

import dataclasses

import numpy as np
import pytest

from dpexp.accounting.gaussian import eps_of
from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.config.experiment_file import read_experiment
from dpexp.config.yamlfile import ConfigError
from dpexp.privacy.budgets import Target
from dpexp.privacy.mechanisms.langevin import LangevinRun, sigma_for
from dpexp.problems import PROBLEMS
from dpexp.problems.softmax import DataSource, Softmax

MEAN = PROBLEMS["rippled-mean"].model_validate({"N": 50, "d": 3})
CONSTANT = SCHEDULES["constant"](eta=0.1)
DESCENT = ALGORITHMS["batch-descent"]


def test_the_mu_of_a_target_spends_no_more_than_the_target():
    rng = np.random.default_rng(0)
    for _ in range(40):
        eps, delta = float(10 ** rng.uniform(-3, 1.5)), float(10 ** rng.uniform(-12, -1))
        mu = Target(eps=eps, delta=delta).constant
        assert eps_of(mu, delta) <= eps
        assert eps_of(mu * (1 + 1e-9), delta) > eps


@pytest.mark.parametrize("accountant", ["theorem-3-1", "published"])
def test_printed_accountants_state_no_more_than_the_target(accountant):
    rng = np.random.default_rng(1)
    for _ in range(200):
        steps, eta = int(rng.integers(1, 5000)), float(rng.uniform(0.01, 0.5))
        run = LangevinRun(
            n=10_000, batch_size=100, sampling="fixed-size", steps=steps, lipschitz=1.4, smoothness=0.6,
            strong_convexity=float(10 ** rng.uniform(-5, -2)), diameter=10.0, largest_step=eta,
            total_step=eta * steps, total_of_epochs=eta * max(1, steps // 100), groups=((1.0, steps),), accountant=accountant,
        )  # fmt: skip
        eps = float(10 ** rng.uniform(-1, 1))
        sigma = sigma_for(run, eps, 1e-5)
        assert dataclasses.replace(run, sigma=sigma).analysis.eps(1e-5) <= eps
        assert dataclasses.replace(run, sigma=sigma * (1 - 1e-9)).analysis.eps(1e-5) > eps


@pytest.mark.parametrize("regulariser", [1e-5, 1e-3])
def test_what_is_stored_of_dp_sgld_is_at_most_its_target(regulariser):
    """The setting of the stored table whose statement was 1.0000000013 for a target of 1."""
    problem = Softmax(data=DataSource(name="fashion"), regulariser=regulariser)
    algorithm = ALGORITHMS["dp-sgld"](batch_size=250, sampling="fixed-size", accountant="pld")
    budget, schedule = Target(eps=1.0, delta=1e-5), SCHEDULES["langevin"]()
    mechanism = algorithm.mechanism(problem, schedule, budget, algorithm.steps(problem, schedule, budget))
    assert 1 - 1e-6 < mechanism.row([1e-5])["eps_1e-05"] <= 1
    less = dataclasses.replace(mechanism, sigma=mechanism.sigma * (1 - 1e-4))
    assert less.row([1e-5])["eps_1e-05"] > 1


@pytest.mark.parametrize("rate", [1.0, 0.2])
def test_batch_descent_spends_no_more_than_its_target(rate):
    rng = np.random.default_rng(2)
    for _ in range(40 if rate == 1 else 3):
        eps, delta, steps = float(rng.uniform(0.2, 8)), float(10 ** rng.uniform(-8, -3)), int(rng.integers(2, 60))
        released = DESCENT(sampling_rate=rate).mechanism(MEAN, CONSTANT, Target(eps=eps, delta=delta), steps)
        assert eps * (1 - 1e-4) < released.row([delta])[f"eps_{delta:g}"] <= eps


CONFIG = """\
experiment: sampled
problem: {name: rippled-mean, N: 50, d: 3}
algorithm: {name: batch-descent, sampling_rate: 0.1, epochs: 3}
schedule: {name: constant, eta: 0.1}
privacy: {mu: 1}
"""


def test_poisson_samples_on_a_budget_mu_are_refused_at_their_line():
    """Accounted at delta = 1e-5, the run spends more than 1-GDP at other deltas."""
    with pytest.raises(ConfigError) as error:
        read_experiment(CONFIG, "sampled.yaml")
    (issue,) = error.value.issues
    assert issue.where.line == 3
    assert "not mu-GDP" in str(issue)
    assert "eps: 1, delta: 1e-5" in str(issue)
    for other in ("{mu: inf}", "{eps: 1, delta: 1e-5}"):
        assert read_experiment(CONFIG.replace("{mu: 1}", other), "sampled.yaml").cells
    assert read_experiment(CONFIG.replace("sampling_rate: 0.1, ", ""), "sampled.yaml").cells
    accounted = DESCENT(sampling_rate=0.1).mechanism(MEAN, CONSTANT, Target(eps=eps_of(1.0, 1e-5), delta=1e-5), 30)
    assert accounted.analysis.eps(1e-9) > 1.01 * eps_of(1.0, 1e-9)  # which is why
