"""The law of the number of runs K from which the best one is kept (Papernot and Steinke, arXiv 2110.03620).

K is Poisson with mean m, or truncated negative binomial: with shape h and 0 < gamma <= 1 (Definition 1 there)

    P(K = k) = (1 - gamma)^k / (gamma^-h - 1)  prod_{l < k} (l + h) / (l + 1),   k = 1, 2, ...

Shape 1 is the geometric law P(K = k) = gamma (1 - gamma)^(k - 1), and the limit h = 0 is the logarithmic law
P(K = k) = (1 - gamma)^k / (k log(1 / gamma)). A config gives the mean, from which gamma follows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import numpy as np

from dpexp.privacy.analyses.private_selection import gamma_of

LAWS = {"poisson": math.inf, "geometric": 1.0, "logarithmic": 0.0}
"""names of laws that have no shape to give, and their shape; that of Poisson is the limit of large ones"""
WITH_SHAPE = "negative-binomial"
MOST_SHAPE = 100.0
MOST_RUNS = 1e9
EXAMPLES = "poisson MEAN, geometric MEAN, logarithmic MEAN or negative-binomial SHAPE MEAN, for instance poisson 10"
NEGLIGIBLE = 2.0**-60
"""a probability below what a uniform number of 53 bits can fall into"""


class NumberOfRuns(NamedTuple):
    """The law of K."""

    runs: float
    """its mean, at least 1; of a Poisson law any"""
    shape: float
    """of the truncated negative binomial law; inf is Poisson"""

    @property
    def may_be_none(self) -> bool:
        """Whether K = 0 has a probability above 0: then nothing is released."""
        return math.isinf(self.shape)

    def drawn(self, generator: np.random.Generator) -> int:
        """K. The law itself: there is no upper limit, since a cut-off law is another one, which no theorem covers."""
        if math.isinf(self.shape):
            return int(generator.poisson(self.runs))
        u, total = generator.random(), 0.0
        for k, share in enumerate(self.probabilities(), start=1):
            total += share
            if u < total or (k > self.runs and share < NEGLIGIBLE):  # shares decrease beyond the mean
                return k
        return 1

    def probabilities(self) -> Iterator[float]:
        """P(K = 1), P(K = 2), ... of the truncated negative binomial law.

        P(K = k + 1) = P(K = k) (1 - gamma) (k + h) / (k + 1), in logarithms: the first may be below any number.
        """
        gamma, h = gamma_of(self.shape, self.runs), self.shape
        if gamma == 1:
            yield 1.0
            return
        cost, fails = -math.log(gamma), math.log1p(-gamma)
        # log of (1 - gamma) h / (gamma^-h - 1), and of its limit (1 - gamma) / log(1 / gamma) at h = 0
        share = fails + (math.log(h) - h * cost - math.log(-math.expm1(-h * cost)) if h else -math.log(cost))
        for k in count(1):
            yield math.exp(share)
            share += fails + math.log((k + h) / (k + 1))


def number_of_runs(text: str) -> NumberOfRuns:
    """The law that a text such as `poisson 10` names. Raises ValueError, which says what is wrong."""
    name, *numbers = text.split() or [""]
    if len(numbers) != (2 if name == WITH_SHAPE else 1) or (name not in LAWS and name != WITH_SHAPE):
        raise ValueError(f"the law of the number of runs is {EXAMPLES}, not '{text}'")
    try:
        values = [float(number) for number in numbers]
    except ValueError:
        raise ValueError(f"'{text}' has a word where a number belongs: {EXAMPLES}") from None
    mean, shape = values[-1], LAWS.get(name, values[0])
    if not 1 <= mean <= MOST_RUNS:
        raise ValueError(f"the mean number of runs is between 1 and {MOST_RUNS:g}, not {mean:g}")
    if name == WITH_SHAPE and not 0 <= shape <= MOST_SHAPE:
        raise ValueError(
            f"the shape is between 0 and {MOST_SHAPE:g}, not {shape:g}; the limit of large ones is poisson"
        )
    return NumberOfRuns(mean, shape)
