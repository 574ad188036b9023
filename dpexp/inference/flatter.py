"""How much flatter a logistic risk is at the estimate than where its Hessians were measured.

Write theta_k = theta* + delta_k for the points, H for the Hessian at theta* and T for the third derivative. The mean
Hessian is H + T[dbar], larger than H where the start is not forgotten, and it moves with the noise of the points. The
part of theta~ - theta* that is linear in the noise xi of the messages is, with eta for the noise of the points,

    -(H + T[dbar])^-1 xi + H^-1 T[dbar] eta,      eta = -H^-1 xi + what earlier messages left,

so that it is about -H^-1 xi: what counts is the curvature at the target. The sandwich with the mean Hessian is too
short by the ratio of the two curvatures. That ratio is taken from the public guess of the law of the covariates, of
which little depends: it serves to make intervals longer, never shorter.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpexp.engine.lanes.vectors import LANES
from dpexp.inference.mean_curvature import compiled_mean
from dpexp.inference.models import Model
from dpexp.inference.sums import Sums

DRAWS = 4000


@lru_cache(maxsize=16)
def covariates(d: int, sigma_z: float) -> np.ndarray:
    """Rows (1, z) [DRAWS, d + 1] of the guessed law, from a fixed seed."""
    z = np.random.Generator(np.random.PCG64(23)).standard_normal((DRAWS, d))
    return np.concatenate([np.ones((DRAWS, 1)), sigma_z * z], axis=1)


def curvature_at(model: Model, theta: np.ndarray) -> np.ndarray:
    """The trace of the Hessian of the risk at theta [8, p] under the guessed law [8]: the mean of w |x|^2 p (1 - p)."""
    x = covariates(model.d, model.problem.sigma_z)
    weight = model.problem.weight(x) * np.sum(x * x, axis=1)
    found = np.empty((1, LANES))
    compiled_mean(model.curvature)(np.ascontiguousarray(theta.T), x, weight, model.constants, found)
    return np.asarray(found[0] / DRAWS)


def flatter(model: Model, stages: tuple[Sums, Sums], theta: np.ndarray) -> np.ndarray:
    """The curvature at the estimate theta [8, p] over that at the mean points of the stages, at most 1 [8].

    1 for models that are not logistic: the Huber model's curvature follows from the scale, which hardly moves.
    """
    if model.name != "mallows-logistic":
        return np.ones(len(theta))
    total = sum(sums.u[0] for sums in stages)
    met = sum(sums.u[0] / total * curvature_at(model, (sums.points / sums.v[0]).T) for sums in stages)
    return np.asarray(np.minimum(1.0, curvature_at(model, theta) / met))
