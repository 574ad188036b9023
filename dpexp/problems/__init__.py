"""PROBLEMS: the registry of problems, one file each."""

from dpexp.core.parameters import Registry
from dpexp.problems.finite_sum import LogisticRidge, RippledMean, Sigmoid, WelschRegression
from dpexp.problems.linear_losses import HuberLinear, InsensitiveLinear, MallowsLogistic, PinballLinear
from dpexp.problems.problem import Problem
from dpexp.problems.softmax import Softmax

PROBLEMS: Registry[type[Problem]] = Registry(
    "problem",
    {
        "huber-linear": HuberLinear,
        "mallows-logistic": MallowsLogistic,
        "pinball-linear": PinballLinear,
        "insensitive-linear": InsensitiveLinear,
        "rippled-mean": RippledMean,
        "sigmoid": Sigmoid,
        "welsch-regression": WelschRegression,
        "logistic-ridge": LogisticRidge,
        "softmax": Softmax,
    },
)
