"""delta of T composed sampled Gaussian steps by inverting their moment generating function; shares no code with dpexp.

With P and Q the laws of one step of noise 1 and mean distance mu, L = log P / Q and K(s) = log E_P e^(s L), for any t > 0

    delta(eps) = (1 / pi) integral over y > 0 of Re e^(T K(t + iy) - (t + iy) eps) / ((t + iy)(t + iy + 1)) dy.

K is a trapezoidal sum over the noise z. TRAP: the contour must go on until the integrand is below 1e-13 of its start:
where few batches hold the record the loss is nearly discrete, and the integrand falls slowly.
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

BLOCK = 200


class Inverted:
    """`parts` are (q, mean distance, steps); `pair` is remove, add, opposite (replace-one under Poisson sampling) or
    symmetrised (batches of fixed size)."""

    def __init__(self, parts, pair):
        self.pair = pair
        self.kinds = [(q, mu, steps, *_nodes(mu, pair)) for q, mu, steps in parts]

    def logs(self, s):
        """Sum of T K at complex points s [N]: logarithms may be off by 2 pi i, which T whole does not see."""
        return sum(steps * self._log(s, q, mu, z, weight) for q, mu, steps, z, weight in self.kinds)

    def _log(self, s, q, mu, z, weight):
        with np.errstate(divide="ignore"):
            log_r = np.logaddexp(np.log1p(-q), np.log(q) + mu * z - mu**2 / 2)
            log_m = np.logaddexp(np.log1p(-q), np.log(q) - mu * z - mu**2 / 2)
        log_phi = -(z**2) / 2 - math.log(2 * math.pi) / 2 + np.log(weight)
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
        d = 0.01 * t  # of the order of t: the curvature is lost in rounding for a smaller one
        low, mid, high = self.logs(np.array([t - d, t, t + d], dtype=complex)).real
        return mid, (high - low) / (2 * d), max((high - 2 * mid + low) / d**2, 1e-12)

    def at(self, t):
        """delta as a function of eps, on the contour through t."""
        value, _, curvature = self.cumulants(t)
        step = 0.035 / math.sqrt(curvature)
        ys, terms, start = [], [], None
        for block in range(4000):
            y = step * (BLOCK * block + np.arange(BLOCK))
            points = t + 1j * y
            log_term = self.logs(points) - value - np.log(points * (points + 1))
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
            return math.exp(value - t * eps) * whole

        return delta

    def eps(self, delta):
        """The eps > 0 with delta(eps) = delta."""

        def excess(log_t):  # Chernoff's exponent at the eps that t belongs to
            t = math.exp(log_t)
            value, slope, curvature = self.cumulants(t)
            eps = slope - 1 / t - 1 / (1 + t)
            log_delta = value - t * eps - math.log(t * (1 + t) * math.sqrt(2 * math.pi * curvature))
            return log_delta - math.log(delta)

        low, high = -3.0, 0.0
        while excess(high) > 0:
            high += 0.5
        t = math.exp(brentq(excess, low, high, xtol=1e-3)) if excess(low) > 0 else math.exp(low)
        curve = self.at(t)
        centre = self.cumulants(t)[1] - 1 / t - 1 / (1 + t)
        wide = 0.05 / t  # far from the centre the integral cancels
        low, high = centre - wide, centre + wide
        while curve(low) < delta:
            low -= wide
        while curve(high) > delta:
            high += wide
        return brentq(lambda e: math.log(curve(e) / delta), low, high, xtol=1e-13, rtol=1e-13)


def epsilon(parts, delta, pairs=("remove", "add")):
    """eps(delta) of steps of several kinds (q, noise, steps), the larger of the orders given."""
    return max(Inverted([(q, 1 / noise, steps) for q, noise, steps in parts], pair).eps(delta) for pair in pairs)


def gaussian_eps(mu, delta):
    """Epsilon of N(mu, 1) against N(0, 1): the largest log((P - delta) / Q) over half lines, which are optimal."""
    low, high, best = -10.0, mu + 12.0, 0.0
    for _ in range(5):
        x = np.linspace(low, high, 201)
        above = np.exp(log_ndtr(mu - x)) * (1 - 1e-14) - delta
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(above > 0, np.log(above) - log_ndtr(-x), -np.inf)
        k = int(np.argmax(value))
        best = max(best, float(value[k]))
        low, high = float(x[max(0, k - 1)]), float(x[min(200, k + 1)])
    return best


def _nodes(mu, pair):
    """A trapezoidal rule on the whole line; Gauss-Legendre panels where the integral starts at a finite point."""
    # the error falls like e^(-2 pi a / step): no zero of a law is within a = min(1, pi / mu) of the real line
    step, stop = min(0.08, 0.4 / mu), 15.0 + 30 * mu
    if pair != "symmetrised":
        z = np.arange(-14.0, stop, step)
        return z, np.full(len(z), step)
    x, w = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(mu / 2, stop, 1 + math.ceil((stop - mu / 2) / (10 * step)))
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel()


def _log_sum(exponents):
    top = exponents.real.max(axis=1)
    return top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))
