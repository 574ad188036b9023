"""ALGORITHMS: the registry of algorithms, one file each."""

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.parameters import Parameters

ALGORITHMS: dict[str, type[Parameters]] = {"ldp-sgd": LdpSgd}
