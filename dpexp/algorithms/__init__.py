"""ALGORITHMS: the registry of algorithms, one file each."""

from dpexp.algorithms.dp_sgd import DpSgd
from dpexp.algorithms.dp_sgld import DpSgld
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.sgd import Sgd
from dpexp.parameters import Parameters

ALGORITHMS: dict[str, type[Parameters]] = {"ldp-sgd": LdpSgd, "dp-sgld": DpSgld, "dp-sgd": DpSgd, "sgd": Sgd}
