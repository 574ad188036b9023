"""The coverage ledger: targets of wrong laws, verdicts, the metrics, and a small run through the store."""

import math

import numpy as np
import pytest

from dpexp.algorithms.covering import METRICS, efficient_errors, measured
from dpexp.config.experiment_file import read_experiment
from dpexp.config.yamlfile import ConfigError
from dpexp.inference.methods import symmetric_interval
from dpexp.inference.models import model_of
from dpexp.inference.populations import Population
from dpexp.inference.predicted import noise_of
from dpexp.inference.targets import target_of
from dpexp.papers.inference.coverage import verdict
from dpexp.problems.huber_linear import HuberLinear


@pytest.mark.parametrize(
    ("errors", "intercept", "scale"),
    [("student", 1, 2.378375), ("exponential", 0.681142, 1.480424), ("heteroscedastic", 1, 1.598413)],
)
def test_targets_of_wrong_laws(errors, intercept, scale):
    """Section 5; its third row comes from two million draws."""
    found = target_of(model_of(HuberLinear(d=5)), Population(5, errors=errors)).theta
    assert found[0] == pytest.approx(intercept, abs=5e-5)
    assert found[1:-1] == pytest.approx(np.ones(5))
    assert found[-1] == pytest.approx(scale, abs=2e-4)


def test_the_target_is_where_the_mean_gradient_is_zero():
    """By simulation, for every law; the true coefficients of a bent mean are rejected."""
    model, rng, n = model_of(HuberLinear(d=3)), np.random.default_rng(1), 400_000
    for law in (Population(3, errors="exponential"), Population(3, bend=0.7), Population(3, rho=0.5)):
        z, y = law.records(rng.standard_normal((n, law.normals)), np.zeros(n))
        x = np.concatenate([np.ones((n, 1)), z], axis=1)
        g = model.problem.gradient(target_of(model, law).theta, x, y)
        assert np.all(np.abs(g.mean(0)) < 4.5 * g.std(0) / math.sqrt(n))
    law = Population(3, bend=0.7)
    z, y = law.records(rng.standard_normal((n, law.normals)), np.zeros(n))
    g = model.problem.gradient(model.problem.optimum(), np.concatenate([np.ones((n, 1)), z], axis=1), y)
    assert np.any(np.abs(g.mean(0)) > 10 * g.std(0) / math.sqrt(n))


@pytest.mark.parametrize(
    ("coverages", "replicates", "wanted"),
    [
        ((0.95, 0.95, 0.95), 1000, "holds"),
        ((0.95, 0.95, 0.92), 1000, "fails"),
        ((0.95, 0.95, 0.92), 100, "holds"),
        ((0.99, 0.95, 0.95), 1000, "conservative"),
        ((0.99, 0.95, 0.80), 1000, "fails"),
    ],
)
def test_verdicts(coverages, replicates, wanted):
    single = ("intercept", "slope_1", "last")
    row = {"single": single} | {f"covered_{name}": value for name, value in zip(single, coverages, strict=True)}
    assert verdict(row, "covered", replicates) == wanted


def test_the_efficient_error_is_that_of_noisy_newton_steps():
    """By simulation: theta* - H^-1 times means of scores, each with noise of deviation Delta / mu; and a wrong mu."""
    model, n, mu = model_of(HuberLinear(d=2, sensitivity="exact")), 50, 1.7
    target, rng = target_of(model, Population(2)), np.random.default_rng(8)
    draws = 20_000
    scores = rng.standard_normal((draws, model.p)) @ np.linalg.cholesky(target.scores / n).T
    noise = model.gradient_sensitivity / mu * rng.standard_normal((draws, model.p)) / math.sqrt(n)
    errors = np.std(np.linalg.solve(target.hessian, (scores + noise).T), axis=1)
    assert efficient_errors(model, target, 1 / mu**2, n) == pytest.approx(errors, rel=0.03)
    assert np.all(efficient_errors(model, target, 1.0, n) > 1.1 * errors)


def test_an_interval_of_the_efficient_length_has_length_one():
    model = model_of(HuberLinear(d=2, sensitivity="exact"))
    target = target_of(model, Population(2))
    bound = efficient_errors(model, target, noise_of(model, np.array([2.0])).gradients, 1000)
    off = np.tile([0.0, 3.0, -3.0, 0.0], (8, 1)) * bound
    interval = symmetric_interval(target.theta + off, np.tile(1.959963985 * bound, (8, 1)))
    values = dict(zip(METRICS, measured(interval, np.arange(8) < 3, target.theta, bound, 0.95, 2)[:, 0], strict=True))
    assert values["length_over_bound_slopes"] == pytest.approx(1)
    assert (values["covered_intercept"], values["covered_slopes"], values["covered_last"]) == (1, 0, 1)
    assert values["error_over_bound_first_slope"] == pytest.approx(3)
    assert values["error_over_bound_slopes"] == pytest.approx(0)
    assert values["covered_accepted_intercept"] == 1


@pytest.mark.parametrize(
    ("algorithm", "problem", "message"),
    [
        ("{name: staged-newton, errors: student}", "mallows-logistic", "a right model only"),
        ("{name: staged-newton, errors: student, rho: 0.5}", "huber-linear", "not for both"),
        ("{name: staged-newton}", "pinball", "does not run on"),
    ],
)
def test_laws_without_a_known_target_are_refused(algorithm, problem, message):
    text = (
        f"experiment: e\nproblem: {{name: {problem}}}\nalgorithm: {algorithm}\nschedule: {{name: prescribed}}\n"
        "privacy: {mu: 1}\nrun: {n: 5000, replicates: 2}\n"
    )
    with pytest.raises(ConfigError) as caught:
        read_experiment(text, "e.yaml")
    assert message in str(caught.value) or "pinball" in str(caught.value)
