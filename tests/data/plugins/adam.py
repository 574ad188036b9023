"""Adam with bias correction, on gradients as users send them."""

import math
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import exp, sqrt
from dpexp.engine.linear.rule import Rule
from dpexp.plugins import Plugin

Decay = Annotated[float, Field(ge=0.01, le=0.9999)]


class Numbers(NamedTuple):
    beta1: float
    beta2: float
    log_beta1: float
    log_beta2: float
    epsilon: float


class Memory(NamedTuple):
    first: float
    second: float


def update(theta, received, memory, numbers):
    first = mixed(memory.first, received.noisy, numbers.beta1)
    second = mixed(memory.second, received.noisy * received.noisy, numbers.beta2)
    mean = first / corrected(received.i, numbers.log_beta1)
    size = sqrt(second / corrected(received.i, numbers.log_beta2))
    return theta - received.eta * mean / (size + numbers.epsilon), Memory(first, second)


def mixed(old, new, share):
    return share * old + (1.0 - share) * new


def corrected(i, log_beta):
    """1 - beta^i."""
    return 1.0 - exp(i * log_beta)


class Adam(OnePassAlgorithm):
    name: Literal["adam"] = "adam"
    beta1: Decay = 0.9
    beta2: Decay = 0.999
    epsilon: Positive = 1e-6

    def rule(self):
        logs = math.log(self.beta1), math.log(self.beta2)
        numbers = Numbers(self.beta1, self.beta2, *logs, self.epsilon)
        return Rule(update, memory=Memory(0.0, 0.0), numbers=numbers)


PLUGIN = Plugin(algorithms={"adam": Adam})
