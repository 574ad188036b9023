"""LDP-SGD and its Polyak-Ruppert average LDP-ASGD (`ldp-sgd`, equation (2) and section 3).

User i, who is used once, computes the gradient of its own loss at the public iterate, adds noise for its own budget
mu_i and sends the sum; the server takes one step and keeps the average of all iterates:

    theta_i     = Proj( theta_{i-1} - eta_i (grad f(theta_{i-1}, x_i) + (Delta / mu_i) omega_i) ),  omega_i ~ N(0, I_p)
    theta_bar_i = (theta_1 + ... + theta_i) / i
"""

from __future__ import annotations

from typing import Literal

from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.engine.lanes.elementwise import Value
from dpexp.engine.linear.rule import Memory, Numbers, Received, Rule


def update(theta: Value, received: Received, memory: Memory, numbers: Numbers) -> tuple[Value, Memory]:
    """One step against the noisy gradient. It has no memory."""
    return received.stepped, memory


class LdpSgd(OnePassAlgorithm):
    """One pass over fresh users; user i adds the noise of its own budget mu_i before sending its gradient."""

    name: Literal["ldp-sgd"] = "ldp-sgd"

    def rule(self) -> Rule:
        return Rule(update)
