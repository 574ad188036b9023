"""Users and gradients of LDP-SGD, one user and one coordinate at a time; `tests.oracles.one_pass` has the loop.

`ldp-sgd`: equation (2), section 5 (models, weights, losses); the gradients are written out from the losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.oracles.streams import normals, uniforms


class Path(NamedTuple):
    """Iterates and averages after every step, and the number of steps whose scale was projected."""

    theta: list[list[float]]
    average: list[list[float]]
    projections: list[int]


def huber_gradient(
    theta: list[float], x: list[float], y: float, c: float, kappa: float, known_sigma: float | None
) -> list[float]:
    """Gradient of w (sigma rho_c((y - x'beta) / sigma) + kappa sigma / 2) in beta and, unless known, sigma."""
    beta = theta[: len(x)]
    sigma = theta[len(x)] if known_sigma is None else known_sigma
    w = min(1.0, 2.0 / sum(v * v for v in x))
    u = (y - sum(a * b for a, b in zip(x, beta, strict=True))) / sigma
    psi = max(-c, min(c, u))
    rho = u * u / 2 if abs(u) <= c else c * abs(u) - c * c / 2
    in_beta = [-w * psi * v for v in x]
    return in_beta if known_sigma is not None else [*in_beta, w * (rho - u * psi + kappa / 2)]


def logistic_gradient(theta: list[float], x: list[float], y: float) -> list[float]:
    """Gradient of w (log(1 + exp(x'beta)) - y x'beta)."""
    w = min(1.0, 2.0 / sum(v * v for v in x))
    t = sum(a * b for a, b in zip(x, theta, strict=True))
    return [w * (1 / (1 + math.exp(-t)) - y) * v for v in x]


def pinball_gradient(theta: list[float], x: list[float], y: float, tau: float) -> list[float]:
    """Gradient of w rho_tau(y - x'beta), rho_tau(r) = r (tau - 1{r < 0})."""
    w = min(1.0, 2.0 / sum(v * v for v in x))
    r = y - sum(a * b for a, b in zip(x, theta, strict=True))
    return [-w * (tau - (r < 0)) * v for v in x]


def users(
    states: dict[str, list[int]],
    d: int,
    sigma_z: float,
    beta: float,
    response: Callable[[float, float], float],
    normal: bool,
) -> Iterator[tuple[list[float], float]]:
    """The rows x = (1, z) and responses y of users 1, 2, ... from the streams "data" and "response"."""
    covariates = normals(states["data"])
    responses = normals(states["response"]) if normal else uniforms(states["response"])
    while True:
        x = [1.0, *(sigma_z * next(covariates) for _ in range(d))]
        yield x, response(beta * sum(x), next(responses))


def insensitive_gradient(theta: list[float], x: list[float], y: float, width: float) -> list[float]:
    """Gradient of w max(0, |y - x'beta| - width)."""
    w = min(1.0, 2.0 / sum(v * v for v in x))
    r = y - sum(a * b for a, b in zip(x, theta, strict=True))
    slope = -1.0 if r > width else 1.0 if r < -width else 0.0
    return [w * slope * v for v in x]
