"""delta of T composed sampled Gaussian steps by inverting their moment generating function; shares no code with dpexp.

With P and Q the laws of one step of noise 1 and mean distance mu, L = log P / Q and K(s) = log E_P e^(s L), for any t > 0

    delta(eps) = (1 / pi) integral over y > 0 of Re e^(T K(t + iy) - (t + iy) eps) / ((t + iy)(t + iy + 1)) dy.

K is a trapezoidal sum over the noise z. TRAP: the contour must go on until the integrand is below 1e-13 of its start:
where few batches hold the record the loss is nearly discrete, and the integrand falls slowly.
"""

import math

import numpy as np
from scipy.optimize import brentq

BLOCK = 200


class Inverted:
    """`pair` is remove, add, opposite (replace-one under Poisson sampling) or symmetrised (batches of fixed size)."""

    def __init__(self, q, mu, steps, pair):
        self.q, self.mu, self.steps, self.pair = q, mu, steps, pair
        start = mu / 2 if pair == "symmetrised" else -14.0
        self.z, self.weight = _nodes(start, 15.0 + 30 * mu, min(0.02, mu / 8) if mu < 4 else 0.02)

    def logs(self, s):
        """K at complex points s [N]: logarithms may be off by 2 pi i, which T whole does not see."""
        shift = self.mu * self.z - self.mu**2 / 2
        with np.errstate(divide="ignore"):
            log_r = np.logaddexp(np.log1p(-self.q), np.log(self.q) + shift)
            log_m = np.logaddexp(np.log1p(-self.q), np.log(self.q) - self.mu * self.z - self.mu**2 / 2)
        log_phi = -self.z**2 / 2 - math.log(2 * math.pi) / 2 + np.log(self.weight)
        s = np.asarray(s)[:, None]
        if self.pair == "remove":
            return _log_sum(log_phi + (1 + s) * log_r)
        if self.pair == "add":
            return _log_sum(log_phi - s * log_r)
        if self.pair == "opposite":
            return _log_sum(log_phi + log_r + s * (log_r - log_m))
        far = np.exp(_log_sum((log_phi + log_r)[None, :]))[0] + np.exp(_log_sum(log_phi[None, :]))[0]
        one, other = _log_sum(log_phi + (1 + s) * log_r), _log_sum(log_phi - s * log_r)
        top = np.maximum(one.real, 0)
        return top + np.log(np.exp(one - top) + np.exp(other - top) + (1 - far) * np.exp(-top))

    def cumulants(self, t):
        d = 1e-3 * min(1.0, t)
        low, mid, high = self.logs(np.array([t - d, t, t + d], dtype=complex)).real
        return mid, (high - low) / (2 * d), max((high - 2 * mid + low) / d**2, 1e-12)

    def at(self, t):
        """delta as a function of eps, on the contour through t."""
        value, _, curvature = self.cumulants(t)
        step = 0.035 / math.sqrt(self.steps * curvature)
        ys, terms, start = [], [], None
        for block in range(4000):
            y = step * (BLOCK * block + np.arange(BLOCK))
            points = t + 1j * y
            log_term = self.steps * (self.logs(points) - value) - np.log(points * (points + 1))
            start = log_term[0].real if start is None else start
            ys.append(y)
            terms.append(log_term)
            if log_term.real.max() < start - 13 * math.log(10) and block:
                break
        else:
            raise RuntimeError("the integrand does not fall")
        y, term = np.concatenate(ys), np.concatenate(terms)
        weights = np.full(len(y), step)
        weights[0] /= 2

        def delta(eps):
            whole = np.sum(weights * np.exp(term - 1j * y * eps)).real / math.pi
            return math.exp(self.steps * value - t * eps) * whole

        return delta

    def eps(self, delta):
        """The eps > 0 with delta(eps) = delta."""

        def excess(log_t):  # Chernoff's exponent at the eps that t belongs to
            t = math.exp(log_t)
            value, slope, curvature = self.cumulants(t)
            eps = self.steps * slope - 1 / t - 1 / (1 + t)
            log_delta = self.steps * value - t * eps - math.log(t * (1 + t) * math.sqrt(2 * math.pi * self.steps * curvature))
            return log_delta - math.log(delta)

        low, high = -3.0, 0.0
        while excess(high) > 0:
            high += 0.5
        t = math.exp(brentq(excess, low, high, xtol=1e-3)) if excess(low) > 0 else math.exp(low)
        curve = self.at(t)
        centre = self.steps * self.cumulants(t)[1] - 1 / t - 1 / (1 + t)
        wide = 0.05 / t  # far from the centre the integral cancels
        low, high = centre - wide, centre + wide
        while curve(low) < delta:
            low -= wide
        while curve(high) > delta:
            high += wide
        return brentq(lambda e: math.log(curve(e) / delta), low, high, xtol=1e-13, rtol=1e-13)


def epsilon(q, noise, steps, delta, pairs=("remove", "add")):
    return max(Inverted(q, 1 / noise, steps, pair).eps(delta) for pair in pairs)


def _nodes(start, stop, step):
    """A trapezoidal rule on the whole line; Gauss-Legendre panels where the integral starts at a finite point."""
    if start < -13:
        z = np.arange(start, stop, step)
        return z, np.full(len(z), step)
    x, w = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(start, stop, 1 + math.ceil((stop - start) / (10 * step)))
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel()


def _log_sum(exponents):
    top = exponents.real.max(axis=1)
    return top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))
