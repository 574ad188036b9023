"""The methods of `dpexp fit`: a local one, a central one, and those that plug-ins bring.

A plug-in's method is a `dpexp.algorithms.covering.Covering` with `estimate`. What a fit by it spends is what the
method's own mechanism states: dpexp checks that this is no more than the budget, and says whose statement it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.commands.fit_request import METHODS, Request, number
from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.inference.fitting import FEWEST_TO_COMPUTE, Fitted, Planned, fit_central, fit_local, plan_central, plan_local
from dpexp.inference.intervals import Release
from dpexp.inference.models import Model
from dpexp.inference.pure_messages import pure
from dpexp.inference.refusals import Checked, Reason
from dpexp.inference.rehearsals import Fit
from dpexp.inference.user_blocks import DrawNormals
from dpexp.privacy.analyses.analysis import ALL
from dpexp.privacy.cap import MOST_EPS, gaussian_mu
from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
from dpexp.privacy.mechanisms.mechanism import Stated

if TYPE_CHECKING:
    from dpexp.algorithms.covering import Covering

ROUNDING = 1e-9
"""by which a stated budget may exceed the one of the fit"""
MANY = 10**9
"""records, with which a method is refused for other reasons than their number"""


class Method(NamedTuple):
    """How a fit is planned and made."""

    plan: Callable[[Model, np.ndarray, int], tuple[Planned, np.ndarray]]
    """of a model, budgets [n], or one for all, and n: the plan, and the budgets in Gaussian DP"""
    fit: Fit
    fewest: Callable[[Model], float]
    """records below which `--untested` does not go"""


def method_of(request: Request) -> Method:
    """Raises UsageError for a name that no plug-in brings, or whose class has no `estimate`."""
    if request.method_name == "central-newton":
        return Method(lambda model, mu, n: (plan_central(model, n), mu), fit_central, lambda model: model.p + 1)
    if request.method_name == "staged-newton":
        return Method(_local_plan(request), fit_local, lambda model: FEWEST_TO_COMPUTE)
    method = _plugin_method(request.method_name)
    return Method(method.plan, method.fit, lambda model: math.inf)


def _local_plan(request: Request) -> Callable[[Model, np.ndarray, int], tuple[Planned, np.ndarray]]:
    """With --eps messages are eps-differentially private: without --delta always, and with it where they are less noisy
    than Gaussian ones, which is public. A very large epsilon is no protection, and Gaussian."""
    eps = math.inf if request.eps is None else number("--eps", request.eps, 0, math.inf)

    def plan(model: Model, mu: np.ndarray, n: int) -> tuple[Planned, np.ndarray]:
        if eps <= MOST_EPS:
            caps = pure(model, eps)
            if request.delta is None or (caps.gradient_noise <= model.gradient_noise / mu[0]).all():
                model, mu = caps, np.full(len(mu), gaussian_mu(eps))
        return plan_local(model, mu, n, request.weights == "equal"), mu

    return plan


def _plugin_method(name: str) -> PluginMethod:
    from dpexp.algorithms import ALGORITHMS
    from dpexp.algorithms.covering import Covering

    names = [*METHODS, *(key for key in ALGORITHMS.sources if issubclass(ALGORITHMS[key], Covering))]
    if name not in names:
        raise UsageError(f"no method {name!r}", f"{guess(name, names)}methods: {', '.join(names)}; --plugin adds more")
    algorithm = ALGORITHMS[name].model_validate({})
    assert isinstance(algorithm, Covering)
    method = PluginMethod(algorithm, ALGORITHMS.source(name))
    if type(algorithm).estimate is Covering.estimate:
        raise method.fault("has no `estimate`: it knows simulated users alone")
    return method


@dataclass(frozen=True)
class PluginMethod:
    """A method of a plug-in."""

    algorithm: Covering
    source: str
    """file:line"""

    def plan(self, model: Model, mu: np.ndarray, n: int) -> tuple[Planned, np.ndarray]:
        """Raises UsageError for a model that the method refuses, and where its mechanism states no such budget."""
        from dpexp.algorithms.schedules import Prescribed
        from dpexp.privacy.budgets import ConstantBudget

        problem, schedule, budget = model.problem, Prescribed(), ConstantBudget(mu=float(mu[0]))
        if not isinstance(problem, self.algorithm.runs_on):
            names = ", ".join(kind.__name__ for kind in self.algorithm.runs_on)
            raise self.fault(f"does not take the model {problem.name}", f"its `runs_on`: {names}")
        if complaints := self.algorithm.complaints(problem, schedule, budget, MANY):
            raise self.fault(f"refuses: {complaints[0]}")
        complaints = self.algorithm.complaints(problem, schedule, budget, n)
        released = self.algorithm.mechanism(problem, schedule, budget, MANY if complaints else n)
        if released.neighboring_relation != "replace-one":
            raise self.fault(f"states privacy for {released.neighboring_relation}; n of a fit is public: replace-one")
        bounds = {
            bound.mu: bound.name
            for bound in released.upper_bounds()
            if bound.valid and bound.released == ALL and bound.mu
        }
        analysis = "no privacy"
        if math.isfinite(budget.mu):
            if not bounds or (isinstance(released, Stated) and not released.valid):
                raise self.fault("has a mechanism without a valid statement of mu", "fits add up in Gaussian DP")
            if (least := min(bounds)) > budget.mu * (1 + ROUNDING):
                raise self.fault(f"has a mechanism that states mu = {least:g}; the budget is mu = {budget.mu:g}")
            analysis = bounds[least]
        checked = Checked({}, tuple(Reason(self.algorithm.name, text) for text in complaints))
        by = f"{self.algorithm.name}, by {analysis}, {self.source}"
        return Planned(model, n, checked, central=not isinstance(released, LocalGaussian), stated_by=by), mu

    def fit(
        self, plan: Planned, x: np.ndarray, y: np.ndarray, mu: np.ndarray, normals: DrawNormals,
        owners: np.ndarray | None = None,
    ) -> Fitted:  # fmt: skip
        """As `fitting.fit_central`. Raises UsageError where `estimate` returns other shapes."""
        from dpexp.privacy.budgets import ConstantBudget

        # a record that cannot be read counts as one at the centre, so that the method sees all n, which are public
        p, rows, responses = plan.model.p, np.zeros((plan.n, x.shape[1])), np.zeros(plan.n)
        places = slice(None) if owners is None else owners
        rows[places], responses[places] = x, y
        estimate = self.algorithm.estimate(plan.model, rows, responses, ConstantBudget(mu=float(mu[0])), normals)
        theta, covariance = map(np.asarray, estimate)
        if theta.shape != (p,) or covariance.shape != (p, p):
            shapes = f"{list(theta.shape)} and {list(covariance.shape)}"
            raise self.fault(f"returns an estimate of shapes {shapes}, not [{p}] and [{p}, {p}]")
        sound = np.isfinite(theta).all() and np.isfinite(covariance).all() and (np.diag(covariance) >= 0).all()
        reasons = () if sound else (Reason("diverged", "estimates are not finite, or variances are negative"),)
        # a release whose Hessian is known: its sandwich is the covariance, and its intervals are Wald's
        release = Release(theta, np.zeros(p), covariance, np.eye(p), 0.0, np.ones(p))
        return Fitted(theta, Checked({}, reasons), release)

    def fault(self, fault: str, hint: str = "docs page extending, section 'A method of a fit'") -> UsageError:
        """An error at the plug-in's line."""
        return UsageError(f"{self.source}: {self.algorithm.name} {fault}", hint)
