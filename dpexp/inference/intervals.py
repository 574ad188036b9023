"""Intervals from one release, coordinate by coordinate: Wald's where the curvature is known, else a test is inverted.

Released are a point pt, a noisy gradient g there with covariance Sigma, and D Hhat D with the noise se_H of a diagonal
entry. For the move d = D t from pt to the target (fit2, section 4)

    q(t) = D g + Hhat t,   Omega(t) = D Sigma D + (se_H^2 / 2) (|t|^2 I + t t'),   Q(t) = q' Omega^-1 q

has at the true t the law chi2_p, whatever H is, singular or not, if the noise is normal and the risk quadratic there.
The interval of a combination a't is the projection of {Q <= chi2_1}: the test of Anderson and Rubin for a part of the
parameters. Its level is measured, not proved, unless se_H = 0, where it is Wald's interval.

(a) Far out along a unit e, Q tends to (2 / se_H^2) (e'H^2e - (e'He)^2 / 2). The bracket is concave in the squares of
e's parts along the eigenvectors of Hhat, so its least value is at one of them, min lambda_i^2 / 2. So the set is
bounded if and only if |lambda_i| > z se_H for every eigenvalue.
(b) The test is inverted where both e_j > .2 (`relative_errors`, the variation of Wald's length) and more than .3 of the
variance is along directions with |lambda| < 4 se_H.
(c) Q = 0 at t_1 = -Hhat^-1 D g, which is inside. From it each side is walked until the least Q at this value of a't is
above the quantile, and a root is the end.
(d) An end is where grad Q = lambda a and Q is the quantile. Solved from the ellipsoid that Q would have if Omega were
fixed, this is seven times faster than (c). It counts if the least Q just beyond it is above the quantile; else (c).
(e) Sigma of the central model is known with noise of its own. The mean of the inverse of a noisy matrix is too large,
and Sigma in Omega is regularised by that noise as Hhat is in Wald's interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from dpexp.inference.newton import lengthened, less_excess, regularise, relative_errors
from dpexp.inference.public_numbers import normal

UNEVEN, ALONG_FLAT, FLAT = 0.2, 0.3, 4.0
"""e_j, share of the variance, and standard errors of an eigenvalue, of (b)"""
SINGULAR = 1e-6
"""of the largest eigenvalue, below which columns cannot be separated even without noise"""
GROWTH, STEPS_OUT = 1.8, 80
"""of the walk of (c), which begins with one standard error: what has no end within 1e20 of them has none"""


class Release(NamedTuple):
    """What intervals follow from; all of it is released."""

    point: np.ndarray
    """[p]"""
    gradient: np.ndarray
    """[p]"""
    gradient_covariance: np.ndarray
    """Sigma [p, p], sampling and noise"""
    hessian: np.ndarray
    """D Hhat D [p, p], with its noise and not regularised"""
    hessian_error: float
    """se_H, the standard deviation of the noise of a diagonal entry of D Hhat D"""
    scaling: np.ndarray
    """the diagonal of D [p]"""
    middle_error: float = 0.0
    """standard deviation of the noise of a diagonal entry of Sigma"""
    debiased: bool = False
    """whether variances are less what the noise of the Hessian adds to them on average"""

    @property
    def hessian_ratio(self) -> float:
        """The smallest |eigenvalue| of D Hhat D, in standard errors of its noise; infinite without noise."""
        if self.hessian_error == 0:
            return math.inf
        return float(np.abs(np.linalg.eigvalsh(self.hessian)).min()) / self.hessian_error

    def middle(self) -> np.ndarray:
        """D Sigma D [p, p] of the inverted test."""
        covariance = self.gradient_covariance
        # (e)
        if self.middle_error:
            covariance = regularise(covariance, np.array(self.middle_error))
        return np.asarray(covariance * np.outer(self.scaling, self.scaling))

    def sandwich(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hr^-1 [p, p], the correction Hr^-1 g [p], and C [p, p] as `newton.of_hessian_noise` adds to it."""
        both = np.outer(self.scaling, self.scaling)
        inverse = np.linalg.inv(regularise(self.hessian, np.array(self.hessian_error)) / both)
        change = inverse @ self.gradient
        turned = change / self.scaling
        noise = self.hessian_error**2 / 2 * (np.outer(turned, turned) + turned @ turned * np.eye(len(turned))) / both
        return inverse, change, inverse @ (self.gradient_covariance + noise) @ inverse


IntervalKind = Literal["wald", "anderson-rubin", "unbounded"]


@dataclass(frozen=True)
class Interval:
    """Of one combination of the parameters."""

    kind: IntervalKind
    value: float
    se: float
    """of Wald's interval, with its made-up length"""
    low: float
    high: float


def intervals(
    release: Release, theta: np.ndarray, combinations: np.ndarray, level: float
) -> tuple[list[Interval], np.ndarray]:
    """Intervals of `combinations` [k, p] of the parameters, whose estimate is theta [p], and their covariance [k, k].

    theta can differ from point - Hr^-1 gradient by a bias that was subtracted; intervals move with it.
    """
    # Wald's intervals are about theta, and the others about the point, less the bias
    z, (_, _, covariance) = normal(level), release.sandwich()
    errors, kinds = judged(release, combinations, level)
    result, through = [], combinations @ covariance
    for k, a in enumerate(combinations):
        error, value = float(errors[k]), float(a @ theta)
        low, high = {"wald": (value - z * error, value + z * error)}.get(kinds[k], (-math.inf, math.inf))
        if kinds[k] == "anderson-rubin":
            low, high = inverted(release, theta, a, level)
        result.append(Interval(kinds[k], value, error, low, high))
    factors = errors / np.sqrt(np.maximum(np.sum(through * combinations, axis=1), 1e-300))
    return result, through @ combinations.T * np.outer(factors, factors)


def inverted(release: Release, theta: np.ndarray, a: np.ndarray, level: float) -> tuple[float, float]:
    """The interval of a'theta, for a [p], by inversion of the test; infinite by (a)."""
    z, (_, change, covariance) = normal(level), release.sandwich()
    turned, (values, vectors) = a * release.scaling, np.linalg.eigh(release.hessian)
    least = np.maximum(z * release.hessian_error, SINGULAR * np.abs(values).max())
    if np.any(np.abs(turned @ vectors[:, np.abs(values) <= least]) > 1e-9 * np.linalg.norm(turned)):
        return -math.inf, math.inf
    error = math.sqrt(max(a @ covariance @ a, 1e-300))
    low, high = (
        float(a @ (theta + change)) + end for end in both_ends(release, turned, z * z, error, -change / release.scaling)
    )
    return low, high


def judged(release: Release, combinations: np.ndarray, level: float) -> tuple[np.ndarray, list[IntervalKind]]:
    """Standard errors [k] of Wald's intervals of combinations [k, p], and which interval is right, by (b) and (a)."""
    z, se, scaling = normal(level), release.hessian_error, release.scaling
    values, vectors = np.linalg.eigh(release.hessian)
    # directions in which columns cannot be separated, those of (b), and those of (a)
    singular = vectors[:, np.abs(values) <= SINGULAR * np.abs(values).max()]
    flat, lost = vectors[:, np.abs(values) < FLAT * se], vectors[:, np.abs(values) <= z * se]
    inverse, _, covariance = release.sandwich()
    through, turned = combinations @ covariance, combinations * scaling
    variances = np.maximum(np.sum(through * combinations, axis=1), 1e-300)
    uneven = relative_errors(through, combinations @ inverse, variances, np.array(se), scaling, release.middle_error)
    of_flat = flat.T @ (covariance / np.outer(scaling, scaling)) @ flat
    along = np.sum((turned @ flat @ of_flat) * (turned @ flat), axis=1) / variances
    lengths = np.linalg.norm(turned, axis=1)[:, None]
    parallel = np.any(np.abs(turned @ singular) > SINGULAR * lengths, axis=1)
    # (a), then (b)
    # where |lambda| is smaller, the set goes on for ever along all directions near its eigenvector, and so does a't:
    # asked is whether a has a part in that eigenvector, which noise gives to every a
    unbounded = parallel | np.any(np.abs(turned @ lost) > 1e-9 * lengths, axis=1)
    # either alone loses coordinates that are known
    wald = ~parallel & ((along <= ALONG_FLAT) | (uneven <= UNEVEN))
    kinds: list[IntervalKind] = [
        "wald" if is_wald else "unbounded" if away else "anderson-rubin"
        for is_wald, away in zip(wald.tolist(), unbounded.tolist(), strict=True)
    ]
    if release.debiased:
        plain = inverse @ release.gradient_covariance @ inverse
        variances = less_excess(variances, combinations @ inverse, plain, np.array(se), scaling)
    return np.sqrt(variances) * lengthened(uneven), kinds


def finite_level(release: Release) -> float:
    """The level up to which inverted intervals are finite, by (a)."""
    return 1.0 if math.isinf(release.hessian_ratio) else math.erf(release.hessian_ratio / math.sqrt(2))


def level_of(release: Release, theta: np.ndarray, combinations: np.ndarray, values: np.ndarray) -> float:
    """The p-value of the test that `combinations` [k, p] of the target have these `values` [k], all at once.

    The least Q where they have is compared with chi2_k: as for the intervals H may be singular. For k = 1 the interval
    of a combination has the values whose p-value is above 1 - level; without noise of the Hessian it is Wald's test.
    """
    from scipy.special import chdtrc

    _, change, _ = release.sandwich()
    # the point, less the bias
    centre = theta + change
    wald = -change / release.scaling
    least, _ = _least(release, combinations * release.scaling, values - combinations @ centre, [wald, 0 * wald])
    return float(chdtrc(np.linalg.matrix_rank(combinations), least))


def joint_level(
    release: Release, theta: np.ndarray, combinations: np.ndarray, values: np.ndarray, levels: np.ndarray, level: float
) -> float:
    """The p-value that all `combinations` [k, p] have these `values` [k], whose own p-values are `levels` [k].

    Two tests are made: the least of `levels`, times k, and a test of all at once, times 2: Wald's where all intervals
    at this level are Wald's, else the inverted one. So it is never above k times the least of them, though it has the
    power of a joint test. Of independent rows that are 0 it rejects .052 (k = 2) to .058 (k = 8) at the level .05, and
    with Wald's p-value instead of twice that it would reject .061 to .074.
    """
    from scipy.special import chdtrc

    k = len(combinations)
    if k == 1:
        return float(levels[0])
    each, covariance = intervals(release, theta, combinations, level)
    if all(interval.kind == "wald" for interval in each):
        away = combinations @ theta - values
        together = float(chdtrc(np.linalg.matrix_rank(combinations), away @ np.linalg.pinv(covariance, 1e-9) @ away))
    else:
        together = level_of(release, theta, combinations, values)
    return min(1.0, k * float(np.min(levels)), 2 * together)


def _least(
    release: Release, rows: np.ndarray, values: np.ndarray, starts: list[np.ndarray]
) -> tuple[float, np.ndarray]:
    """The least Q where rows t = values, for rows [k, p], and a t [p] that has it; from the best of the starts."""
    from scipy.linalg import null_space
    from scipy.optimize import least_squares

    p, half = len(release.point), release.hessian_error**2 / 2
    gradient, middle = release.scaling * release.gradient, release.middle()
    # what is free is z [p - k], along an orthonormal basis of the directions that change no row's value
    base, others = np.linalg.lstsq(rows, values)[0], null_space(rows)

    def residual(z: np.ndarray) -> np.ndarray:
        t = base + others @ z
        # Omega moves with t, so Q as a whole is made least
        omega = middle + half * (t @ t * np.eye(p) + np.outer(t, t))
        return np.asarray(np.linalg.solve(np.linalg.cholesky(omega), gradient + release.hessian @ t))

    if not others.shape[1]:
        return float(np.sum(residual(np.empty(0)) ** 2)), base
    best = min(
        (least_squares(residual, others.T @ t, method="lm") for t in starts), key=lambda search: float(search.cost)
    )
    return 2 * float(best.cost), base + others @ best.x


def both_ends(release: Release, a: np.ndarray, quantile: float, step: float, wald: np.ndarray) -> tuple[float, float]:
    """The ends of {a't: the least Q is at most `most`}, by (c)."""
    from scipy.optimize import brentq

    # Q is 0 there
    zero = -np.linalg.solve(release.hessian, release.scaling * release.gradient)

    def least(v: float, starts: list[np.ndarray]) -> tuple[float, np.ndarray]:
        return _least(release, a[None], np.array([v]), starts)

    def above(v: float, starts: list[np.ndarray]) -> float:
        return least(v, starts)[0] - quantile

    ends = list[float]()
    for side in (-1, 1):
        end = _tangent(release, side * a, quantile, zero)
        if end is not None:
            beyond = float(a @ end) + side * 1e-3 * step
            q, last = least(beyond, [wald, zero, end])
            # a search can end too high, and a second one from there lower
            if q > quantile and above(beyond, [last + side * step * a, last - side * step * a]) > 0:
                ends.append(float(a @ end))
                continue
        inside, last, away = float(a @ zero), zero, step
        # each search begins where the last one ended, since Omega moves with t
        for _ in range(STEPS_OUT):
            outside = inside + side * away
            q, last_out = least(outside, [wald, zero, last])
            # a second search can end lower, and the root has to find the sign that it sees
            if q > quantile * (1 + 1e-9) and above(outside, [last, last_out]) > 0:
                break
            inside, last, away = outside, last_out, away * GROWTH
        else:
            ends.append(side * math.inf)
            continue
        ends.append(brentq(partial(above, starts=[last, last_out]), inside, outside, xtol=1e-7 * step))
    return ends[0], ends[1]


def _tangent(release: Release, a: np.ndarray, quantile: float, zero: np.ndarray) -> np.ndarray | None:
    """Where a't is largest in {Q <= most}, by (d); None where no such point is found."""
    from scipy.optimize import root as solution

    hessian, middle, half = release.hessian, release.middle(), release.hessian_error**2 / 2
    gradient = release.scaling * release.gradient

    def omega(t: np.ndarray) -> np.ndarray:
        return np.asarray(middle + half * (t @ t * np.eye(len(t)) + np.outer(t, t)))

    inverse = np.linalg.inv(hessian)
    along = inverse @ omega(zero) @ inverse @ a
    width = math.sqrt(a @ along)

    def residual(at: np.ndarray) -> np.ndarray:
        t, slope = zero + at[:-1], at[-1]
        q = gradient + hessian @ t
        w = np.linalg.solve(omega(t), q)
        # over its own size at the start
        change = hessian @ w - half * (w @ w * t + (w @ t) * w) - slope * math.sqrt(quantile) / width * a
        return np.append(change, (q @ w - quantile) / quantile)

    solved = solution(residual, np.append(math.sqrt(quantile) * along / width, 1.0))
    return zero + solved.x[:-1] if solved.success and solved.x[-1] > 0 else None
