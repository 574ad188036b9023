"""What an interval has to cover, and the shortest that a local method can be: theta*, H and S of a population.

The target is the minimiser of the population risk, whatever the law (inference, section 5). It, H and S come from the
quadrature of the problem; S of persons, whose message is the mean over their rows, from simulated ones.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpexp.engine.lanes.vectors import LANES
from dpexp.inference.public_numbers import rounded
from dpexp.inference.simulated import person_rows
from dpexp.problems.linear_predictor import LinearPredictorProblem

PERSONS, SEED = 50_000, 20_251
"""simulated persons of each of eight replicates from which S is taken: a relative error of a few per mille"""


class RiskTarget(NamedTuple):
    """Of one population."""

    theta: np.ndarray
    """theta* [p]"""
    hessian: np.ndarray
    """H [p, p]"""
    scores: np.ndarray
    """S [p, p], without privacy noise"""


@lru_cache(maxsize=64)
def target_of(problem: LinearPredictorProblem, persons: bool = False) -> RiskTarget:
    """By quadrature. Raises UsageError where the minimiser or the curvature there are not known."""
    theta, curvature = problem.optimum(), problem.curvature()
    scores = _scores_of_persons(problem, theta) if persons else curvature.score_covariance
    return RiskTarget(theta, rounded(curvature.hessian), rounded(scores))


def _scores_of_persons(problem: LinearPredictorProblem, theta: np.ndarray) -> np.ndarray:
    """S at theta of means over the rows of a person."""
    total = np.zeros((problem.p, problem.p))
    for z, y, owners in person_rows(problem, SEED, range(LANES), PERSONS):
        g = problem.gradient(theta, np.concatenate([np.ones((len(y), 1)), z], axis=1), y)
        means = np.add.reduceat(g, np.flatnonzero(np.diff(owners, prepend=-1)), axis=0)
        means /= np.bincount(owners)[:, None]
        total += means.T @ means / PERSONS
    return total / LANES
