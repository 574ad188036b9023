"""A bound on the epsilon of Gaussian noise that needs no special function."""

import math

from dpexp.plugins import Plugin
from dpexp.privacy.analyses.analysis import ALL, Analysis


def chernoff(mechanism):
    """The Renyi divergence of order a is a mu^2 / 2, so epsilon <= a mu^2 / 2 + log(1 / delta) / (a - 1) for any a > 1.

    The best order is a = 1 + sqrt(2 log(1 / delta)) / mu.
    """
    mu = mechanism.sound_mu

    def eps(delta):
        if mu in (0, math.inf) or delta <= 0:
            return mu if mu == 0 else math.inf
        return mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / delta))

    return Analysis(
        name="chernoff",
        source="Renyi divergence of two Gaussian laws, converted at the best order",
        released=ALL,
        eps=eps,
        assumptions=("neighbours differ in the record of one user", "every user is used once"),
        rdp=lambda order: order * mu**2 / 2,
    )


PLUGIN = Plugin(analyses={"local-gaussian/chernoff": chernoff})
