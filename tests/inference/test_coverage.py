"""The coverage ledger: targets of wrong laws, verdicts, the metrics, and a small run through the store."""

import math

import numpy as np
import pytest

from dpexp.algorithms.covering import efficient_errors
from dpexp.algorithms.staged_newton_coverage import StagedNewton
from dpexp.data.public_inputs import PublicInputs
from dpexp.data.records import Header
from dpexp.data.regression import Roles, units_of
from dpexp.engine.linear.linear_pass import draw_users
from dpexp.inference.models import model_of, unit_model
from dpexp.inference.refusals import of_steepness
from dpexp.inference.rehearsals import least_records, simulated
from dpexp.inference.simulated import Simulated, can_hold_rows, person_rows
from dpexp.inference.targets import target_of
from dpexp.inference.user_blocks import noise_of
from dpexp.papers.inference.coverage import verdict
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems.linear_losses import HuberLinear, MallowsLogistic


@pytest.mark.parametrize(
    ("errors", "scale"),
    [({"law": "t", "df": 3, "scale": 2}, 2.378375), ({"sd": 2, "heteroscedastic": (0.5, 0.5)}, 1.598413)],
)
def test_targets_of_wrong_laws(errors, scale):
    """Section 5; its third row comes from two million draws."""
    theta = target_of(huber(5, errors=errors)).theta
    assert theta[:-1] == pytest.approx(np.ones(6), abs=5e-5)
    assert theta[-1] == pytest.approx(scale, abs=2e-4)


@pytest.mark.parametrize(
    "law",
    [
        {"bend": 0.7},
        {"design": {"sd": 0.6, "correlation": {"exchangeable": 0.5}}},
        {"coefficients": (1.0, 2.0, -2.0, 1.0)},
        {"design": {"columns": ({"sd": 0.6, "times": 2}, {"law": "bernoulli", "p": 0.05, "low": -0.6, "high": 0.6})}},
    ],
)
def test_the_target_is_where_the_mean_gradient_is_zero(law):
    """By simulation, for every law; other points are rejected. H and S are those of the records too."""
    problem, n = huber(2 if "bend" in law else 3, **law), 400_000
    target = target_of(problem)
    x, y = draw_users(problem.model(), n, 3)
    g = problem.gradient(target.theta, x, y)
    assert np.all(np.abs(g.mean(0)) < 4.5 * g.std(0) / math.sqrt(n))
    assert target.scores == pytest.approx(g.T @ g / n, abs=0.01)
    assert target.hessian == pytest.approx(
        model_of(problem).hessian_sum(target.theta, x, y, np.full(n, 1 / n)), abs=0.01
    )
    g = problem.gradient(target.theta + 0.2, x, y)
    assert np.any(np.abs(g.mean(0)) > 10 * g.std(0) / math.sqrt(n))


def huber(d, sigma=1.0, **law):
    errors = {} if "errors" in law else {"sigma": sigma}
    return HuberLinear(population={"d": d} | law, **errors)


def test_persons_hold_rows_that_depend_on_each_other():
    """Rows have the law of single ones; S is that of means over a person's rows, and smaller by what they share."""
    problem = HuberLinear(d=2, sigma=1.0)
    (x, y, owners), other = person_rows(problem, 3, range(2), 60_000)
    assert len(other[0]) != len(x)
    held = np.bincount(owners)
    assert (np.diff(owners) >= 0).all()
    assert held.min() == 1
    assert held.mean() == pytest.approx(3, abs=0.03)
    assert held.var() == pytest.approx(2, abs=0.06)
    e = y - 1 - x.sum(axis=1)
    first = np.flatnonzero(np.diff(owners, prepend=-1))[held > 1]
    for values in (x[:, 0], e):
        assert values.mean() == pytest.approx(0, abs=0.02)
        assert values.std() == pytest.approx(1, abs=0.02)
        assert np.corrcoef(values[first], values[first + 1])[0, 1] == pytest.approx(0.5, abs=0.02)
    single, persons = target_of(problem), target_of(problem, persons=True)
    assert (persons.theta == single.theta).all()
    assert (persons.hessian == single.hessian).all()
    g = problem.gradient(single.theta, np.concatenate([np.ones((len(y), 1)), x], axis=1), y)
    sums = np.zeros((len(held), problem.p))
    np.add.at(sums, owners, g)
    means = sums / held[:, None]
    assert persons.scores == pytest.approx(means.T @ means / len(held), abs=0.004)
    assert np.all(np.diag(persons.scores) < 0.8 * np.diag(single.scores))


def test_budgets_rise_with_the_outcome():
    """Users below the centre have half of the budget, half of the users; all messages weigh the same."""
    problem = HuberLinear(d=2)
    model = model_of(problem)
    users = Simulated(model, problem, ConstantBudget(mu=2.0), 7, range(8), False, True).block(900, 0, 5)
    assert (users.inverse_mu == np.where(users.y < 1, 1.0, 0.5)).all()
    assert np.mean(users.y < 1) == pytest.approx(0.5, abs=0.02)
    assert (users.v == 1).all()
    rising = StagedNewton(weights="rising")
    assert noise_of(model, rising.budgets(ConstantBudget(mu=2.0)), True).gradients == pytest.approx((0.25 + 1) / 2)
    for problem in (MallowsLogistic(d=2), HuberLinear(d=2, scale="known")):
        assert rising.complaints(problem, None, ConstantBudget(mu=2.0), 10_000)


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
    single = ("intercept", "slopes", "last")
    row = {"single": single} | {f"covered_{name}": value for name, value in zip(single, coverages, strict=True)}
    assert verdict(row, replicates) == wanted


def test_the_efficient_error_is_that_of_noisy_newton_steps():
    """By simulation: theta* - H^-1 times means of scores, each with noise of deviation Delta / mu; and a wrong mu."""
    model, n, mu = model_of(HuberLinear(d=2, sensitivity="exact")), 50, 1.7
    target, rng = target_of(model.problem), np.random.default_rng(8)
    draws = 20_000
    scores = rng.standard_normal((draws, model.p)) @ np.linalg.cholesky(target.scores / n).T
    noise = model.gradient_sensitivity / mu * rng.standard_normal((draws, model.p)) / math.sqrt(n)
    errors = np.std(np.linalg.solve(target.hessian, (scores + noise).T), axis=1)
    assert efficient_errors(model, target, 1 / mu**2, n) == pytest.approx(errors, rel=0.03)
    assert np.all(efficient_errors(model, target, 1.0, n) > 1.1 * errors)


@pytest.mark.parametrize(("steep", "refused"), [(2.5, False), (2.7, True)])
def test_a_local_fit_of_steep_log_odds_is_refused(steep, refused):
    """Where intervals were measured that do not hold; noise alone does not make log-odds steep."""
    model, noisy = unit_model("mallows-logistic", 3), np.diag([0.0, 1e3, 1e3, 1e3])
    theta = np.array([0.0, steep, -steep, steep / 2])
    theta[1:] *= math.sqrt(3) / np.linalg.norm([1, -1, 0.5])
    assert bool(of_steepness(model, theta, 1e-4 * np.eye(4))) == refused
    assert of_steepness(model, 20 * theta, 1e4 * noisy) == ()
    assert of_steepness(unit_model("huber-linear", 3), np.append(20 * theta, 1.0), np.eye(5)) == ()


@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_tables_of_a_plan_have_the_stated_shares(spread):
    """Of a category, whose other levels share the rest, and of the target, however far columns move its log odds."""
    shares = {"y": {"yes": 0.2}, "g": {"a": 0.5}}
    public = PublicInputs(categories={"y": ("no", "yes"), "g": ("a", "b", "c")}, shares=shares, log_odds_sd=spread)
    units = units_of(Header(dict.fromkeys("gdefhy", "unknown")), Roles("y"), public, True)
    x, y = simulated(units, public, 100_000, np.random.default_rng(1))
    assert y.mean() == pytest.approx(0.2, abs=0.05)
    levels = [column for column in x.T if len(np.unique(column)) == 2]
    assert [np.mean(column > column.mean()) for column in levels] == pytest.approx([0.25, 0.25], abs=0.01)


@pytest.mark.parametrize("start", [100, 5000, 3_000_000])
@pytest.mark.parametrize("needed", [1, 137, 1000, 1013, 78_000])
def test_the_number_of_records_of_a_plan_is_the_least_to_a_tenth_or_so(needed, start):
    """Two digits, rounded; never less than were ever tried, and none where no number would do."""
    found, fewest = least_records(lambda n: n >= needed, start, 100), 100
    assert 0.95 * max(needed, fewest) <= found <= 1.2 * max(needed, fewest)
    assert least_records(lambda n: False, start, fewest) is None


def test_persons_are_simulated_whose_errors_are_alike():
    plain = {"law": "normal", "sd": 1.0}
    for errors, known in ((plain, True), (plain | {"heteroscedastic": (0.5, 0.5)}, False)):
        assert can_hold_rows(HuberLinear(population={"d": 2, "errors": errors})) == known
