"""The methods of `dpexp fit`: a local one, a central one, and those that plug-ins bring.

A plug-in's method is a `dpexp.algorithms.covering.Covering` with `estimate`. What a fit by it spends is what the
method's own mechanism states: dpexp checks that this is no more than the budget, and says whose statement it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpexp.commands.fit_request import METHODS, Request, number
from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.inference.fitting import (
    FEWEST_TO_COMPUTE,
    Fitted,
    Planned,
    fit_central,
    fit_local,
    plan_central,
    plan_local,
)
from dpexp.inference.intervals import Release
from dpexp.inference.models import Model
from dpexp.inference.pure_messages import pure
from dpexp.inference.refusals import Checked, Reason
from dpexp.inference.user_blocks import DrawNormals
from dpexp.privacy.cap import MOST_EPS, gaussian_mu

if TYPE_CHECKING:
    from dpexp.algorithms.covering import Covering

ROUNDING = 1e-9
"""by which a stated budget may exceed the one of the fit"""
MANY = 10**9
"""records, with which a method is refused for other reasons than their number"""


class Method(Protocol):
    """How a fit is planned and made."""

    def plan(self, model: Model, mu: np.ndarray, n: int) -> tuple[Planned, np.ndarray]:
        """The plan of n records or persons, and their budgets in Gaussian DP [n], or one for all."""

    def fit(
        self, planned: Planned, x: np.ndarray, y: np.ndarray, mu: np.ndarray, normals: DrawNormals,
        owners: np.ndarray | None = None,
    ) -> Fitted:  # fmt: skip
        """The fit of rows x [rows, d], y [rows]; arguments are those of `fitting.fit_local`."""

    def fewest(self, model: Model) -> float:
        """Records below which `--untested` does not go."""


@dataclass(frozen=True)
class Local:
    """`staged-newton`; with --eps messages are eps-differentially private.

    Without --delta they always are, and with it where they are less noisy than Gaussian ones, which is public. A very
    large epsilon, which protects nobody, is Gaussian.
    """

    eps: float | None
    has_delta: bool
    equal: bool

    def plan(self, model: Model, mu: np.ndarray, n: int) -> tuple[Planned, np.ndarray]:
        if self.eps is not None and self.eps <= MOST_EPS:
            # both are private as asked, and the plan knows which is less noisy
            caps = pure(model, self.eps)
            if not self.has_delta or (caps.gradient_noise <= model.gradient_noise / mu[0]).all():
                model, mu = caps, np.full(len(mu), gaussian_mu(self.eps))
        return plan_local(model, mu, n, self.equal), mu

    def fit(
        self, planned: Planned, x: np.ndarray, y: np.ndarray, mu: np.ndarray, normals: DrawNormals,
        owners: np.ndarray | None = None,
    ) -> Fitted:  # fmt: skip
        return fit_local(planned, x, y, np.resize(mu, planned.n), normals, owners)

    def fewest(self, model: Model) -> float:
        return FEWEST_TO_COMPUTE


class Central:
    """`central-newton`."""

    def plan(self, model: Model, mu: np.ndarray, n: int) -> tuple[Planned, np.ndarray]:
        return plan_central(model, n), mu

    def fit(
        self, planned: Planned, x: np.ndarray, y: np.ndarray, mu: np.ndarray, normals: DrawNormals,
        owners: np.ndarray | None = None,
    ) -> Fitted:  # fmt: skip
        return fit_central(planned, x, y, float(mu[0]), normals, owners)

    def fewest(self, model: Model) -> float:
        return model.p + 1


@dataclass(frozen=True)
class PluginMethod:
    """A method of a plug-in."""

    name: str
    algorithm: Covering
    source: str
    """file:line of the plug-in"""

    def plan(self, model: Model, mu: np.ndarray, n: int) -> tuple[Planned, np.ndarray]:
        """Raises UsageError for a model that the method refuses, and where its mechanism states no such budget."""
        if not isinstance(model.problem, self.algorithm.runs_on):
            names = ", ".join(kind.__name__ for kind in self.algorithm.runs_on)
            raise self._fault(f"does not take the model {model.problem.name}", f"its `runs_on`: {names}")
        if complaints := self._complaints(model, mu, MANY):
            raise self._fault(f"refuses: {complaints[0]}")
        reasons = tuple(Reason(self.name, text) for text in self._complaints(model, mu, n))
        central, analysis = self._stated(model, float(mu[0]), MANY if reasons else n)
        by = f"{analysis} of {self.name} ({self.source})"
        return Planned(model, n, Checked({}, reasons), central=central, stated_by=by), mu

    def _complaints(self, model: Model, mu: np.ndarray, n: int) -> list[str]:
        from dpexp.algorithms.schedules import Prescribed
        from dpexp.privacy.budgets import ConstantBudget

        return self.algorithm.complaints(model.problem, Prescribed(), ConstantBudget(mu=float(mu[0])), n)

    def _stated(self, model: Model, mu: float, n: int) -> tuple[bool, str]:
        """Whether an owner adds the noise, and which analysis states mu. Raises UsageError where none does."""
        from dpexp.algorithms.schedules import Prescribed
        from dpexp.privacy.analyses.analysis import ALL
        from dpexp.privacy.budgets import ConstantBudget
        from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
        from dpexp.privacy.mechanisms.mechanism import Stated

        released = self.algorithm.mechanism(model.problem, Prescribed(), ConstantBudget(mu=mu), n)
        central = not isinstance(released, LocalGaussian)
        if math.isinf(mu):
            return central, "no privacy"
        if released.neighboring_relation != "replace-one":
            raise self._fault(f"states privacy for {released.neighboring_relation}; n of a fit is public: replace-one")
        bounds = {one.mu: one.name for one in released.upper_bounds() if one.valid and one.released == ALL and one.mu}
        if not bounds or (isinstance(released, Stated) and not released.valid):
            raise self._fault("has a mechanism without a valid statement of mu", "fits add up in Gaussian DP")
        if (least := min(bounds)) > mu * (1 + ROUNDING):
            raise self._fault(f"has a mechanism that states mu = {least:g}, and the budget of the fit is mu = {mu:g}")
        return central, bounds[least]

    def fit(
        self, planned: Planned, x: np.ndarray, y: np.ndarray, mu: np.ndarray, normals: DrawNormals,
        owners: np.ndarray | None = None,
    ) -> Fitted:  # fmt: skip
        from dpexp.privacy.budgets import ConstantBudget

        # a record that cannot be read counts as one at the centre, so that the method sees all n, which are public
        p, n = planned.model.p, planned.n
        rows, responses, places = np.zeros((n, x.shape[1])), np.zeros(n), np.arange(n) if owners is None else owners
        rows[places], responses[places] = x, y
        budget = ConstantBudget(mu=float(mu[0]))
        theta, covariance = map(np.asarray, self.algorithm.estimate(planned.model, rows, responses, budget, normals))
        if theta.shape != (p,) or covariance.shape != (p, p):
            shapes = f"{list(theta.shape)} and {list(covariance.shape)}"
            raise self._fault(f"returns an estimate of shapes {shapes}, not [{p}] and [{p}, {p}]")
        fine = np.isfinite(theta).all() and np.isfinite(covariance).all() and (np.diag(covariance) >= 0).all()
        reasons = () if fine else (Reason("diverged", "estimates are not finite, or variances are negative"),)
        # a release whose Hessian is known: its sandwich is the covariance, and its intervals are Wald's
        release = Release(theta, np.zeros(p), covariance, np.eye(p), 0.0, np.ones(p))
        return Fitted(theta, Checked({}, reasons), release)

    def fewest(self, model: Model) -> float:
        return math.inf

    def _fault(self, what: str, hint: str = "docs page extending, section 'A method of a fit'") -> UsageError:
        return UsageError(f"{self.source}: {self.name} {what}", hint)


def method_of(request: Request) -> Method:
    """Raises UsageError for a name that no plug-in brings, or whose class has no `estimate`."""
    name = request.method_name
    if name == "central-newton":
        return Central()
    if name == "staged-newton":
        eps = None if request.eps is None else number("--eps", request.eps, 0, math.inf)
        return Local(eps, request.delta is not None, request.weights == "equal")
    from dpexp.algorithms import ALGORITHMS
    from dpexp.algorithms.covering import Covering

    names = [*METHODS, *(key for key in ALGORITHMS.sources if issubclass(ALGORITHMS[key], Covering))]
    if name not in names:
        raise UsageError(f"no method {name!r}", f"{guess(name, names)}methods: {', '.join(names)}; --plugin adds more")
    algorithm = ALGORITHMS[name].model_validate({})
    assert isinstance(algorithm, Covering)
    method = PluginMethod(name, algorithm, ALGORITHMS.source(name))
    if type(algorithm).estimate is Covering.estimate:
        raise method._fault("has no `estimate`: it knows simulated users alone")
    return method
