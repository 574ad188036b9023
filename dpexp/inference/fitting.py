"""One fit of a user's own records, in the local or in the central model: public numbers first, then the data.

Columns that cannot be separated have unbounded intervals (`intervals`). A fit is refused where so few records were
never tried, and a fit that did not converge has no intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpexp.inference.central_newton import central_newton
from dpexp.inference.intervals import Release
from dpexp.inference.messages import symmetric
from dpexp.inference.models import Model, careful
from dpexp.inference.newton import mean_hessian
from dpexp.inference.pure_messages import PureModel, PureServer
from dpexp.inference.refusals import (
    FEWEST,
    FEWEST_CENTRAL,
    MOST_THROWN,
    Checked,
    Reason,
    after,
    of_arrival,
    of_guess,
    of_skewness,
    too_few,
    two_digits,
)
from dpexp.inference.staged_newton import SHARES, Design, StagedFit, guessed_curvature, staged_newton
from dpexp.inference.user_blocks import DrawNormals, TableUsers, noise_of

EVERY, SURE = (3, 5), 6.0
"""every so manieth user of the local model sends a Hessian: the second where it is then measured to so many standard
errors in the direction that is guessed to be flattest, else the first. Fewer Hessians would be shorter by a tenth at
most if the guess is right, and curvature in a direction that is flatter than it would never be known"""


@dataclass(frozen=True)
class Planned:
    """What is known before any data are read."""

    model: Model
    n: int
    checked: Checked
    every: int = 0
    """local: every k-th user sends a Hessian"""
    equal: bool = False
    """local: whether all messages weigh the same, so that budgets may depend on the data"""
    central: bool = False
    """whether an owner of all records adds the noise, and no record sends a message of its own"""
    stated_by: str = ""
    """whose method and statement of privacy it is, where not dpexp's"""

    @property
    def design(self) -> Design:
        """Of the local model."""
        return Design(self.n, guessed_curvature(self.model), self.every)


@dataclass(frozen=True)
class Fitted:
    """A fit in the units of the computation."""

    theta: np.ndarray
    """[p]"""
    checked: Checked
    release: Release
    """from which intervals follow, coordinate by coordinate"""


def plan_local(model: Model, mu: np.ndarray, n: int, equal: bool = False) -> Planned:
    """The design for budgets mu [users], fewer than n if all are alike."""
    model = careful(model)
    # with equal weights E[m | past] = grad F for messages whose budgets are any function of the data: given mu_i the
    # noise has the mean 0, and the gradient is unbiased. Weighted by v(mu_i) the target would be that of a tilted law
    users = sum(SHARES[1:]) * n / EVERY[1]
    error = model.hessian_noise(model.problem.fixed_scale) * math.sqrt(noise_of(model, mu, equal).hessians / users)
    every = EVERY[model.least_curvature >= SURE * error]
    return Planned(model, n, Checked({}, too_few(model, n, FEWEST)), every, equal)


def fit_local(
    plan: Planned, x: np.ndarray, y: np.ndarray, mu: np.ndarray, normals: DrawNormals, owners: np.ndarray | None = None
) -> Fitted:
    """The users of budgets mu [n] send their messages in this order; `staged_newton` makes the estimate.

    `owners` [rows], in rising order, are the holders of each row x [rows, d], y [rows]; who holds none sends
    noise alone. Where it is left out everybody holds one.
    """
    model = plan.model
    start = model.problem.start()
    pure = PureServer(model, start, normals) if isinstance(model, PureModel) else None
    # caps draw their own randomness
    records = TableUsers(model, x, y, mu, np.zeros if pure else normals, owners, plan.equal)
    return of_outcome(plan, plan.design, staged_newton(model, plan.design, start, records, pure))


def of_outcome(plan: Planned, design: Design, outcome: StagedFit, lane: int = 0) -> Fitted:
    """The fit that one replicate of the local model ends with."""
    checked, release = after(plan.model, design, outcome, lane), released(plan.model, outcome, lane)
    theta = outcome.final.theta[lane]
    if not checked.reasons:
        checked = replace(checked, warnings=(*checked.warnings, *of_skewness(plan.model, release, float(theta[-1]))))
    return Fitted(theta, checked, release)


def released(model: Model, outcome: StagedFit, lane: int = 0) -> Release:
    """What the intervals of one replicate of the local model follow from: means of messages of the last two stages."""
    sums = outcome.sums
    total = float(sums.v[0, lane])
    mean, error = mean_hessian(sums, model.p)
    # gradients have all noise in the sum of squares
    squares, hessian = symmetric(sums.squares[:, lane : lane + 1], model.p)[0] / total**2, mean[lane]
    point, gradient = sums.points[:, lane] / total, sums.gradients[:, lane] / total
    return Release(point, gradient, squares, hessian, float(error[lane]), model.hessian_scaling, debiased=True)


def plan_central(model: Model, n: int) -> Planned:
    """So few records were never tried: the fit is refused before the data are used, at no cost of privacy."""
    return Planned(model, n, Checked({}, too_few(model, n, FEWEST_CENTRAL)), central=True)


def fit_central(
    plan: Planned, x: np.ndarray, y: np.ndarray, mu: float | np.ndarray, normals: DrawNormals,
    owners: np.ndarray | None = None,
) -> Fitted:  # fmt: skip
    """One release by the owner of all rows, mu-GDP in total, all of `mu` alike; who holds no row adds 0."""
    model = plan.model
    outcome = central_newton(model, model.problem.start(), x, y, float(np.max(mu)), normals, plan.n, owners)
    if not np.isfinite(outcome.theta).all():
        return Fitted(
            outcome.theta, Checked({}, (Reason("diverged", "the estimates are not finite"),)), outcome.release
        )
    scale = float(model.scale_of(outcome.theta))
    reasons = of_arrival(model, outcome.moved, outcome.thrown, scale)
    if not reasons and not outcome.thrown <= MOST_THROWN:
        why = f"noise changes predictions by {outcome.thrown:.2g} scales, more than {MOST_THROWN:g}"
        n = two_digits(plan.n * outcome.thrown / MOST_THROWN)
        reasons = (Reason("too-noisy", f"{why}: the risk is not quadratic so far about the target", n),)
    warnings = () if reasons else (*of_guess(model, scale), *of_skewness(model, outcome.release, scale))
    values = {"hessian_ratio": outcome.release.hessian_ratio, "moved": outcome.moved}
    return Fitted(outcome.theta, Checked(values, reasons, warnings), outcome.release)
