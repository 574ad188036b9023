"""Steps with fresh noise, of which each may or may not have used the record: the log-likelihood ratio of all of them.

Without the canary a noisy sum is N(0, s^2 I) after what is known is taken off; with it the sum is N(g, s^2 I) with
probability q. Given the iterates before a step its coin and noise are fresh, so the ratios multiply:

    sum_t log(1 - q + q exp((<r_t, g_t> - |g_t|^2 / 2) / s_t^2))

(spec of the audit: with x_t = <r_t, g_t> / C^2 and s = z C, |g| = C, this is log(1 - q + q e^((x_t - 1/2) / z^2))).
"""

from __future__ import annotations

import numpy as np


def log_likelihood_ratio(sums: np.ndarray, effects: np.ndarray, noise: np.ndarray, q: float) -> np.ndarray:
    """[R], of noisy sums [R, T, D] less what is known, the effects of the canary [R, T, D], and noise s_t [T]."""
    return coins(log_ratios(sums, effects, noise), q)


def log_ratios(sums: np.ndarray, effects: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Of every step, if it is known to have used the record [R, T]: (<r_t, g_t> - |g_t|^2 / 2) / s_t^2."""
    return np.asarray(np.sum((sums - effects / 2) * effects, axis=2) / noise**2)


def coins(ratios: np.ndarray, q: float) -> np.ndarray:
    """Of steps [R, T] that use the record with probability q each, independently [R]."""
    return np.asarray(np.logaddexp(np.log1p(-q) if q < 1 else -np.inf, np.log(q) + ratios).sum(axis=1))


def opposite_log_likelihood_ratio(sums: np.ndarray, effects: np.ndarray, noise: np.ndarray, q: float) -> np.ndarray:
    """The same where the record is replaced: `effects` with probability q, against minus that."""
    return log_likelihood_ratio(sums, effects, noise, q) - log_likelihood_ratio(sums, -effects, noise, q)
