"""PROBLEMS: the registry of problems, one file each."""

from dpexp.problems.huber_linear import HuberLinear

PROBLEMS = {"huber-linear": HuberLinear}
