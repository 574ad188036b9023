"""The laws of `dpexp.inference.populations` in numpy, for any shape of replicates: the second route of its records."""

from __future__ import annotations

import math

import numpy as np

from dpexp.engine.lanes.elementwise import logistic
from dpexp.inference.populations import Population


def records(law: Population, g: np.ndarray, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Covariates [users, d, ...] and responses [users, ...] from normals [users, normals, ...] and uniforms."""
    d, used = law.d, law.d + (law.rho > 0)
    z = g[:, :d]
    if law.rho > 0:
        z = math.sqrt(1 - law.rho) * z + math.sqrt(law.rho) * g[:, d : d + 1]
    if not law.right:
        last = np.where(z[:, -1] <= law.numbers.below, 1.0, -1.0) if law.rare else z[:, -1]
        z = np.concatenate([z[:, :-1], last[:, None] / law.narrow], axis=1)
    slopes = law.slopes.reshape(-1, *(1,) * (z.ndim - 2))
    t = law.beta * (1 + law.sigma_z * (slopes * z).sum(axis=1)) + law.bend * (z[:, 0] ** 2 - 1)
    if law.binary:
        return law.sigma_z * z, (uniform <= logistic(t)).astype(np.float64)
    return law.sigma_z * z, t + law.sigma * errors(law, g[:, used:], z[:, 0])


def errors(law: Population, g: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Errors in units of sigma from standard normals g [users, ...]."""
    if law.errors == "student":  # t with 3 degrees of freedom
        return g[:, 0] / np.sqrt((g[:, 1] ** 2 + g[:, 2] ** 2 + g[:, 3] ** 2) / 3)
    if law.errors == "heteroscedastic":
        return g[:, 0] * (0.5 + 0.5 * np.abs(z))
    return g[:, 0]
