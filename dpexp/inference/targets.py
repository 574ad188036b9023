"""What an interval has to cover, and the shortest that a local method can be: theta*, H and S of a true law.

(a) The target is the minimiser of the population risk, whatever the law (inference, section 5). For errors that are
independent of x, or symmetric given x, slopes are the true ones. The intercept and the scale solve

    E w psi(r / s) = 0   and   E w (kappa - psi(r / s)^2) = 0,   r = bend (z_1^2 - 1) + sigma e - b.

(b) r depends on x through z_1 alone, so that both means are integrals over z_1 and the error e.
(c) H and S at the target are closed forms where the model is right, and means over simulated records where it is not.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpexp.accounting.functions import gauss_legendre
from dpexp.core.errors import UsageError
from dpexp.inference.models import Model
from dpexp.inference.populations import Population
from dpexp.inference.public_numbers import rounded
from dpexp.problems.mallows import rule

DRAWS = 400_000
"""records from which H and S of a law that is wrong for the model are taken: a relative error of a few per mille"""


class RiskTarget(NamedTuple):
    """Of one law."""

    theta: np.ndarray
    """theta* [p]"""
    hessian: np.ndarray
    """H [p, p]"""
    scores: np.ndarray
    """S [p, p], without privacy noise"""


@lru_cache(maxsize=64)
def target_of(model: Model, law: Population) -> RiskTarget:
    """By quadrature where the model is right, else by quadrature (theta*) and simulation (H, S)."""
    if law.binary and law.bend:
        raise UsageError("a logistic target is known for a right model only")
    if law.errors == "normal" and not law.bend:
        theta = model.problem.optimum() * np.append(1.0, np.append(law.slopes, [1.0] * model.has_scale))
        if model.has_scale:
            theta = np.append(theta[:-1], law.sigma)
        if law.right and not law.persons and law.sigma == model.problem.fixed_scale:
            curvature = model.problem.curvature()
            return RiskTarget(theta, rounded(curvature.hessian), rounded(curvature.score_covariance))
    elif not law.right:
        raise UsageError("other covariates are combined with the model's own errors only")
    else:
        theta = rounded(_wrong(model, law))
    hessian, scores = _simulated(model, law, theta)
    return RiskTarget(theta, rounded(hessian), rounded(scores))


def _errors(law: Population, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of r + b and their weights, E w included: a product rule over z_1 and the error."""
    along = rule(d, law.sigma_z, 24)
    if law.errors in ("normal", "heteroscedastic"):
        e, v = _panels(lambda x: np.exp(-x * x / 2), -8.0, 8.0)
        spread = 0.5 + 0.5 * np.abs(along.nodes) if law.errors == "heteroscedastic" else np.ones_like(along.nodes)
        values = law.bend * (along.nodes[:, None] ** 2 - 1) + law.sigma * spread[:, None] * e
        return values.ravel(), (along.weights[:, None] * v).ravel()
    # (b)
    # where neither spread nor mean of the error depends on z_1, the weight comes out as the factor E w
    # with x = tan the tails of Student's law are inside
    angle, v = _panels(lambda x: (1 + np.tan(x) ** 2 / 3) ** -2 * (1 + np.tan(x) ** 2), -1.5707, 1.5707)
    return law.sigma * np.tan(angle), along.weights.sum() * v


def _panels(density, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """Many short Gauss-Legendre panels, since psi has kinks wherever b and s put them; weights that add up to 1."""
    x, w = gauss_legendre(4)
    ends = np.linspace(low, high, 401)
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    nodes = (middle[:, None] + half[:, None] * x).ravel()
    weights = (half[:, None] * w).ravel() * density(nodes)
    return nodes, weights / weights.sum()


def _wrong(model: Model, law: Population) -> np.ndarray:
    """theta* of the Huber model under errors that are not normal, or a mean that is not linear."""
    from scipy.optimize import root

    values, weights = _errors(law, model.d)
    c, kappa = model.constants[:2]

    # (a), in the logarithm of the scale, so that it stays positive
    def equations(at: np.ndarray) -> list[float]:
        psi = np.clip((values - at[0]) / math.exp(at[1]), -c, c)
        return [float(weights @ psi), float(weights @ (kappa - psi * psi))]

    found = root(equations, [0.0, math.log(law.sigma)], tol=1e-12)
    theta = np.full(model.p, law.beta)
    theta[0], theta[-1] = law.beta + found.x[0], math.exp(found.x[1])
    return theta


def _simulated(model: Model, law: Population, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """H and S at theta* from simulated records of a fixed seed."""
    rng = np.random.Generator(np.random.PCG64(20_251))
    hessian, scores, size = np.zeros((model.p, model.p)), np.zeros((model.p, model.p)), 20_000
    for _ in range(DRAWS // size):
        z, y = law.records(rng.standard_normal((size, law.normals)), rng.random(size))
        x = np.concatenate([np.ones((size, 1)), z], axis=1)
        hessian += model.hessian_sum(theta, x, y, np.full(size, 1 / size))
        g = model.problem.gradient(theta, x, y)
        if law.persons:  # a message is the mean over a person's rows
            z, y, owners = law.panel(rng, size)
            g = model.problem.gradient(theta, np.concatenate([np.ones((len(y), 1)), z], axis=1), y)
            begins = np.flatnonzero(np.diff(owners, prepend=-1))
            g = np.add.reduceat(g, begins, axis=0) / np.bincount(owners)[:, None]
        scores += g.T @ g / size
    return hessian / (DRAWS // size), scores / (DRAWS // size)
