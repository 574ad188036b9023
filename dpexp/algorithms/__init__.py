"""ALGORITHMS: the registry of algorithms, one file each."""

from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.batch_descent import BatchDescent
from dpexp.algorithms.central_newton_coverage import CentralNewton
from dpexp.algorithms.clipped_ldp_sgd import ClippedLdpSgd
from dpexp.algorithms.dp_sgd import DpSgd
from dpexp.algorithms.dp_sgld import DpSgld
from dpexp.algorithms.gradient_recursion import GradientRecursion
from dpexp.algorithms.heavy_ball_ldp_sgd import HeavyBallLdpSgd
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.reduced_momentum import ReducedMomentum
from dpexp.algorithms.sgd import Sgd
from dpexp.algorithms.staged_newton_coverage import StagedNewton
from dpexp.algorithms.tree_momentum import TreeMomentum
from dpexp.core.parameters import Registry

ALGORITHMS: Registry[type[Algorithm]] = Registry(
    "algorithm",
    {
        "ldp-sgd": LdpSgd,
        "clipped-ldp-sgd": ClippedLdpSgd,
        "heavy-ball-ldp-sgd": HeavyBallLdpSgd,
        "dp-sgld": DpSgld,
        "dp-sgd": DpSgd,
        "sgd": Sgd,
        "tree-momentum": TreeMomentum,
        "reduced-momentum": ReducedMomentum,
        "batch-descent": BatchDescent,
        "gradient-recursion": GradientRecursion,
        "staged-newton": StagedNewton,
        "central-newton": CentralNewton,
    },
)
