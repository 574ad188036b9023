"""Which mechanisms a pair can be searched for, and why not the others."""

from __future__ import annotations

import math

from dpexp.privacy.exact.runs import count_of_sizes
from dpexp.privacy.mechanisms.clipped_noisy_sgd import ClippedNoisySgd
from dpexp.privacy.mechanisms.langevin import Langevin
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd
from dpexp.privacy.pairs.walled import Walled

WIDEST = 60.0
"""noise units: wider sets take minutes, and there the memory of `dpexp.privacy.exact.memory` tells more"""
MOST_SIZES = 400
"""batch sizes that a step of Poisson sampling may mix"""


class NotSearched(ValueError):
    """No pair can be searched for; says why."""


def walled(mechanism: Mechanism) -> Walled:
    """The mechanism in noise units. Raises NotSearched."""
    if isinstance(mechanism, Langevin):
        return walled(mechanism.as_noisy_sgd)
    if not isinstance(mechanism, NoisySgd | ClippedNoisySgd):
        raise NotSearched("a pair can be searched for noisy-sgd, clipped-noisy-sgd and langevin")
    noise, sampling = mechanism.noise_std, mechanism.sampling
    if not (mechanism.steps > 0 and 0 < noise < math.inf):
        raise NotSearched("without steps or without noise there is no law to search")
    if sampling not in ("fixed-size", "poisson", "full-batch"):
        raise NotSearched("searched with a fresh batch in every step, or a full one")
    replaced = mechanism.neighboring_relation == "replace-one"
    if sampling == "fixed-size" and not replaced:
        raise NotSearched("batches of fixed size are defined for replace-one neighbours")
    if sampling == "full-batch" and mechanism.batch_size != mechanism.n:
        raise NotSearched("full batches hold all n records: give batch_size = n")
    if isinstance(mechanism, NoisySgd):
        width, reach = mechanism.width, mechanism.lipschitz / noise  # eta L over eta noise_std
        convex = mechanism.smoothness is not None or mechanism.strong_convexity > 0
        bend = mechanism.step_size * mechanism.strong_convexity
    else:
        width, reach, convex, bend = (
            mechanism.diameter / noise,
            mechanism.step_size * mechanism.clip / noise,
            False,
            0.0,
        )
    if not width <= WIDEST:
        raise NotSearched(f"needs a set at most {WIDEST:g} noise units wide; it is {width:g}")
    found = Walled(
        sampling, mechanism.n, mechanism.batch_size, mechanism.steps, width / 2, reach, replaced, convex, bend
    )
    if sampling == "poisson" and count_of_sizes(found.n, found.q) > MOST_SIZES:
        raise NotSearched(f"the batches have more than {MOST_SIZES} sizes that matter")
    if convex and found.room <= 0:
        raise NotSearched("the curvature leaves no room for a linear part of the gradient")
    return found
