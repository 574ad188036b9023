"""Rms of the noise |m_hat_t - m_t| over a run of `momentum`, in closed form and in units of G = L = 1."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from dpexp.accounting.gaussian import mu_of
from dpexp.algorithms.finite_sum_run import RunPlan
from dpexp.algorithms.reduced_momentum import covering, unit_deviations
from dpexp.algorithms.tree_momentum import fixed_tree
from dpexp.privacy.momentum.trees import exact_node_std


class Levels(NamedTuple):
    """Rms noise of one coordinate of the two algorithms, in units of G."""

    tree: float
    reduced: float
    """accounted for as runs are: by the iterates where they are covered, else by the nodes"""
    nodes: float
    """of Algorithm 2 if all of its noisy nodes were released"""


@lru_cache(maxsize=128)
def fixed_path_levels(n: int, epochs: int, length: float, eps: float = 1.0, delta: float = 1e-5) -> Levels:
    """Both algorithms with K epochs, eta = length / (K N), alpha = 1 / N and exact noise; one order that repeats."""
    from dpexp.engine.finite_sum.noise_designs import tree_variance
    from dpexp.engine.finite_sum.noise_windows import stream_variances

    steps, alpha, mu = n * epochs, 1 / n, mu_of(eps, delta)
    # a step's noise is the node noise times the root of its variance for unit noise; the mean of squares is over steps
    tree = exact_node_std(alpha, 1.0, mu, fixed_tree(n, steps, alpha)) * math.sqrt(tree_variance(alpha, steps).mean())
    eta = length / steps
    plan = RunPlan(steps, alpha, eta, min(0.5, eta * n))
    # noise is inverse to mu. Where the iterates are covered, `unit_deviations` is that of the nodes times the mu that
    # the iterates have at the nodes' noise, so dividing by it gives the nodes back.
    stds = unit_deviations(plan, n, 1.0, 1.0) / mu
    variances = stream_variances(n, steps, alpha, plan.gamma).mean(axis=1)
    reduced, exact = math.sqrt(float(stds**2 @ variances)), covering(plan, n, 1.0, 1.0)
    return Levels(tree, reduced, reduced if exact is None else reduced / exact.mu)
