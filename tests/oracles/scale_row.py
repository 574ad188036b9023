"""What the messages of `ldp-sgd` leave unused, written out in numpy: the row of the scale, stretched before the noise.

    m_i = D_a^-1 (D_a grad f(theta_{i-1}; x_i, y_i) + (Delta / mu) omega_i),    D_a = diag(1, ..., 1, a)

where users have d covariates N(0, 1), y = x'1 + 2 e, and the loss w(x) (s rho_c((y - x'beta) / s) + kappa s / 2). a = 1
is the paper's algorithm. Nothing here imports the package.
"""

from __future__ import annotations

import math

import numpy as np

C, KAPPA, SIGMA = 1.345, 0.7101645482690, 2.0


def records(rng: np.random.Generator, count: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (1, z) [count, d + 1] and responses [count]."""
    x = np.concatenate([np.ones((count, 1)), rng.standard_normal((count, d))], axis=1)
    return x, x.sum(axis=1) + SIGMA * rng.standard_normal(count)


def gradients(theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[..., d + 2] at theta [..., d + 2] for records x [..., d + 1], y [...]."""
    w = np.minimum(1.0, 2.0 / np.sum(x * x, axis=-1))
    psi = np.clip((y - np.sum(x * theta[..., :-1], axis=-1)) / theta[..., -1], -C, C)
    in_beta = -(w * psi)[..., None] * x
    return np.concatenate([in_beta, (w * (KAPPA - psi * psi) / 2)[..., None]], axis=-1)


def asymptotic_variances(mu: float, a: float, delta: float, d: int = 5, draws: int = 400_000) -> np.ndarray:
    """n times the variances of the average [d + 2]: diag(H^-1 (S + (Delta / mu)^2 D_a^-2) H^-1), by simulation.

    H = E (w / s) 1{|u| <= c} [x; u][x; u]'.
    """
    x, y = records(np.random.default_rng(1), draws, d)
    theta = np.append(np.ones(d + 1), SIGMA)
    g, u = gradients(theta, x, y), (y - x @ theta[:-1]) / SIGMA
    rows = np.concatenate([x, u[:, None]], axis=1)
    weight = np.minimum(1.0, 2.0 / np.sum(x * x, axis=1)) * (np.abs(u) <= C) / SIGMA
    inverse = np.linalg.inv((rows * weight[:, None]).T @ rows / draws)
    noise = np.full(d + 2, delta / mu)
    noise[-1] /= a
    return np.asarray(np.diag(inverse @ (g.T @ g / draws + np.diag(noise**2)) @ inverse))


def averages(
    mu: float, stretches: tuple[float, ...], delta: float, n: int, replicates: int, seed: int, alpha: float = 0.5,
    eta: float = 0.2, d: int = 5,
) -> np.ndarray:  # fmt: skip
    """Averages of the paths [stretches, replicates, d + 2] from beta = 0, s = 1; all stretches meet the same users."""
    rng = np.random.default_rng(seed)
    theta = np.zeros((len(stretches), replicates, d + 2))
    theta[..., -1] = 1.0
    total, scaling = np.zeros_like(theta), np.ones((len(stretches), 1, d + 2))
    scaling[:, 0, -1] = stretches
    for i in range(1, n + 1):
        x, y = records(rng, replicates, d)
        noise = delta / mu * rng.standard_normal((replicates, d + 2))
        sent = scaling * gradients(theta, x, y) + noise
        theta = theta - eta / i**alpha * sent / scaling
        theta[..., -1] = np.maximum(theta[..., -1], 0.1)
        total += theta
    return total / n


def largest_distance(a: float, points: int = 2001) -> float:
    """Of two gradients D_a grad f at one theta: max over p of (c + p) sqrt(2 + a^2 (c - p)^2 / 4), on a grid."""
    p = np.linspace(0.0, C, points)
    return float(np.max((C + p) * np.sqrt(2 + (a * (C - p)) ** 2 / 4)))


def squared_errors(found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean squared errors of the scale and of all coordinates [stretches] of averages [stretches, replicates, d + 2]."""
    error = found - np.append(np.ones(found.shape[-1] - 1), SIGMA)
    return np.mean(error[..., -1] ** 2, axis=1), np.mean(np.sum(error**2, axis=-1), axis=1)


if __name__ == "__main__":
    exact, paper = 2 * math.sqrt(2) * C, math.sqrt(8 * C * C + C**4 / 4)
    for mu in (0.5, 1.0, 2.0, 3.0):
        stretched, plain, crude = (asymptotic_variances(mu, *at) for at in ((3.5, exact), (1, exact), (1, paper)))
        print(mu, stretched[-1] / plain[-1], stretched.sum() / plain.sum(), stretched.sum() / crude.sum())
    for mu in (1.0, 2.0):
        of_scale, of_all = squared_errors(averages(mu, (1.0, 3.5), exact, 100_000, 200, 7))
        print(mu, of_scale[0] / of_scale[1], of_all[0] / of_all[1], of_scale, of_all)
