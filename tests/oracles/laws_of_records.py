"""Laws of regression records that no setting of a fit was chosen on, their M-estimates, and users drawn from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpexp.inference.models import Model, unit_model

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Law:
    """Records in the units of the computation."""

    model: Model
    draw: Draw


def columns(rng: np.random.Generator, n: int, d: int, share: float | None) -> np.ndarray:
    """Standard normal, the last one a level with this share."""
    z = rng.standard_normal((n, d))
    if share is not None:
        z[:, -1] = np.where(rng.random(n) < share, 1.0, -1.0)
    return z


def logistic(slopes: tuple[float, ...], intercept: float = 0.0, share: float | None = None) -> Draw:
    """Of standardised columns."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        z = columns(rng, n, len(slopes), share)
        t = intercept + z @ np.array(slopes)
        return z / math.sqrt(len(slopes)), (rng.random(n) < 1 / (1 + np.exp(-t))).astype(float)

    return draw


def linear(slopes: tuple[float, ...], sd: float, share: float | None = None) -> Draw:
    """Normal errors of this standard deviation."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        z = columns(rng, n, len(slopes), share)
        return z / math.sqrt(len(slopes)), z @ np.array(slopes) + sd * rng.standard_normal(n)

    return draw


HUBER5 = unit_model("huber-linear", 5)
LAWS = {
    "base": Law(HUBER5, linear((0.5,) * 5, 1.0)),
    "level 2%": Law(HUBER5, linear((0.5,) * 5, 1.0, 0.02)),
    "R2 = .996": Law(unit_model("huber-linear", 3), linear((0.8, 0.5, 0.3), 0.063)),
    "steep": Law(unit_model("mallows-logistic", 3), logistic((3.0, -3.0, 1.5))),
}


def m_estimate(model: Model, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The minimiser of the mean risk, with steps that are halved until the gradient falls."""
    rows = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    weight, q = model.problem.weight(rows), model.d + 1
    theta = np.array(model.problem.start(), dtype=float)

    def gradient(at: np.ndarray) -> np.ndarray:
        return np.asarray(model.problem.gradient(at, rows, y).mean(axis=0))

    g = gradient(theta)
    for _ in range(100):
        tt, ts, ss = model.curvature(rows @ theta[:q], y, model.scale_of(theta), model.constants)
        h = np.zeros((model.p, model.p))
        h[:q, :q] = (rows * (weight * tt)[:, None]).T @ rows / len(y)
        if model.has_scale:
            h[:q, q] = h[q, :q] = rows.T @ (weight * ts) / len(y)
            h[q, q] = weight @ ss / len(y)
        step, size = np.linalg.solve(h + 1e-9 * np.eye(model.p), g), 1.0
        while size > 1e-6:
            trial = theta - size * step
            positive = not model.has_scale or trial[-1] > 0.01
            if positive and np.linalg.norm(g_new := gradient(trial)) < np.linalg.norm(g):
                break
            size /= 2
        else:
            break
        theta, g = trial, g_new
        if np.linalg.norm(g) < 1e-12:
            break
    return theta
