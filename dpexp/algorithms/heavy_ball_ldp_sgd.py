"""LDP-SGD with heavy-ball momentum (Polyak, 1964): the server keeps rolling in the direction of earlier steps.

User i, who is used once, sends g_i = grad f(theta_{i-1}, x_i) + (Delta / mu_i) omega_i as in `ldp-sgd`. The server
keeps a velocity v, starting from v_0 = 0:

    v_i     = momentum v_{i-1} + g_i
    theta_i = Proj( theta_{i-1} - eta_i v_i )

Privacy: v and theta are functions of what users send, and users send what they send in `ldp-sgd`. A function of a
private release is as private as the release (post-processing), so the statement is the same too.

Projection: Proj lifts the scale to its lower bound and leaves the scale's velocity alone. A velocity that points below
the bound goes on pressing there until later gradients have turned it.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.engine.lanes.elementwise import Value
from dpexp.engine.linear.rule import Received, Rule


class Velocity(NamedTuple):
    """What the server remembers, in one coordinate."""

    velocity: Value


class HeavyBallNumbers(NamedTuple):
    momentum: float


def update(theta: Value, received: Received, memory: Velocity, numbers: HeavyBallNumbers) -> tuple[Value, Velocity]:
    """One step along the velocity v_i."""
    # theta - eta v_i is (theta - eta g_i) - eta (momentum v_{i-1}), so that momentum 0 is LDP-SGD to the last bit
    carried = numbers.momentum * memory.velocity
    velocity = carried + received.noisy
    return received.stepped - received.eta * carried, Velocity(velocity)


class HeavyBallLdpSgd(OnePassAlgorithm):
    """LDP-SGD whose server adds `momentum` times the earlier velocity to every noisy gradient."""

    name: Literal["heavy-ball-ldp-sgd"] = "heavy-ball-ldp-sgd"
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """the share of the velocity that is left after one step; 0 is LDP-SGD"""

    def rule(self) -> Rule:
        return Rule(update, memory=Velocity(velocity=0.0), numbers=HeavyBallNumbers(self.momentum))
