"""PROBLEMS: the registry of problems, one file each."""

from dpexp.core.parameters import Registry
from dpexp.problems.finite_sum import LogisticRidge, RippledMean, Sigmoid, WelschRegression
from dpexp.problems.linear_losses import HuberLinear, InsensitiveLinear, MallowsLogistic, PinballLinear
from dpexp.problems.problem import Problem
from dpexp.problems.softmax import Softmax

FINITE_SUMS = RippledMean, Sigmoid, WelschRegression, LogisticRidge
KINDS = HuberLinear, MallowsLogistic, PinballLinear, InsensitiveLinear, *FINITE_SUMS, Softmax
PROBLEMS: Registry[type[Problem]] = Registry("problem", {kind.model_fields["name"].default: kind for kind in KINDS})
