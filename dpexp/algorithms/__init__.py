"""ALGORITHMS: the registry of algorithms, one file each."""

from dpexp.algorithms.batch_descent import BatchDescent
from dpexp.algorithms.gradient_recursion import GradientRecursion
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.reduced_momentum import ReducedMomentum
from dpexp.algorithms.tree_momentum import TreeMomentum
from dpexp.parameters import Parameters

ALGORITHMS: dict[str, type[Parameters]] = {
    "ldp-sgd": LdpSgd,
    "tree-momentum": TreeMomentum,
    "reduced-momentum": ReducedMomentum,
    "batch-descent": BatchDescent,
    "gradient-recursion": GradientRecursion,
}
