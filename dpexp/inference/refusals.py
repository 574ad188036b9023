"""When intervals are refused: before any data from public numbers, and after the fit from what was released.

Rules look at public or released numbers alone, so they cost no privacy. On a refusal estimates are kept and
intervals are not (inference, section 3.5).

The same limit before and after the fit would spoil the intervals that are left. A run in which H happens to come out
large has a small standard error and passes, and its interval is too short: of runs of which half passed, 88% covered
the scale where of all runs 94% did. So what can be foreseen is decided before, by numbers that know nothing of the
errors of this fit, and what is released has limits so much wider that they are met by wrong guesses, and hardly by
chance.

    too-few               public: n is below 200 users a parameter, with any budget
    hessian-too-noisy     lambda_min(Hr) / se_H is expected, or was found, where pure noise would put it
    scale-too-uncertain   the standard error of the scale is expected to be above a tenth of it, or is above a fifth
    coefficients-too-uncertain   logistic: a standardised coefficient is expected to have a standard error above .35, or
                          has one above .6
    not-linear            the estimates of the last two stages differ by more than noise, at level 1e-3
    projected             the scale was projected at more than 1e-4 n steps
    not-arrived           the server's last jump was longer than is allowed, so the start was not forgotten
    far-from-guess        the measured curvature is more than five times its public guess (logistic: twice),
                          or less than a fifth (.28)
    collinear             the smallest eigenvalue of Hr is below a thousandth of the largest
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpexp.inference.models import GUESSED_VARIANCE, VARIANCE_OF_STEPS, Model
from dpexp.inference.newton import standard_errors
from dpexp.inference.predicted import (
    FEWEST_FOR_EACH,
    Noise,
    expected_errors,
    expected_ratio,
    hessian_error,
    largest_error,
    least_ratio,
    scaled,
)
from dpexp.inference.small_matrices import eigensystems, pseudo_inverses, times
from dpexp.inference.staged_newton import Design, Outcome

MOST_OF_SCALE, MOST_RELEASED_OF_SCALE = 0.10, 0.20
MOST_OF_COEFFICIENT, MOST_RELEASED_OF_COEFFICIENT = 0.35, 0.60
"""before the fit, and after it; between the two a warning is given"""
LEVEL_OF_LINEARITY = 1e-3
MUCH = 0.4
"""of a parameter in the direction of least curvature, from which it is named"""
MOST_PROJECTED = 1e-4
LEAST_EIGENVALUE = 1e-3
CURVATURE, CURVATURE_OF_LOGISTIC = (0.2, 5.0), (0.28, 2.05)
"""the measured curvature over its public guess between which intervals are believed. For the Huber model guesses that
were wrong by a factor 4 held; logistic ones held up to a factor 2, and most of those by 4 end outside of this"""
FAR_FROM_GUESS = 4.0
"""the scale over its guess, or the other way round, from which a warning is given"""
NOT_CURED_BY_USERS = ("collinear", "not-arrived", "projected", "far-from-guess", "diverged")
"""with these, no n is stated: the columns or the public guesses have to change"""


@dataclass(frozen=True)
class Reason:
    """One rule that a fit breaks."""

    rule: str
    why: str
    n_needed: int | None = None
    """users with whom it would be met, under the same budgets; None where more users are not the cure"""
    parameters: tuple[int, ...] = ()
    """those of which it speaks, by their places; none: all of them"""


@dataclass(frozen=True)
class Checked:
    """Numbers of the rules, and what follows."""

    values: dict[str, float]
    reasons: tuple[Reason, ...]
    warnings: tuple[str, ...]
    advice: tuple[Reason, ...] = ()
    """of a plan: what is expected to be told badly, though nothing is refused"""

    def lost(self, p: int) -> set[int]:
        """Which of p parameters are not told."""
        whole = any(not reason.parameters for reason in self.reasons)
        return set(range(p)) if whole else {place for reason in self.reasons for place in reason.parameters}

    def after_plan(self, planned: Checked) -> Checked:
        """A fit that was made against a refusal stays refused; what a plan only warned of, the fit has found out."""
        rules = {reason.rule for reason in planned.reasons}
        more = tuple(reason for reason in self.reasons if reason.rule not in rules)
        return Checked({**planned.values, **self.values}, (*planned.reasons, *more), self.warnings)

    @property
    def n_needed(self) -> int | None:
        """Users with whom all rules would be met that more users can meet."""
        rules = (*self.reasons, *self.advice)
        if any(reason.rule in NOT_CURED_BY_USERS for reason in rules):
            return None
        return max((reason.n_needed for reason in rules if reason.n_needed), default=None)


def enough(n: int, value: float, most: float) -> int:
    """n (value / most)^2, as errors fall like 1 / sqrt n; rounded up to two digits."""
    if not math.isfinite(value):
        return 10**15
    needed = n * (value / most) ** 2
    digit = 10 ** max(0, math.floor(math.log10(needed)) - 1)
    return int(math.ceil(needed / digit) * digit)


def before(model: Model, design: Design, noise: Noise) -> Checked:
    """What public numbers alone say."""
    n, reasons = design.n, list[Reason]()
    fewest = FEWEST_FOR_EACH * model.p
    if n < fewest:
        reasons.append(Reason("too-few", f"{n:,} records are fewer than {FEWEST_FOR_EACH} for each parameter", fewest))
    error = hessian_error(model, design, noise)
    ratio, least = expected_ratio(model, error), least_ratio(model.p)
    if ratio < least:
        why = (
            f"the curvature would be measured too noisily (expected ratio {ratio:.2f}, at least {least:.2f} is needed)"
        )
        reasons.append(Reason("hessian-too-noisy", why, enough(n, error, largest_error(model))))
    values = {"expected_hessian_ratio": ratio, "least_hessian_ratio": least_ratio(model.p)}
    expected = largest_share(model, design, noise)
    if expected is not None:
        key, of, most = (
            ("expected_scale_ratio", of_scale, MOST_OF_SCALE)
            if model.has_scale
            else ("expected_coefficient_error", of_coefficients, MOST_OF_COEFFICIENT)
        )
        values[key] = expected
        reasons += [
            replace(reason, n_needed=users_needed(model, design, noise, most))
            for reason in of(expected, n, "is expected to be")
        ]
    return Checked(values, tuple(reasons), ())


def largest_share(model: Model, design: Design, noise: Noise) -> float | None:
    """The expected error of the scale over the scale, or of a standardised coefficient; None where neither is ruled."""
    if model.has_scale:
        return float(expected_errors(model, design, noise)[-1] / model.problem.fixed_scale)
    if model.name == "mallows-logistic":
        return largest_coefficient_error(model, expected_errors(model, design, noise))
    return None


def users_needed(model: Model, design: Design, noise: Noise, most: float) -> int:
    """The n from which `largest_share` is at most this, by halving, rounded up to two digits.

    Errors fall faster than 1 / sqrt n while the noise of the Hessian matters.
    """
    low, high = design.n, enough(design.n, largest_share(model, design, noise) or 0.0, most)
    while high > low + 1 + low // 100:
        middle = max(low + 1, math.isqrt(low * high))
        share = largest_share(model, replace(design, n=middle), noise)
        low, high = (middle, high) if share is None or share > most else (low, middle)
    return enough(high, 1.0, 1.0)


def of_scale(share: float, n: int, is_: str, most: float = MOST_OF_SCALE) -> list[Reason]:
    if share <= most:
        return []
    why = f"the standard error of the scale {is_} {share:.2g} of it, above {most:g}"
    return [Reason("scale-too-uncertain", why, enough(n, share, MOST_OF_SCALE))]


def of_curvature(model: Model, relative: float, values: dict[str, float]) -> list[Reason]:
    """Whether the first steps had about the right length; `relative` is the measured curvature over that of the steps.

    The steps of a logistic model follow from `VARIANCE_OF_STEPS`, which is meant to be too small. What is judged is the
    guess of a typical one.
    """
    logistic = model.name == "mallows-logistic"
    relative *= VARIANCE_OF_STEPS / GUESSED_VARIANCE if logistic else 1.0
    values["curvature_over_guess"] = relative
    low, high = CURVATURE_OF_LOGISTIC if logistic else CURVATURE
    if low <= relative <= high:
        return []
    why = f"the risk is {relative:.2g} times as curved as was guessed, and the first steps had the wrong length for it"
    return [Reason("far-from-guess", why)]


def of_coefficients(largest: float, n: int, is_: str, most: float = MOST_OF_COEFFICIENT) -> list[Reason]:
    if largest <= most:
        return []
    why = f"the standard error of a standardised coefficient {is_} {largest:.2g}, above {most:g}"
    return [Reason("coefficients-too-uncertain", why, enough(n, largest, MOST_OF_COEFFICIENT))]


def of_guess(model: Model, scale: float) -> list[str]:
    """A warning where the scale is far from its public guess."""
    guessed = model.problem.fixed_scale
    if guessed / FAR_FROM_GUESS <= scale <= guessed * FAR_FROM_GUESS:
        return []
    return [f"errors are {scale / guessed:.2g} times as large as was guessed: state the target's range, or error_scale"]


def largest_coefficient_error(model: Model, errors: np.ndarray) -> float:
    """The largest standard error of the intercept and of the slopes of covariates of variance 1."""
    return float(max(errors[0], *(errors[1 : model.d + 1] * model.problem.sigma_z)))


def of_hessian(model: Model, hessian: np.ndarray, error: float) -> tuple[dict[str, float], list[Reason]]:
    """Whether a released Hessian [p, p] of the given noise can be believed and inverted."""
    values, vectors = eigensystems(scaled(model, hessian))
    flat = tuple(int(j) for j in np.flatnonzero(np.abs(vectors[:, 0]) > MUCH))
    ratio = math.inf if error == 0 else float(values[0] / error)
    reasons = []
    if not ratio >= least_ratio(model.p):
        # no n is stated: a column that hardly varies needs any number of records
        why = (
            f"the curvature is measured too noisily (ratio {ratio:.2f}, at least {least_ratio(model.p):.2f} is "
            "needed): too few records, or columns that hardly vary or repeat each other"
        )
        reasons.append(Reason("hessian-too-noisy", why, parameters=flat))
    if not values[0] >= LEAST_EIGENVALUE * values[-1]:
        why = "some columns can hardly be told apart, or one is constant: leave one of them out"
        reasons.append(Reason("collinear", why, parameters=flat))
    return {"hessian_ratio": ratio, "least_hessian_ratio": least_ratio(model.p)}, reasons


def after(model: Model, design: Design, outcome: Outcome, lane: int = 0) -> Checked:
    """What the released numbers of one replicate say."""
    from scipy.special import chdtrc

    final, n, reasons, warnings = outcome.final, design.n, [], []
    theta, covariance = final.theta[lane], final.covariance[lane]
    if not (np.isfinite(theta).all() and np.isfinite(covariance).all()):
        return Checked({}, (Reason("diverged", "the estimates are not finite"),), ())
    errors = standard_errors(covariance)
    values, found = of_hessian(model, final.hessian[lane], float(final.hessian_error[lane]))
    reasons += found
    if model.has_scale:
        values["scale_ratio"] = share = float(errors[-1] / max(theta[-1], 1e-300)) if theta[-1] > 0 else math.inf
        reasons += of_scale(share, n, "is", MOST_RELEASED_OF_SCALE)
        if MOST_OF_SCALE < share <= MOST_RELEASED_OF_SCALE:
            warnings.append(
                f"the standard error of the scale is {share:.2g} of it: expect a coverage of about .93, not .95"
            )
        warnings += of_guess(model, float(theta[-1]))
        values["projections"] = hits = float(outcome.projections[lane])
        if hits > MOST_PROJECTED * n + 1:
            reasons.append(
                Reason("projected", f"the scale ran into its lower bound {hits:.0f} times: its guess is too large")
            )
    elif model.name == "mallows-logistic":
        values["coefficient_error"] = largest = largest_coefficient_error(model, errors)
        reasons += of_coefficients(largest, n, "is", MOST_RELEASED_OF_COEFFICIENT)
        if MOST_OF_COEFFICIENT < largest <= MOST_RELEASED_OF_COEFFICIENT:
            warnings.append(
                f"a standardised coefficient has a standard error of {largest:.2g}: expect a coverage of about .93"
            )
    second, third = outcome.stages
    difference = second.theta[lane] - third.theta[lane]
    spread = second.covariance[lane] + third.covariance[lane]
    statistic = float(np.sum(difference * times(pseudo_inverses(spread), difference)))
    values["linearity"] = level = float(chdtrc(model.p, statistic))
    if not level >= LEVEL_OF_LINEARITY:
        reasons.append(
            Reason(
                "not-linear",
                f"two parts of the users disagree (p = {level:.1g}): the start was too far, or n is too small",
            )
        )
    reasons += of_curvature(model, float(outcome.curvature[lane]), values)
    if outcome.shortened[lane]:
        reasons.append(
            Reason(
                "not-arrived",
                "the estimates were still moving far when the last stage began: the public guesses are far off",
            )
        )
    return Checked(values, tuple(reasons), tuple(warnings))
