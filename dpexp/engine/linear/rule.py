"""What an algorithm of one pass decides: what a user sends, what the server makes of it, and what the server remembers.

With g = grad f(theta_{i-1}, x_i), the gradient of the one user of step i, and omega_i ~ N(0, I_p):

    user i sends          rescale(|u|) u + (Delta / mu_i) omega_i,   u_j = whiten(g_j, memory_j), or g itself
    the server computes   (theta_i, memory_i) = update(theta_{i-1}, what was sent, memory_{i-1})

and keeps the scale, where it is a parameter, above its lower bound. The two sides are functions of their own on
purpose. Only the user's side sees the true gradient; what it sees of the server's memory is public, since it was made
of noisy gradients. The server's side sees nothing but the noisy gradient, so whatever `update` does is post-processing
and costs no privacy.

All are plain functions of arithmetic, comparisons and `dpexp.engine.lanes.elementwise`. Called from Python they act on
numbers; compiled they act on eight replicates at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.engine.lanes.elementwise import Value

Memory = Any
"""the rule's own NamedTuple of vectors that are kept from step to step, in one coordinate"""
Numbers = Any
"""the rule's own NamedTuple of plain numbers"""


class Received(NamedTuple):
    """What the server has in hand in step i, in one coordinate."""

    i: Value  # number of the step, from 1
    eta: Value  # its step size eta_i
    noisy: Value  # the user's rescaled gradient plus its noise
    step: Value  # eta_i times that
    stepped: Value
    """theta_{i-1} less `step`, where plain SGD goes; compiled code takes off the noise first, and rounds only twice"""


def received_at(theta: Value, i: Value, eta: Value, noisy: Value) -> Received:
    """What the server has in hand at theta_{i-1}, in numbers or numpy arrays."""
    return Received(i, eta, noisy, eta * noisy, theta - eta * noisy)


class Rule(NamedTuple):
    """One algorithm's two sides, with the numbers and the vectors that they use. What is left out costs nothing."""

    update: Callable[[Value, Received, Memory, Numbers], tuple[Value, Memory]]
    """update(theta_j, received_j, memory_j, numbers) -> next theta_j and next memory_j, in every coordinate j"""
    rescale: Callable[[Value, Numbers], Value] | None = None
    """rescale(|g|, numbers) -> the factor by which a user multiplies its gradient before it adds the noise"""
    whiten: Callable[[Value, Memory, Numbers], Value] | None = None
    """whiten(g_j, memory_j, numbers) -> coordinate j of what a user rescales: its gradient in units that the server's
    public memory says"""
    memory: tuple[float, ...] = ()
    """a NamedTuple with one field for every vector that is kept, holding the number that its entries start from"""
    numbers: tuple[float, ...] = ()
    """a NamedTuple of plain numbers handed to both functions; other values of them compile nothing"""

    def floats(self) -> Numbers:
        """The numbers as floats."""
        # to compiled code an integer is another type, for which it would compile again
        kind: Any = type(self.numbers)
        return kind(*map(float, self.numbers))

    def check(self) -> None:
        """Try the update on plain numbers. Raises UsageError where what it keeps is not what the rule remembers."""
        with np.errstate(all="ignore"):
            theta, *others = map(np.float64, (0.5, 1.0, 0.1, 0.2))
            result = self.update(theta, received_at(theta, *others), self.memory, self.floats())
        next_memory = result[1] if isinstance(result, tuple) and len(result) == 2 else None  # type: ignore[redundant-expr]
        # the kernel writes back field by field, so another tuple would be kept in the wrong places
        if type(next_memory) is not type(self.memory):
            code = inspect.unwrap(self.update).__code__
            raise UsageError(
                f"{code.co_filename}:{code.co_firstlineno}: {code.co_name} must return the next theta and the next "
                f"memory, a {type(self.memory).__name__} of {len(self.memory)}; it returned {result!r}"
            )

    def sent(self, gradients: np.ndarray, memory: Memory = None) -> np.ndarray:
        """What users make of their gradients [..., p] before they add the noise.

        `memory` has vectors [p]; without it all are as they start.
        """
        with np.errstate(all="ignore"):
            if self.whiten is not None:
                gradients = np.asarray(self.whiten(gradients, self.memory if memory is None else memory, self.floats()))
            if self.rescale is None:
                return gradients
            norms = np.linalg.norm(gradients, axis=-1, keepdims=True)
            return np.asarray(self.rescale(norms, self.floats()) * gradients)

    @property
    def source(self) -> RuleSource:
        """What has to be compiled."""
        return RuleSource(self.update, self.rescale, self.whiten, type(self.memory), len(self.memory))


class RuleSource(NamedTuple):
    """The part of a rule for which a kernel is compiled: rules that differ in numbers only share it."""

    update: Callable[[Value, Received, Memory, Numbers], tuple[Value, Memory]]
    rescale: Callable[[Value, Numbers], Value] | None
    whiten: Callable[[Value, Memory, Numbers], Value] | None
    memory: type[tuple[float, ...]]
    vectors: int  # how many vectors are kept
