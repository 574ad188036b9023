"""What all iterates together attain: T releases of a one-step pair, from below, and exactly by inversion.

Constant gradients make the releases independent, so that the loss is a sum of T losses of

    add-remove      (1 - q) N(0) + q N(mu)   against N(0), and swapped                    mu = 1 / z
    opposite        (1 - q) N(0) + q N(mu)   against (1 - q) N(0) + q N(-mu)              (Poisson, replace-one)
    flipped         the first pair with mu = 2 / z: all others +, one of a batch of fixed size flipped

`LowerLoss` is a bound from below by post-processing: the outcome z of a step is cut into cells whose losses lie between
(k - 1/2) h and (k + 1/2) h. A cell's own loss log(P_k / Q_k) falls short of k h by at most D (cells that are shorter
move down by whole cells), so delta_T(eps) >= delta of the grid's law at eps + T D. The T-fold law is computed after
a tilt e^(t loss), so that rounding is small beside the masses that delta is made of.

`inverted` is the same delta by Laplace inversion, delta(eps) = 1/pi int Re e^(T K(s) - s eps) / (s (s + 1)) dy along
s = t + i y, K(s) = log E e^(s loss): another route, exact up to quadrature, for one order of the pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

Pair = Literal["add-remove", "opposite"]
_ROUNDING = 8 * 1.1e-16
"""relative error of a Fourier transform of length N over log2 N, in the mean square (Higham, Theorem 24.2)"""
_OUTSIDE = 1e-16
"""mass of the tilted law outside of the window, each side"""
_MOST = 1 << 22
"""largest transform"""


@dataclass(frozen=True)
class Step:
    """One step: P has weight q at mu, Q (opposite) weight q at -mu; `swapped` exchanges them."""

    pair: Pair
    q: float
    mu: float
    swapped: bool = False

    def loss(self, z: np.ndarray) -> np.ndarray:
        """log P / Q at the outcome z; increasing in z, decreasing if swapped."""
        away = math.log1p(-self.q) if self.q < 1 else -math.inf
        up = np.logaddexp(away, math.log(self.q) + self.mu * z - self.mu**2 / 2)
        if self.pair == "opposite":
            up = up - np.logaddexp(away, math.log(self.q) - self.mu * z - self.mu**2 / 2)
        return np.asarray(-up if self.swapped else up)

    def masses(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P and Q masses between edges [E]: [E - 1]."""
        base, up, down = (_normal_masses(edges - m) for m in (0.0, self.mu, -self.mu))
        p = (1 - self.q) * base + self.q * up
        q = (1 - self.q) * base + self.q * down if self.pair == "opposite" else base
        return (q, p) if self.swapped else (p, q)

    @property
    def reach(self) -> tuple[float, float]:
        """Outcomes that are looked at: 13 deviations beyond the means."""
        return (-13.0 - (self.mu if self.pair == "opposite" else 0.0), 13.0 + self.mu)


def _normal_masses(edges: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    below, above = ndtr(edges), ndtr(-edges)
    return np.where(edges[:-1] > 0, above[:-1] - above[1:], below[1:] - below[:-1])


class LowerLoss:
    """T steps, from below."""

    def __init__(self, step: Step, steps: int, fine: bool = True) -> None:
        self.step, self.steps = step, steps
        self.share, self.most_cells, self.most = (0.04, 400_000, _MOST) if fine else (0.15, 8_000, _MOST // 32)

    @cached_property
    def _cells(self) -> tuple[float, int, np.ndarray, float]:
        """Width h, first cell k, masses of cells k, k + 1, ..., shortfall D."""
        z = np.linspace(*self.step.reach, 20_001)
        loss = self.step.loss(z)
        p, _ = self.step.masses(np.append(z, 2 * z[-1] - z[-2]))
        mean = float(p @ loss)
        spread = math.sqrt(max(float(p @ (loss - mean) ** 2), 1e-24))
        # T D is about T h^2 / (4 spread), so that h = .04 spread / T^(1/4) leaves about 1e-3 deviations of the sum; the
        # grid of one step and the window of the sum, about 20 deviations wide, have to fit the transform as well
        widest = 60 * math.sqrt(self.steps) * spread / (self.most / 4)
        h = max(self.share * spread / self.steps**0.25, float(loss.max() - loss.min()) / self.most_cells, widest)
        edges, k = self._edges(h, z, loss)
        p, q = self.step.masses(edges)
        if self.step.swapped:
            p, q, k = p[::-1], q[::-1], k[::-1]
        seen = (p > 0) & (q > 1e-300)
        p, q, k = p[seen], q[seen], k[seen]
        short = np.maximum(0.0, k * h - (np.log(p) - np.log(q)))
        order = np.argsort(short)
        beyond = 1 - np.cumsum(p[order]) / p.sum()  # mass of the cells that are shorter than this one
        allowed = float(short[order][np.argmin(short[order] + h * np.maximum(beyond, 0.0))])
        down = np.where(short > allowed, np.ceil((short - allowed) / h), 0.0).astype(int)
        at = k - down
        first = int(at.min())
        masses = np.bincount(at - first, weights=p)
        return h, first, masses, allowed

    def _edges(self, h: float, z: np.ndarray, loss: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outcomes at which the loss passes (k + 1/2) h, in increasing order, and the k of the cells between."""
        sign = -1.0 if self.step.swapped else 1.0
        low, high = float(loss.min()), float(loss.max())
        levels = (np.arange(math.floor(low / h), math.ceil(high / h) + 1) + 0.5) * h
        levels = levels[(levels > low) & (levels < high)]
        inner = np.interp(sign * levels if sign > 0 else -levels[::-1], sign * loss, z)
        levels = levels if sign > 0 else levels[::-1]
        for _ in range(4):  # Newton from the table
            step = 1e-5
            slope = (self.step.loss(inner + step) - self.step.loss(inner - step)) / (2 * step)
            move = (self.step.loss(inner) - levels) / np.where(np.abs(slope) > 1e-12, slope, np.inf)
            inner = inner - np.clip(move, -1e-3, 1e-3)
        inner = np.maximum.accumulate(inner)
        k = np.round(levels / h - 0.5).astype(int)
        cells = np.append(k if sign > 0 else k + 1, k[-1] + 1 if sign > 0 else k[-1]) if len(k) else np.array([0])
        return np.concatenate([[-np.inf], inner, [np.inf]]), cells

    def _tilt_for(self, delta: float) -> tuple[float, float]:
        """Tilt t and about the epsilon at delta, by the saddle point: T K'(t) = eps + 1/t + 1/(1+t)."""
        h, first, masses, _ = self._cells
        starts = np.arange(0, len(masses), 1 + len(masses) // 4000)  # any tilt is valid, so that groups will do
        grouped = np.add.reduceat(masses, starts)
        moments = np.add.reduceat(masses * (first + np.arange(len(masses))), starts)
        seen = grouped > 0
        log_p, at = np.log(grouped[seen]), h * moments[seen] / grouped[seen]

        def cumulants(t: float) -> tuple[float, float, float]:
            e = log_p + t * at
            top = float(e.max())
            w = np.exp(e - top)
            total = float(w.sum())
            mean = float(w @ at) / total
            return top + math.log(total), mean, float(w @ (at - mean) ** 2) / total

        low, high = 1e-6, 1e6
        for _ in range(60):
            t = math.sqrt(low * high)
            k, mean, variance = cumulants(t)
            eps = self.steps * mean - 1 / t - 1 / (1 + t)
            log_delta = self.steps * k - t * eps - math.log(t * (1 + t))
            log_delta -= math.log(2 * math.pi * max(self.steps * variance, 1e-12) + 1 / t**2) / 2
            low, high = (t, high) if log_delta > math.log(delta) else (low, t)
        return t, eps

    def _law(self, t: float) -> tuple[np.ndarray, np.ndarray, float, float] | None:
        """Losses above 0 (about) of the tilted T-fold law, its masses, T K(t), and a bound on the masses' error."""
        from scipy import fft

        h, first, masses, _ = self._cells
        index = np.arange(len(masses))
        e = np.where(masses > 0, np.log(np.maximum(masses, 1e-320)) + t * h * (first + index), -np.inf)
        top = float(e.max())
        w = np.exp(e - top)
        k = top + math.log(float(w.sum()))
        w /= w.sum()
        mean = float(w @ index)
        variance = float(w @ (index - mean) ** 2)
        reach = self._chernoff(w, index - mean)
        low, high = math.floor(self.steps * mean - reach[0]), math.ceil(self.steps * mean + reach[1])
        low, high = max(low, 0), min(high, self.steps * (len(w) - 1))
        size = max(high - low + 1, len(w))
        if size > self.most or variance == 0:
            return None
        n = fft.next_fast_len(size, real=True)
        spectrum = fft.rfft(w, n)
        size_of = np.abs(spectrum)
        power = np.exp(self.steps * np.log(np.where(size_of > 0, spectrum, 1.0))) * (size_of > 0)
        law = np.roll(fft.irfft(power, n), -(low % n))[: high - low + 1]
        unit = _ROUNDING * math.log2(n)
        e_max = unit * math.sqrt(n) * float(np.linalg.norm(w))
        p2 = 2 * float(np.sum(np.minimum(1.0, size_of + e_max) ** (2.0 * (self.steps - 1))))
        r = size_of**self.steps
        phase = np.abs(np.log(np.where(size_of > 0, spectrum, 1.0)))
        q2 = 2 * float(np.sum((r * (self.steps * phase + math.pi * self.steps + 8) * 4.4e-16) ** 2))
        r2 = 2 * float(np.sum(r**2))
        error = math.sqrt(len(law)) / math.sqrt(n)
        error *= self.steps * e_max * math.sqrt(p2) + math.sqrt(q2) + unit * math.sqrt(r2)
        losses = h * (self.steps * first + low + np.arange(len(law)))
        return losses, law, self.steps * k, error + 4 * _OUTSIDE

    def _chernoff(self, w: np.ndarray, away: np.ndarray) -> tuple[float, float]:
        """Distances beyond which the T-fold tilted law has mass below `_OUTSIDE`, on either side."""
        sd = math.sqrt(float(w @ away**2) * self.steps)
        log_w = np.log(np.maximum(w, 1e-320))
        ends = []
        for sign in (-1.0, 1.0):
            best = math.inf
            for rate in np.geomspace(0.5, 12, 12) / max(sd, 1e-9):
                e = log_w + sign * rate * away
                top = float(e.max())
                moment = top + math.log(float(np.exp(e - top).sum()))
                best = min(best, (self.steps * moment - math.log(_OUTSIDE)) / rate)
            ends.append(best + 1)
        return ends[0], ends[1]

    def eps(self, delta: float) -> float:
        """A lower bound of epsilon at delta; 0 where the grid cannot tell."""
        t, guess = self._tilt_for(delta)
        found = self._law(t)
        if found is None:
            return 0.0
        losses, law, log_scale, error = found
        kappa = math.exp(t * math.log(t) - (1 + t) * math.log1p(t)) if t < 1e6 else 0.0

        def delta_at(eps: float) -> float:
            first = int(np.searchsorted(losses, eps, side="right"))
            last = int(np.searchsorted(losses, eps + 45 / t))  # beyond, e^-45 of a mass below 1 is left out: lower
            gap = losses[first:last] - eps
            value = float(np.sum(law[first:last] * np.exp(-t * gap) * -np.expm1(-gap))) - kappa * error
            return math.exp(min(log_scale - t * eps, 700.0)) * value

        # far from the tilt's epsilon rounding is not small: look near it, from above
        reach = 4 / t + 0.1 * abs(guess) + 1e-3
        places = np.linspace(max(0.0, guess - reach), max(0.0, guess + reach), 21)
        met = next((k for k in range(20, -1, -1) if delta_at(float(places[k])) > delta), None)
        if met is None:
            return 0.0
        low, high = float(places[met]), float(places[min(20, met + 1)])
        for _ in range(24):
            middle = (low + high) / 2
            low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
        return max(0.0, low - self.steps * self._cells[3])


def composed_eps(pair: Pair, q: float, mu: float, steps: int, delta: float, fine: bool = True) -> float:
    """Both orders of the pair, from below; not `fine` is a hundred times faster and up to some percent lower."""
    if q == 1:
        return gaussian_eps((2 if pair == "opposite" else 1) * mu * math.sqrt(steps), delta)
    orders = [Step(pair, q, mu)]  # the larger one in all settings looked at; either is a lower bound
    if fine and pair == "add-remove":
        orders.append(Step(pair, q, mu, True))
    return max(LowerLoss(step, steps, fine).eps(delta) for step in orders)


def gaussian_eps(mu: float, delta: float) -> float:
    """Epsilon of N(mu, 1) against N(0, 1): the largest log((P - delta) / Q) over half lines, which are optimal."""
    from scipy.special import log_ndtr

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


def composed_renyi(pair: Pair, q: float, mu: float, steps: int, order: float) -> float:
    """T times the one-step divergence, the larger order of the pair, by the trapezoid rule in the outcome."""
    found = []
    for swapped in (False, True):
        step = Step(pair, q, mu, swapped)
        z = np.arange(-14.0 - order * mu, 14.0 + order * mu, min(0.05, 0.2 / max(mu, 1e-9)))
        loss = step.loss(z)
        base = -(z**2) / 2 - math.log(2 * math.pi) / 2
        own = base + (step.loss(z) if not swapped else 0.0)  # log density of P where Q is the standard normal
        if pair == "opposite":
            away = math.log1p(-q) if q < 1 else -math.inf
            sign = -1.0 if swapped else 1.0
            own = base + np.logaddexp(away, math.log(q) + sign * mu * z - mu**2 / 2)
        log_q = own - loss
        u = np.expm1(np.minimum(loss, 600.0))
        width = math.log(z[1] - z[0])
        exponents = log_q + order * loss + width
        top = float(exponents.max())
        if top < 0 and float(np.max(np.abs(u) * np.exp(np.minimum(log_q, 0)))) < 1e300:
            with np.errstate(over="ignore", invalid="ignore"):
                small = order * (order - 1) / 2 * u * u * (1 + (order - 2) / 3 * u)
                big = np.exp(log_q + order * loss) - np.exp(log_q) * (1 + order * u)
                terms = np.where(np.abs(u) * order < 1e-4, np.exp(log_q) * small, big)
            total = float(np.sum(terms)) * (z[1] - z[0])
            found.append(math.log1p(max(total, 0.0)) / (order - 1))
        else:
            found.append((top + math.log(float(np.exp(exponents - top).sum()))) / (order - 1))
    return steps * max(found) * (1 - 1e-9)


def inverted(step: Step, steps: int, eps: float) -> float:
    """delta at eps of T steps, one order, by Laplace inversion; the reference for `LowerLoss`."""
    z = np.arange(-30.0 - step.mu, 30.0 * max(1.0, step.mu) + step.mu, 0.01)
    loss = step.loss(z)
    base = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    up = np.exp(-((z - step.mu) ** 2) / 2) / math.sqrt(2 * math.pi)
    down = np.exp(-((z + step.mu) ** 2) / 2) / math.sqrt(2 * math.pi)
    p, q = (1 - step.q) * base + step.q * up, (1 - step.q) * base + step.q * down if step.pair == "opposite" else base
    density = (q if step.swapped else p) * (z[1] - z[0])
    seen = density > 0
    loss, log_d = loss[seen], np.log(density[seen])

    def moments(t: float) -> tuple[float, float, float]:
        e = log_d + t * loss
        top = float(e.max())
        w = np.exp(e - top)
        total = float(w.sum())
        mean = float(w @ loss) / total
        return top + math.log(total), mean, float(w @ (loss - mean) ** 2) / total

    low, high = 1e-4, 1e5
    for _ in range(100):
        t = math.sqrt(low * high)
        low, high = (t, high) if steps * moments(t)[1] < eps + 1 / t + 1 / (1 + t) else (low, t)
    k, _, variance = moments(t)
    curvature = steps * variance + 1 / t**2 + 1 / (1 + t) ** 2
    width = 0.035 / math.sqrt(curvature)
    total, block, y0 = 0.0, 200, 0.0
    keep = log_d + t * loss - k > math.log(1e-22)
    tilted, at = np.exp(log_d[keep] + t * loss[keep] - k), loss[keep]
    largest = 0.0
    for _ in range(400):
        y = y0 + width * (np.arange(block) + 0.5)
        transform = np.array([np.sum(tilted * np.exp(1j * v * at)) for v in y])
        s = t + 1j * y
        integrand = np.real(np.exp(steps * np.log(transform) - 1j * y * eps) / (s * (s + 1)))
        total += float(integrand.sum()) * width
        largest = max(largest, float(np.abs(integrand).max()))
        if float(np.abs(integrand).max()) < 1e-13 * largest:
            break
        y0 += width * block
    return math.exp(steps * k - t * eps) * total / math.pi
