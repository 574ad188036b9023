"""ALGORITHMS: the registry of algorithms, one file each."""

from dpexp.algorithms.ldp_sgd import LdpSgd

ALGORITHMS = {"ldp-sgd": LdpSgd}
