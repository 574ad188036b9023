"""LDP-SGD for Huber linear regression in jax: scan over steps, vectorised over settings and replicates, float32."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from dpexp.problems.linear_losses import HuberLinear


@partial(jax.jit, static_argnames=("d", "n", "replicates"))
def _scan(key, start, alpha, mu, beta, constants, sensitivity, sigma_min, d, n, replicates):  # type: ignore[no-untyped-def]
    c, kappa, sigma = constants
    q = d + 1
    theta = jnp.broadcast_to(start, (alpha.shape[0], replicates, q + 1)).astype(jnp.float32)

    def step(carry, i):  # type: ignore[no-untyped-def]
        theta, average = carry
        z = jax.random.normal(jax.random.fold_in(key, i), (replicates, d + 1 + q + 1))
        x = jnp.concatenate([jnp.ones((replicates, 1)), z[:, :d]], axis=1)
        y, omega = x @ beta + sigma * z[:, d], z[:, d + 1 :]
        w = jnp.minimum(1.0, 2.0 / jnp.sum(x * x, axis=1))
        scale = theta[:, :, q]
        psi = jnp.clip((y - jnp.einsum("srq,rq->sr", theta[:, :, :q], x)) / scale, -c, c)
        k = (i + 1).astype(jnp.float32)
        eta = 0.2 * k**-alpha
        gradient = jnp.concatenate([-(w * psi)[:, :, None] * x, (w * (kappa - psi * psi) / 2)[:, :, None]], axis=2)
        theta = theta - eta[:, None, None] * (gradient + (sensitivity / mu)[:, None, None] * omega)
        theta = theta.at[:, :, q].max(sigma_min)
        return (theta, average + (theta - average) / k), None

    return jax.lax.scan(step, (theta, jnp.zeros_like(theta)), jnp.arange(n))[0]


def simulate(
    problem: HuberLinear, alphas: list[float], mus: list[float], n: int, replicates: int, seed: int
) -> np.ndarray:
    """Mean squared distance of the iterate and its average after n users, [2, settings]."""
    alpha, mu = (jnp.asarray(a.ravel(), jnp.float32) for a in np.meshgrid(alphas, mus, indexing="ij"))
    numbers = [jnp.asarray(a, jnp.float32) for a in (problem.true_coefficients, problem.constants)]
    state = _scan(
        jax.random.key(seed), jnp.asarray(problem.start(), jnp.float32), alpha, mu, *numbers,
        problem.noise_sensitivity(), problem.sigma_min, d=problem.d, n=n, replicates=replicates,
    )  # fmt: skip
    star = problem.optimum()
    return np.array([np.mean(np.sum((np.asarray(a) - star) ** 2, axis=2), axis=1) for a in state])
