"""Staged-newton for one replicate, one user and one coordinate at a time, straight from its description.

`inference`, section 3. Gradients are those of `tests.oracles.ldp_sgd`; Hessians are written out here. Nothing here knows
of lanes, blocks or upper triangles.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tests.oracles.ldp_sgd import huber_gradient, logistic_gradient

Vector = list[float]


def huber_hessian(theta: Vector, x: Vector, y: float, c: float, known: float | None) -> np.ndarray:
    """(w / s) 1{|u| <= c} [x; u] [x; u]'."""
    scale = theta[-1] if known is None else known
    w = min(1.0, 2.0 / sum(v * v for v in x))
    u = (y - sum(a * b for a, b in zip(x, theta, strict=False))) / scale
    row = np.array(x if known is not None else [*x, u])
    return (w / scale) * np.outer(row, row) if abs(u) <= c else np.zeros((len(row), len(row)))


def logistic_hessian(theta: Vector, x: Vector, y: float) -> np.ndarray:
    """w p (1 - p) x x'."""
    w = min(1.0, 2.0 / sum(v * v for v in x))
    p = 1 / (1 + math.exp(-sum(a * b for a, b in zip(x, theta, strict=True))))
    return w * p * (1 - p) * np.outer(x, x)


class Loss(NamedTuple):
    gradient: Callable[[Vector, Vector, float], Vector]
    hessian: Callable[[Vector, Vector, float], np.ndarray]
    delta: float | np.ndarray
    """of all entries of a gradient, or of each"""
    bound: float
    """B: the Frobenius norm of a Hessian is at most B over the scale"""
    known_scale: float | None
    """the scale where it is no parameter"""
    scale_min: float


def huber(c: float, kappa: float, delta: float, scale_min: float, known: float | None = None) -> Loss:
    return Loss(
        lambda theta, x, y: huber_gradient(theta, x, y, c, kappa, known),
        lambda theta, x, y: huber_hessian(theta, x, y, c, known),
        delta, 2 + c * c if known is None else 2.0, known, scale_min,
    )  # fmt: skip


def logistic() -> Loss:
    return Loss(logistic_gradient, logistic_hessian, 2 * math.sqrt(2), 0.5, 1.0, 0.0)


class Stage:
    """The sums of one stage."""

    def __init__(self, p: int) -> None:
        self.v = self.v2 = self.u = self.d2 = 0.0
        self.a, self.g = np.zeros(p), np.zeros(p)
        self.q, self.m = np.zeros((p, p)), np.zeros((p, p))


def stage(
    loss: Loss,
    theta: np.ndarray,
    users: Iterator[tuple[Vector, float, float, float, float]],
    noise: Iterator[float],
    hessian_noise: Iterator[float],
    eta: np.ndarray,
    every: int,
    summed: int = 1,
) -> tuple[np.ndarray, Stage]:
    """Users (x, y, mu, v, u), one after the other; theta after them, and the sums from user `summed` on."""
    p, kept = len(theta), Stage(len(theta))
    for i in range(1, len(eta) + 1):
        x, y, mu, v, u = next(users)
        omega = np.array([next(noise) for _ in range(p)])
        scale = theta[-1] if loss.known_scale is None else loss.known_scale
        if every and i % every == 0:
            w = np.zeros((p, p))
            for j in range(p):
                for k in range(j, p):
                    w[j, k] = w[k, j] = next(hessian_noise) * (1.0 if j == k else math.sqrt(0.5))
            delta_h = math.sqrt(2) * loss.bound / scale
            message = loss.hessian(list(theta), x, y) + (delta_h / mu) * w
            if i >= summed:
                kept.m += u * message
                kept.u += u
                kept.d2 += u * u * delta_h**2 / mu**2
            continue
        message = np.array(loss.gradient(list(theta), x, y)) + (loss.delta / mu) * omega
        if i >= summed:
            kept.v += v
            kept.v2 += v * v
            kept.a += v * theta
            kept.g += v * message
            kept.q += v * v * np.outer(message, message)
        theta = theta - eta[i - 1] * v * message
        if loss.known_scale is None:
            theta[-1] = max(theta[-1], loss.scale_min)
    return theta, kept


def regularise(mean: np.ndarray, error: float) -> np.ndarray:
    """Section 3.4, as it is printed."""
    p = len(mean)
    values, vectors = np.linalg.eigh(mean)
    clipped = vectors @ np.diag(np.maximum(values, error)) @ vectors.T
    if error == 0:
        return clipped
    g = np.linalg.inv(clipped + error * np.eye(p))
    for _ in range(60):
        g = g / 2 + np.linalg.inv(clipped + error**2 / 2 * (g + np.trace(g) * np.eye(p))) / 2
    return np.linalg.inv(g)


def estimate(kept: Stage) -> tuple[np.ndarray, np.ndarray]:
    """theta~, and C with what the noise of the Hessian adds to it."""
    error = math.sqrt(kept.d2) / kept.u
    inverse = np.linalg.inv(regularise(kept.m / kept.u, error))
    d = inverse @ kept.g / kept.v
    added = error**2 / 2 * (np.outer(d, d) + (d @ d) * np.eye(len(d)))
    return kept.a / kept.v - d, inverse @ (kept.q / kept.v**2 + added) @ inverse


def jump(kept: Stage, has_scale: bool) -> np.ndarray:
    current = kept.a / kept.v
    change = estimate(kept)[0] - current
    most = 2 * current[-1] if has_scale else 2.0
    beta = slice(None, -1) if has_scale else slice(None)
    if np.linalg.norm(change[beta]) > most:
        change[beta] *= most / np.linalg.norm(change[beta])
    target = current + change
    if has_scale:
        target[-1] = min(max(target[-1], current[-1] / 2), 2 * current[-1])
    return target


def pace(kept: Stage, h: float, guess: np.ndarray) -> float:
    """How much longer the next steps are: g / r~, where r~ is the mean of measured and guessed ratio by precision."""
    size = sum(float(v) ** 2 for v in guess.ravel())
    ratio = float(np.trace(guess @ kept.m)) / kept.u / size
    precision, guessed = (
        size * kept.u**2 / kept.d2 if kept.d2 else math.inf,
        h / float(np.median(np.linalg.eigvalsh(guess))),
    )
    if math.isinf(precision):
        return min(max(guessed / ratio, 1 / 16), 16.0)
    mixed = (ratio * precision + guessed * guessed**-2) / (precision + guessed**-2)
    return min(max(guessed / mixed, 1 / 16), 16.0)


def scale_bias(both: Stage, theta: np.ndarray, covariance: np.ndarray, time: float, loss: Loss) -> float:
    """(time / (4 s H_ss)) (b S_ss + (q / P) sum_j S_jj), with moments of normal errors by a sum over a fine grid."""
    c = math.sqrt(loss.bound - 2)
    e = (np.arange(200_000) + 0.5) / 100_000 * c - c
    density = np.exp(-e * e / 2) / math.sqrt(2 * math.pi) * c / 100_000
    inside, square = float(np.sum(density)), float(np.sum(e * e * density))
    b = 3 - 2 * c**3 * math.exp(-c * c / 2) / math.sqrt(2 * math.pi) / square
    spread = np.diag(both.q) / both.v**2
    thrown = b * spread[-1] + square / inside * sum(spread[:-1])
    curvature = regularise(both.m / both.u, math.sqrt(both.d2) / both.u)[-1, -1]
    bias = time / (4 * max(theta[-1], loss.scale_min) * curvature) * thrown
    return float(min(bias, math.sqrt(covariance[-1, -1])))


def staged_newton(
    loss: Loss,
    start: Vector,
    users: Iterator[tuple[Vector, float, float, float, float]],
    noise: Iterator[float],
    hessian_noise: Iterator[float],
    n: int,
    h: float,
    every: int,
    guess: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """theta~ and C after shares (.1, .3, .6) with T = (2, 3, 2). n is a multiple of 10.

    `guess` is the guessed Hessian.
    """
    n1, n2, n3 = n // 10, 3 * n // 10, 6 * n // 10
    theta, rest, has_scale = np.array(start), (users, noise, hessian_noise), loss.known_scale is None
    eta = 2 / (2 * h * math.sqrt(n1)) * np.arange(1, n1 + 1) ** -0.5
    _, kept = stage(loss, theta, *rest, eta, every, n1 // 2 + 1)
    paces = [pace(kept, h, guess)]
    eta = np.full(n2, 3 / (h * n2)) * paces[0]
    _, second = stage(loss, jump(kept, has_scale), *rest, eta, every)
    paces.append(pace(second, h, guess))
    eta = np.full(n3, 2 / (h * n3)) * paces[1]
    _, third = stage(loss, jump(second, has_scale), *rest, eta, every)
    both = Stage(len(start))
    for name in ("v", "v2", "u", "d2", "a", "g", "q", "m"):
        setattr(both, name, getattr(second, name) + getattr(third, name))
    theta, covariance = estimate(both)
    if has_scale:
        theta[-1] -= scale_bias(both, theta, covariance, (3 * paces[0] + 2 * paces[1]) / h, loss)
    return theta, covariance
