"""An estimator of a plug-in as a method of `dpexp fit`: it spends what its own mechanism states, within the budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.covering import Covering
from dpexp.algorithms.schedules import Prescribed
from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.inference.fit_document import DELTAS
from dpexp.inference.fitting import Fitted, Planned
from dpexp.inference.intervals import Release
from dpexp.inference.models import Model
from dpexp.inference.refusals import Checked, Reason
from dpexp.inference.user_blocks import DrawNormals
from dpexp.privacy.analyses.analysis import ALL, refuted, with_last_iterate
from dpexp.privacy.budgets import ConstantBudget
from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
from dpexp.privacy.mechanisms.mechanism import Stated

ROUNDING = 1e-9
"""by which a stated budget may exceed the one of the fit"""
MANY = 10**9
"""records, with which a method is refused for other reasons than their number"""


@dataclass(frozen=True)
class FitMethod:
    """A method by its name. Raises UsageError where no plug-in has it, or its class has no `estimate`."""

    name: str

    def __post_init__(self) -> None:
        names = [key for key in ALGORITHMS.sources if issubclass(ALGORITHMS[key], Covering)]
        if self.name not in names:
            known = f"{guess(self.name, names)}methods of plug-ins: {', '.join(names) or 'none'}"
            raise UsageError(f"no method {self.name!r}", f"{known}; without --method, that of --central or --local")
        if type(self.algorithm).estimate is Covering.estimate:
            raise self.fault("has no `estimate`: it knows simulated users alone")

    @property
    def algorithm(self) -> Covering:
        """The estimator, with its defaults."""
        algorithm = ALGORITHMS[self.name].model_validate({})
        assert isinstance(algorithm, Covering)
        return algorithm

    def plan(self, model: Model, mu: float, n: int) -> Planned:
        """Raises UsageError for a model that the method refuses, and where its mechanism states no such budget."""
        algorithm, problem = self.algorithm, model.problem
        if not isinstance(problem, algorithm.runs_on):
            names = ", ".join(kind.__name__ for kind in algorithm.runs_on)
            raise self.fault(f"does not take the model {problem.name}", f"its `runs_on`: {names}")
        setting = problem, Prescribed(), ConstantBudget(mu=mu)
        if complaints := algorithm.complaints(*setting, MANY):
            raise self.fault(f"refuses: {complaints[0]}")
        complaints = algorithm.complaints(*setting, n)
        released = algorithm.mechanism(*setting, MANY if complaints else n)
        if released.neighboring_relation != "replace-one":
            raise self.fault(f"states privacy for {released.neighboring_relation}; n of a fit is public: replace-one")
        if wrong := refuted(released.upper_bounds(), with_last_iterate(released.lower_bounds()), DELTAS):
            raise self.fault(f"has a mechanism whose statement does not hold: {'; '.join(wrong.values())}")
        bounds = {b.mu: b.name for b in released.upper_bounds() if b.valid and b.released == ALL and b.mu}
        analysis = "no privacy"
        if math.isfinite(mu):
            if not bounds or (isinstance(released, Stated) and not released.valid):
                raise self.fault("has a mechanism without a valid statement of mu", "fits add up in Gaussian DP")
            if (least := min(bounds)) > mu * (1 + ROUNDING):
                raise self.fault(f"has a mechanism that states mu = {least:g}; the budget is mu = {mu:g}")
            analysis = bounds[least]
        by = f"{self.name}, by {analysis}, {ALGORITHMS.source(self.name)}"
        checked = Checked({}, tuple(Reason(self.name, text) for text in complaints))
        return Planned(model, n, checked, central=not isinstance(released, LocalGaussian), stated_by=by)

    def fit(
        self, plan: Planned, x: np.ndarray, y: np.ndarray, mu: np.ndarray, normals: DrawNormals,
        owners: np.ndarray | None = None,
    ) -> Fitted:  # fmt: skip
        """As `fitting.fit_central`. Raises UsageError where `estimate` returns other shapes."""
        # a record that cannot be read counts as one at the centre, so that the method sees all n, which are public
        p, rows, responses = plan.model.p, np.zeros((plan.n, x.shape[1])), np.zeros(plan.n)
        places = slice(None) if owners is None else owners
        rows[places], responses[places] = x, y
        budget = ConstantBudget(mu=float(mu[0]))
        theta, covariance = map(np.asarray, self.algorithm.estimate(plan.model, rows, responses, budget, normals))
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
        return UsageError(f"{ALGORITHMS.source(self.name)}: {self.name} {fault}", hint)
