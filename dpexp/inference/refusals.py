"""Rules by which a fit, or one of its parameters, has no interval, and its warnings.

Columns that cannot be separated are the matter of `intervals`. Rules here read public or released numbers alone, so
they cost no privacy.

    too-few       public: n is below 200 users a parameter, with any budget; nothing was ever tried there
    diverged      an estimate is not finite
    not-linear    the estimates of the last two stages differ by more than noise, at level 1e-3
    not-arrived   the steps end farther from the estimate than noise explains, so they did not converge;
                  local: or the server's last jump was longer than is allowed, or errors are 16 times as large or small
                  as was guessed, or the target is 10 guessed scales from its stated centre
    too-noisy     central: the noise of one step alone changes predictions by half a scale
    no-scale      the scale is 0 or less
    too-steep     local, logistic: the columns move log-odds by more than 2.6 in the root mean square
    projected     the scale was projected at more than 1e-4 n steps: the scale alone has no interval

A rule that refuses long intervals would spoil what it lets through: a run in which H happens to come out
large has a small standard error and passes, and its interval is too short.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpexp.inference.intervals import Release
from dpexp.inference.models import Model
from dpexp.inference.small_matrices import pseudo_inverses, times
from dpexp.inference.staged_newton import Design, StagedFit
from dpexp.problems.linear_losses import HuberLinear

FEWEST, FEWEST_CENTRAL = 200, 40
"""users or records for every parameter below which nothing was ever tried; also without any noise"""
LEVEL_OF_LINEARITY = 1e-3
MOST_PROJECTED = 1e-4
# intervals held up to 16 times and 10 scales; with a large budget they did not at 20 and 12
FARTHEST_SCALE, FARTHEST_CENTRE = 16.0, 10.0
STEEPEST = 2.6
"""standard deviation of the log-odds: with 2.25 slopes were covered .95, with 4.5 as little as .87: what Newton jumps
and mean Hessians lack is of the third derivative"""
MOST_MOVED, BEYOND_NOISE, FARTHEST_MOVED = 0.1, 3.0, 1.0
"""scales between predictions of the last steps and of the estimate that are always allowed; times what noise does; and
never. Of 800 fits of 35 laws that had converged one had 3.1 times the noise and all others at most 2.6 times, and of
those that had not (a 0/1 target whose Huber scale is 0, a start 30 scales away) 3.9 to 200 times"""
MOST_THROWN = 0.5
"""scales by which noise of one step may change predictions: with .3 to .4 intervals covered .93 to .96, with .5 to .9
as little as .82"""
MOST_SKEWED = 0.05
"""between the shares of residuals that are clipped on each side: .15 for exponential errors, whose mean is .2 scales
from the target, .03 for Poisson counts of mean 3 and .05 scales"""
FAR_FROM_GUESS = 4.0
"""the scale over its guess, or the other way round, from which a warning is given"""


@dataclass(frozen=True)
class Reason:
    """One rule that a fit breaks."""

    rule: str
    why: str
    n_needed: int | None = None
    """users with whom it would be met, under the same budgets; None where more users are not the cure"""
    parameters: tuple[int, ...] = ()
    """their places; none: all of them"""


@dataclass(frozen=True)
class Checked:
    """Numbers of the rules, and what follows."""

    values: dict[str, float]
    reasons: tuple[Reason, ...]
    warnings: tuple[str, ...] = ()

    def lost(self, p: int) -> set[int]:
        """Places of the parameters, of p, that have no interval."""
        everything = any(not reason.parameters for reason in self.reasons)
        return set(range(p)) if everything else {place for reason in self.reasons for place in reason.parameters}

    @property
    def n_needed(self) -> int | None:
        """Users with whom all rules would be met, that more users can meet."""
        return max((reason.n_needed for reason in self.reasons if reason.n_needed), default=None)


def two_digits(n: float) -> int:
    """Rounded up to two digits."""
    digit = 10 ** max(0, math.floor(math.log10(n)) - 1)
    return math.ceil(n / digit) * digit


def too_few(model: Model, n: int, each: int) -> tuple[Reason, ...]:
    """The rule of fewer records than were ever tried, for every parameter."""
    why = f"{n:,} records are fewer than {each} for each parameter"
    return (Reason("too-few", why, each * model.p),) if n < each * model.p else ()


def of_arrival(model: Model, moved: float, noise: float, scale: float) -> tuple[Reason, ...]:
    """Whether the steps converged: how far they end from the estimate and what noise explains of it, in scales."""
    causes = (
        "ranges or error_scale are far off, errors are nearly 0, or most targets have one value"
        if model.has_scale
        else "the target is far from its stated centre"
        if not model.bends
        else "one class is too rare at this budget, or the columns separate the classes (separation)"
    )
    if model.has_scale and not scale > 0:
        why = "the estimated scale of the errors is not above 0: errors are nearly 0 against the stated scale"
        return (Reason("no-scale", f"{why}, or most targets have one value"),)
    if not moved <= min(FARTHEST_MOVED, max(MOST_MOVED, BEYOND_NOISE * noise)):
        why = f"the steps did not converge: they end {moved:.2g} scales from the estimate, noise explains {noise:.2g}"
        return (Reason("not-arrived", f"{why}. Usual causes: {causes}"),)
    return ()


def of_guess(model: Model, scale: float) -> tuple[str, ...]:
    """A warning where the scale is far from its public guess."""
    times_guess = scale / model.problem.fixed_scale
    if not model.has_scale or 1 / FAR_FROM_GUESS <= times_guess <= FAR_FROM_GUESS:
        return ()
    return (f"errors are {times_guess:.2g} times as large as was guessed: state the target's range, or error_scale",)


def of_skewness(model: Model, release: Release, scale: float) -> tuple[str, ...]:
    """A warning where many more residuals are clipped on one side of the fit: its target is then not the mean."""
    law = model.problem
    if not (model.has_scale and isinstance(law, HuberLinear)):
        return ()
    # the gradient has -E w psi(u), the row of the scale E w u / s over the unclipped ones: the rest are clipped, at c
    row = scale / model.scale_row
    more = -(release.gradient[0] + row * release.hessian[0, -1]) / law.c
    noise = math.hypot(row * release.hessian_error, math.sqrt(release.gradient_covariance[0, 0])) / law.c
    if not abs(more) > max(MOST_SKEWED, 2 * noise):
        return ()
    sides = ("above", "below") if more > 0 else ("below", "above")
    text = f"the share of residuals clipped {sides[0]} the fit is {abs(more):.2f} larger than {sides[1]} it"
    return (f"{text}: errors are skewed, as those of counts and spending are, and the target is not the mean",)


def of_steepness(model: Model, theta: np.ndarray, covariance: np.ndarray) -> tuple[Reason, ...]:
    """Whether log-odds that the columns explain vary so much that local intervals do not hold."""
    # the variance is that of columns that vary as stated and are independent, less what noise adds to the estimate
    slopes, noise = theta[1:] ** 2, np.diag(covariance)[1:]
    spread = model.problem.sigma_z * math.sqrt(max(0.0, float((slopes - noise).sum())))
    if not model.bends or spread <= STEEPEST:
        return ()
    why = f"the columns move log-odds by {spread:.2g} in the root mean square; local intervals hold up to {STEEPEST:g}"
    return (Reason("too-steep", f"{why}. A central fit (--central) has no such limit"),)


def after(model: Model, design: Design, outcome: StagedFit, lane: int = 0) -> Checked:
    """What the released numbers of one replicate say."""
    from scipy.special import chdtrc

    theta = outcome.final.theta[lane]
    if not (np.isfinite(theta).all() and np.isfinite(outcome.final.covariance[lane]).all()):
        return Checked({}, (Reason("diverged", "the estimates are not finite"),))
    reasons, warnings = [*of_steepness(model, theta, outcome.final.covariance[lane])], tuple[str, ...]()
    second, third = outcome.stages
    # the two stages have disjoint users, so that the covariances add up
    difference = second.theta[lane] - third.theta[lane]
    spread = second.covariance[lane] + third.covariance[lane]
    level = float(chdtrc(model.p, np.sum(difference * times(pseudo_inverses(spread), difference))))
    values = {"linearity": level, "projections": float(outcome.projections[lane])}
    if not level >= LEVEL_OF_LINEARITY:
        why = f"the fit did not converge: two parts of the data give different estimates (p = {level:.1g})"
        reasons.append(Reason("not-linear", f"{why}. Narrow the ranges, or use more records"))
    if outcome.shortened[lane]:
        why = "the estimates were still moving far when the last stage began: the public guesses are far off"
        reasons.append(Reason("not-arrived", why))
    # steps follow noise about the target, and the estimate's own error is how far
    scale = float(model.scale_of(theta))
    change = (outcome.sums.points[:, lane] / outcome.sums.v[0, lane] - theta) / scale
    spread = np.append(1.0, np.full(model.p - 1, model.problem.sigma_z))
    spread[model.d + 1 :] = 1.0
    noise = math.sqrt(spread**2 @ np.diag(outcome.final.covariance[lane])) / abs(scale)
    values["moved"] = float(np.linalg.norm(change * spread))
    if not reasons:
        reasons.extend(of_arrival(model, values["moved"], noise, scale))
    if not model.bends:
        warnings = of_guess(model, scale) if scale > 0 else ()
        errors, away = scale / model.problem.fixed_scale, abs(float(theta[0])) / model.problem.fixed_scale
        if not (1 / FARTHEST_SCALE <= errors <= FARTHEST_SCALE and away <= FARTHEST_CENTRE):
            why = f"errors are {errors:.2g} times as large as was guessed, and the target is {away:.2g} such guesses"
            reasons.append(Reason("not-arrived", f"{why} from its stated centre: state its range, or error_scale"))
        if model.has_scale and outcome.projections[lane] > MOST_PROJECTED * design.n + 1:
            why = f"the scale ran into its lower bound {outcome.projections[lane]:.0f} times: its guess is too large"
            reasons.append(Reason("projected", why, parameters=(model.p - 1,)))
    return Checked(values, tuple(reasons), warnings)
