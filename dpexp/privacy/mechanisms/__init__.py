"""MECHANISMS: what `dpexp privacy --mechanism NAME key=value ...` can state, one file a mechanism."""

from dpexp.core.registry import Registry
from dpexp.privacy.mechanisms.clipped_noisy_sgd import ClippedNoisySgd
from dpexp.privacy.mechanisms.gradient_recursion import GradientRecursion
from dpexp.privacy.mechanisms.langevin import Langevin
from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd
from dpexp.privacy.mechanisms.reduced_momentum import ReducedMomentum
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.privacy.mechanisms.tree_momentum import TreeMomentum

__all__ = [
    "MECHANISMS",
    "ClippedNoisySgd",
    "GradientRecursion",
    "Langevin",
    "LocalGaussianRelease",
    "Mechanism",
    "NoisySgd",
    "ReducedMomentum",
    "SampledGaussian",
    "TreeMomentum",
]

MECHANISMS: Registry[type[Mechanism]] = Registry(
    "mechanism",
    {
        "local-gaussian": LocalGaussian,
        "sampled-gaussian": SampledGaussian,
        "noisy-sgd": NoisySgd,
        "clipped-noisy-sgd": ClippedNoisySgd,
        "langevin": Langevin,
        "tree-momentum": TreeMomentum,
        "reduced-momentum": ReducedMomentum,
        "gradient-recursion": GradientRecursion,
    },
)
