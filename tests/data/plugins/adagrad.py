"""AdaGrad on clipped gradients: every coordinate's steps are divided by the root of its own sum of squares."""

from typing import Literal, NamedTuple

from dpexp.algorithms.clipped_ldp_sgd import ClippedLdpSgd
from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import maximum, sqrt
from dpexp.engine.linear.rule import Rule
from dpexp.plugins import Plugin


class Numbers(NamedTuple):
    clip: float


class Memory(NamedTuple):
    squares: float


def rescale(norm, numbers):
    return numbers.clip / maximum(norm, numbers.clip)


def update(theta, received, memory, numbers):
    squares = memory.squares + square(received.noisy)
    return theta - received.step / sqrt(squares), Memory(squares)


def square(a):
    return a * a


class AdaGrad(ClippedLdpSgd):
    """The users and the sensitivity are those of clipped LDP-SGD: what the server does costs no privacy."""

    name: Literal["adagrad"] = "adagrad"
    floor: Positive = 1e-3
    """the sum of squares before the first user"""

    def rule(self):
        return Rule(update, rescale, memory=Memory(self.floor), numbers=Numbers(self.clip))


PLUGIN = Plugin(algorithms={"adagrad": AdaGrad})
