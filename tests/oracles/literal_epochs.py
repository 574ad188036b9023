"""Exact pairs of batches that are drawn epoch by epoch, from the literal law of what a record's batches are.

Everything comes from `dpexp.privacy.exact` and from other oracles, which share no code with the analyses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, get_args

import numpy as np

from dpexp.privacy.mechanisms import Mechanism
from dpexp.privacy.mechanisms.epoch_gaussian import EpochGaussian, EpochSampling
from tests.oracles import binned_epochs
from tests.oracles.cells import EitherOrder
from tests.oracles.composition import epsilon, gaussian_eps

WIDTH = 0.05
"""of the cells in which atoms are merged: pairs are lower by about a percent, and the survey is short"""
SAMPLINGS: tuple[str, ...] = get_args(EpochSampling)


def constant_gradients(sampling: str, relation: str, rng: np.random.Generator) -> tuple[Mechanism, dict[str, Any]]:
    """A random mechanism, and by the name of a pair its epsilon, rounded down, as a function of delta."""
    batches, epochs = int(10 ** rng.uniform(0.31, 1.8)), int(10 ** rng.uniform(0, 1.2))
    noise = float(10 ** rng.uniform(-0.2, 0.8))
    q = float(10 ** rng.uniform(-2, 0)) if sampling == "cyclic-poisson" else 1.0
    sizes = {"noise_multiplier": noise, "batches": batches, "epochs": epochs, "sampling_probability": q}
    mechanism = EpochGaussian.model_validate({**sizes, "sampling": sampling, "neighboring_relation": relation})
    replaced = relation == "replace-one"
    attained: dict[str, Callable[[float], float]] = {}
    if sampling == "cyclic-poisson":
        orders = ("opposite",) if replaced else ("remove", "add")

        def known(delta: float) -> float:
            with suppress(RuntimeError):  # losses that are nearly discrete, as of few epochs, need too long a contour
                return epsilon([(q, noise, epochs)], delta, orders)
            return 0.0

        return mechanism, {"all iterates": known}
    # of records that draw their batches for themselves a replaced one is compared with one of gradient 0, and of a
    # partition with the opposite one, where all others pull the other way
    ordered = sampling in ("shuffled", "reshuffled")
    mu = (2 if replaced and ordered else 1) / noise
    fresh = sampling in ("balls-in-bins", "reshuffled")
    distance, times = (mu, epochs) if fresh else (mu * math.sqrt(epochs), 1)
    pair = binned_epochs.epochs(distance, batches, times, WIDTH)
    attained["all iterates"] = EitherOrder(pair).eps
    # the sum of all releases: the record is in `epochs` of them, whichever these are
    sums = (2 if replaced else 1) * epochs / noise / math.sqrt(batches * epochs)
    attained["last iterate"] = lambda delta: gaussian_eps(sums, delta)
    return mechanism, attained
