"""k records at once under Poisson sampling: how a step with all of them differs from one without any.

(a) Each of the k records is in a batch with probability q, independently. In noise units a record moves the sum by at
most mu. Then the pair

    P = sum_j Bin(k, q; j) N(j mu, 1)    against    Q = N(0, 1)

dominates, for data sets that differ in these k records, all of them there or none. (Ganesh, arXiv 2401.10294, states
it; the proof here is by interpolation.) The vectors of the records are g_1 .. g_k, chosen by earlier releases, |g_i| <=
mu, and a batch has the subset S of them with probability p_S, so that the sum is moved by g_S, |g_S| <= |S| mu. For Z
standard normal the likelihood ratio to the law without the records is

    L = sum_S p_S exp(<Z, g_S> - |g_S|^2 / 2),    a function of the normal variables <Z, g_S> with the covariances
    G_ST = <g_S, g_T>, which are at most G'_ST = |S| |T| mu^2, those of the pair above.

(b) Let f be convex, G(t) = (1 - t) G + t G', and X a centred normal vector with the covariance G(t). With the terms
e_S = exp(X_S - G_SS(t) / 2) and L_t = sum p_S e_S, Gaussian integration by parts gives

    d/dt E f(L_t) = 1/2 sum_{S,T} (G'_ST - G_ST) E[ f''(L_t) p_S p_T e_S e_T ] >= 0.

So E f(L) grows to its value for the pair, for every convex f. (c) With f(x) = (x - e^eps)_+ and (1 - e^eps x)_+ these
are the hockey-stick divergences in both orders; so the pair dominates, and steps compose by their loss distributions
(Zhu, Dong and Wang, 2022). Constant gradients attain it.

(d) The best event of the pair is a half-line, since log P / Q = log sum_j p_j e^(j mu x - (j mu)^2 / 2) increases: it
ends at the place t where that is eps.
"""

from __future__ import annotations

import math
from functools import cached_property, partial

import numpy as np

from dpexp.accounting.binomials import binomial_log_masses
from dpexp.accounting.mixtures import GaussianMixture, renyi_of
from dpexp.accounting.steps import Profile, StepLoss, Steps

NEWTON = 60
"""steps of Newton's method; it has its digits after a few, since the function is convex with slopes mu to k mu"""


class GroupStep(StepLoss):
    """One step seen by `size` records together; `multiplier` is noise over the norm of one of them."""

    def __init__(self, q: float, multiplier: float, size: int) -> None:
        super().__init__(q, multiplier, "add-remove")
        self.size = size
        # (a): how many of the k records a batch has; with q = 1 all of them, which Loader's form does not take
        counts = np.arange(size + 1.0)
        certain = np.where(counts == size, 0.0, -np.inf)
        self.counts, self.logs = counts, certain if q == 1 else binomial_log_masses(counts, size, q)

    @cached_property
    def curves(self) -> list[tuple[Profile, Profile]]:
        """Curves of both orders, each with that of the exchanged pair."""
        # (c): both orders
        removing, adding = (partial(_curve, self.counts, self.logs, self.mu, sign) for sign in (1.0, -1.0))
        return [(removing, adding), (adding, removing)]

    def _far(self, reach: float) -> float:
        """The place beyond which a step's law has about the mass of a normal law beyond `reach`."""
        from scipy.special import log_ndtr

        above = np.logaddexp.accumulate(self.logs[::-1])[::-1]  # log P(Bin >= j)
        # more records than these are in a batch with a smaller probability than that mass
        likely = int(np.flatnonzero(above >= float(log_ndtr(-reach)))[-1])
        return self.mu * likely + reach

    def top(self, reach: float) -> float:
        """The larger of the losses at the place above and, of the exchanged pair, at -reach."""
        removed = _log_ratio(self.counts, self.logs, self.mu, np.array([self._far(reach), -reach]))
        return float(max(removed[0], -removed[1]))

    def beyond(self, reach: float) -> float:
        """Probability of a loss above `top`, in the order of the neighbours in which it is larger, rounded up."""
        from scipy.special import ndtr

        mixed = float(np.sum(np.exp(self.logs) * ndtr(self.mu * self.counts - self._far(reach))))
        return max(mixed, float(ndtr(-reach))) * (1 + 1e-9)

    def accuracy(self, reach: float) -> float:
        """Ten times that of one record."""
        # exponents are up to `size` times as large
        return 3e-13 * reach**2 * (1 + 1 / self.mu)

    @property
    def unsampled(self) -> float:
        """mu of a step in which all of them are."""
        return self.mu * self.size

    def rdp(self, order: float) -> float:
        """The larger Renyi divergence of both orders of the neighbours, by quadrature."""
        kept = np.isfinite(self.logs)
        mixed = GaussianMixture(self.mu * self.counts[kept], self.logs[kept], 1.0)
        none = GaussianMixture(np.zeros(1), np.zeros(1), 1.0)
        return max(renyi_of(mixed, none, order), renyi_of(none, mixed, order))


def of_group(steps: Steps, size: int) -> Steps:
    """The same steps of Poisson sampled sums for `size` records together. Raises ValueError for other steps."""
    # (a) says nothing of groups of which some are added and others removed, nor of the cyclic-poisson groups of
    # records that take turns: there the generic conversion holds
    if any(step.scheme != "add-remove" or isinstance(step, GroupStep) for step, _ in steps):
        raise ValueError("the law of a group is that of Poisson sampling or full batches, records there or not")
    return tuple((GroupStep(step.q, 1 / step.mu, size), times) for step, times in steps)


def _log_ratio(counts: np.ndarray, logs: np.ndarray, mu: float, x: np.ndarray) -> np.ndarray:
    """log P / Q at the places x: it increases."""
    from scipy.special import logsumexp

    shift = mu * counts[:, None]
    found: np.ndarray = logsumexp(logs[:, None] + shift * (x - shift / 2), axis=0)
    return found


def _place(counts: np.ndarray, logs: np.ndarray, mu: float, eps: np.ndarray) -> np.ndarray:
    """t of (d), where the log ratio is eps; -inf where it is larger everywhere."""
    # (d): the place where the sum over j >= 1 is e^eps - P(no record)
    none = math.exp(logs[0])
    rest = np.expm1(eps) + (-math.expm1(logs[0]) if none < 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(rest > 0, np.log(np.maximum(rest, 1e-320)), np.nan)
    counts, logs = counts[1:], logs[1:]
    kept = np.isfinite(logs)
    slopes, heights = mu * counts[kept], logs[kept] - (mu * counts[kept]) ** 2 / 2
    # where the first of the terms reaches it alone: the sum is larger there, so that this is on the right of the root
    x = ((wanted - heights[:, None]) / slopes[:, None]).min(axis=0)
    # the logarithm of a sum of exponentials is convex, and here it increases: from above the method falls to the root
    for _ in range(NEWTON):
        terms = heights[:, None] + slopes[:, None] * x
        most = terms.max(axis=0)
        weights = np.exp(terms - most)
        total = weights.sum(axis=0)
        step = (most + np.log(total) - wanted) / ((weights * slopes[:, None]).sum(axis=0) / total)
        x = x - step
        if not np.any(np.abs(step) > 1e-15 * (1 + np.abs(x))):
            break
    found: np.ndarray = np.where(rest > 0, x, -np.inf)
    return found


def _curve(counts: np.ndarray, logs: np.ndarray, mu: float, sign: float, eps: np.ndarray) -> np.ndarray:
    """The mixture against N(0, 1), by the event x > t of (d), or with the sign -1 the other way round, by x < t."""
    from scipy.special import log_ndtr, ndtr

    # where the ratio exceeds e^eps everywhere the event is everything, and the difference 1 - e^eps
    t = _place(counts, logs, mu, sign * eps)
    finite = np.isfinite(t)
    at, shift = np.where(finite, t, 0.0), mu * counts[:, None]
    # with e^eps (or e^-eps) as the sum that it is at t, P - e^eps Q is one sum over j of which no term is negative
    terms = sign * (ndtr(sign * (shift - at)) - np.exp(shift * at - shift**2 / 2 + log_ndtr(-sign * at)))
    total = (np.exp(logs[:, None]) * terms).sum(axis=0)
    return np.where(finite, total, -np.expm1(eps)) if sign > 0 else np.where(finite, np.exp(eps) * total, 0.0)
