"""Runs of the coverage algorithms are the fits of the command, number by number, and state what their messages cost."""

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from dpexp.accounting.gaussian import eps_of
from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.central_newton_coverage import CentralNewton
from dpexp.algorithms.covering import Covering, Estimate, Trial
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.algorithms.staged_newton_coverage import StagedNewton
from dpexp.core.seeds import generator
from dpexp.engine.linear.linear_pass import UserStream
from dpexp.inference.fitting import fit_central, fit_local, of_outcome, plan_central, plan_local
from dpexp.inference.intervals import intervals
from dpexp.inference.models import model_of, unit_model
from dpexp.inference.simulated import Simulated, lanes_of, person_rows
from dpexp.inference.staged_newton import staged_newton
from dpexp.privacy.budgets import ConstantBudget, PureBudget
from dpexp.problems.linear_losses import HuberLinear


@pytest.mark.parametrize(
    ("algorithm", "budget", "eps"),
    [("central-newton", ConstantBudget(mu=1.5), eps_of(1.5, 1e-5)), ("staged-newton", PureBudget(eps=4.0), 4.0)],
)
def test_the_statement_of_a_run_is_that_of_its_messages(algorithm, budget, eps):
    """All shares of mu^2 of an owner; delta = 0 of a pure budget."""
    one, pure = ALGORITHMS[algorithm](), budget.pure_eps is not None
    mechanism = one.mechanism(HuberLinear(d=5, sensitivity="exact"), SCHEDULES["prescribed"](), budget, 20_000)
    assert mechanism.row((1e-5,))["eps_1e-05"] == pytest.approx(eps, rel=1e-5)
    assert mechanism.analysis.at((0.0,))[0] == (pytest.approx(4.0, rel=1e-6) if pure else math.inf)
    assert math.isnan(mechanism.row((1e-5,))["noise_multiplier"])


@pytest.mark.parametrize("algorithm", ["central-newton", "staged-newton", "caps"])
def test_runs_are_those_of_fit(algorithm):
    """The same numbers from one record table, by the functions that the command calls."""
    problem, n = HuberLinear(d=2, sigma=1.0, sigma_z=1 / 2**0.5, sensitivity="exact"), 1500
    budget = PureBudget(eps=3.0) if algorithm == "caps" else ConstantBudget(mu=3.0)
    one = CentralNewton() if algorithm == "central-newton" else StagedNewton()
    model = one.model(problem, budget)
    alike = model_of(HuberLinear(**problem.model_dump()))
    assert replace(alike, stretched=True, scale_row=model.scale_row) == unit_model("huber-linear", 2)
    (seen,) = one.intervals(model, Trial(problem, n, 7, [0, 1, 2]), None, budget)
    for lane in range(3):
        crowd = UserStream(problem.model(), 7, lanes_of(range(3)))
        noise = generator(7, lane, "noise").standard_normal
        if algorithm == "central-newton":
            x, y, _ = crowd.take(n)
            found = fit_central(plan_central(unit_model("huber-linear", 2), n), x[..., lane], y[:, lane], 3.0, noise)
        elif algorithm == "caps":
            x, y, _ = crowd.take(n)
            found = fit_local(plan_local(model, np.ones(n), n), x[..., lane], y[:, lane], np.ones(n), noise)
        else:
            planned = plan_local(unit_model("huber-linear", 2), np.array([3.0]), n)
            users = Simulated(planned.model, problem, budget, 7, range(3))
            outcome = staged_newton(planned.model, planned.design, problem.start(), users)
            found = of_outcome(planned, planned.design, outcome, lane)
        assert (seen.estimate[lane] == found.theta).all()
        each, _ = intervals(found.release, found.theta, np.eye(4), 0.95)
        assert [bool(one) for one in seen.wald[lane]] == [i.kind == "wald" for i in each]


@pytest.mark.parametrize("budget", [ConstantBudget(mu=3.0), PureBudget(eps=3.0)])
def test_persons_of_a_run_are_those_of_fit(budget):
    """Everybody sends one message, the mean over their rows; it is not the fit of as many persons with one row each."""
    problem, n = HuberLinear(d=2, sigma=1.0, sigma_z=1 / 2**0.5, sensitivity="exact"), 1500
    one = StagedNewton(persons=True)
    model = one.model(problem, budget)
    (seen,) = one.intervals(model, Trial(problem, n, 7, [0, 1], persons=True), None, budget)
    planned = plan_local(model, np.array([3.0]), n)
    for lane in range(2):
        noise = generator(7, lane, "noise").standard_normal
        x, y, owners = person_rows(problem, 7, range(2), n)[lane]
        mu = np.full(n, 3.0 if budget.pure_eps is None else 1.0)
        assert (seen.estimate[lane] == fit_local(planned, x, y, mu, noise, owners).theta).all()
    (other,) = one.intervals(model, Trial(problem, n, 7, [0, 1]), None, budget)
    assert (other.estimate != seen.estimate).all()


class LeastSquares(Covering):
    name: Literal["least-squares"] = "least-squares"

    def estimate(self, model, x, y, budget, normals):
        rows = np.column_stack([np.ones(len(y)), x])
        inverse = np.linalg.inv(rows.T @ rows)
        return Estimate(inverse @ rows.T @ y, 4 * inverse)


def test_a_method_that_estimates_has_walds_intervals_in_lanes():
    trial = Trial(HuberLinear(d=2), 500, 7, [0, 1, 2])
    (lanes,) = LeastSquares().intervals(None, trial, None, None)
    for lane, (x, y, _) in enumerate(trial.tables):
        theta, covariance = LeastSquares().estimate(None, x, y, None, None)
        assert lanes.estimate[lane] == pytest.approx(theta)
        assert lanes.high[lane] - theta == pytest.approx(1.959964 * np.sqrt(covariance.diagonal()), rel=1e-6)
    assert (lanes.estimate[3:] == lanes.estimate[2]).all()
