"""MECHANISMS: what `dpexp privacy --mechanism NAME key=value ...` can state, one file a mechanism."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.parameters import Registry
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.mechanisms.cap_sampling import CapSampling
from dpexp.privacy.mechanisms.epoch_gaussian import EpochGaussian
from dpexp.privacy.mechanisms.langevin import Langevin
from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.mechanisms.momentum import NoisyGradientRecursion, NoisyReducedMomentum, NoisyTreeMomentum
from dpexp.privacy.mechanisms.noisy_sgd import ClippedNoisySgd, NoisySgd
from dpexp.privacy.mechanisms.private_selection import PrivateSelection
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.privacy.mechanisms.shuffled_messages import ShuffledMessages
from dpexp.privacy.mechanisms.sum_samplers import KOfT, ShownSizes, TruncatedPoisson

MECHANISMS: Registry[type[Mechanism]] = Registry(
    "mechanism",
    {
        "local-gaussian": LocalGaussian,
        "shuffled-messages": ShuffledMessages,
        "sampled-gaussian": SampledGaussian,
        "epoch-gaussian": EpochGaussian,
        "truncated-poisson": TruncatedPoisson,
        "shown-sizes": ShownSizes,
        "k-of-t": KOfT,
        "cap-sampling": CapSampling,
        "private-selection": PrivateSelection,
        "noisy-sgd": NoisySgd,
        "clipped-noisy-sgd": ClippedNoisySgd,
        "langevin": Langevin,
        "tree-momentum": NoisyTreeMomentum,
        "reduced-momentum": NoisyReducedMomentum,
        "gradient-recursion": NoisyGradientRecursion,
    },
)

ANALYSES: Registry[Callable[[Mechanism], Analysis]] = Registry("analysis", {})
"""more analyses of a mechanism, which plug-ins add: `mechanism/analysis` -> a function of the mechanism"""


def every_analysis(mechanism: Mechanism) -> list[Analysis]:
    """A mechanism's own analyses and those that plug-ins add to it, with the plug-in in the source of each.

    The columns of stored cells do not ask for the latter: they would change with what happens to be loaded. Raises
    UsageError where a plug-in returns no analysis of that name, and from its epsilon or delta where that is no number.
    """
    every = mechanism.upper_bounds()
    for name in (name for name in ANALYSES if MECHANISMS.get(name.partition("/")[0]) is type(mechanism)):
        analysis: Any = ANALYSES[name](mechanism)
        source = ANALYSES.sources[name]
        if not isinstance(analysis, Analysis) or analysis.name != name.partition("/")[2]:
            returned = f"the analysis '{analysis.name}'" if isinstance(analysis, Analysis) else f"{analysis!r:.40}"
            raise UsageError(f"{source}: '{name}' returned {returned}", "return an Analysis of that name")
        gives = f"{source}: the analysis '{analysis.name}' gives"
        eps = partial(_number, analysis.eps, math.inf, f"{gives} epsilon", "delta")
        direct = analysis.direct and partial(_number, analysis.direct, 1.0, f"{gives} delta", "epsilon")
        every.append(replace(analysis, eps=eps, direct=direct, source=f"{analysis.source} (plug-in {source})"))
    return every


def _number(function: Callable[[float], Any], largest: float, gives: str, argument: str, at: float) -> float:
    """The function's value there. Raises UsageError where it is no number from 0 to the largest."""
    value = function(at)
    if not (isinstance(value, Real) and 0 <= float(value) <= largest):
        raise UsageError(f"{gives} {value!r:.40} at {argument} {at:g}", f"a number from 0 to {largest:g}")
    return float(value)
