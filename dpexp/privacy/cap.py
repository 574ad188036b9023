"""Cap sampling: an unbiased message about a bounded vector under pure differential privacy.

(Bhowmick, Duchi, Freudiger, Kapoor and Rogers, 2018; Asi, Feldman and Talwar, 2022.) Let u be a direction in R^p, U
uniform on the sphere, and C(u) the cap {<U, u> >= gamma}, which U hits with probability q. The message is U / m, where
U is drawn from the cap with probability P0 and from the rest otherwise.

(a) Its density over the uniform law is P0 / q on the cap and (1 - P0) / (1 - q) off it. With P0 = e^eps q / (1 - q +
    e^eps q) their ratio is e^eps, whatever u is: the message is eps-differentially private, with delta = 0.
(b) Its mean is u: with e = E[T; T >= gamma] for T = <U, u> the cap has the mean e / q, and the rest -e / (1 - q), so
    m = e (P0 / q - (1 - P0) / (1 - q)) = (e^eps - 1) e / (1 + (e^eps - 1) q).
(c) m is largest where it is gamma itself.
(d) A vector v with |v| <= R takes u = v / |v| with probability |v| / R and a uniform u otherwise: the mean of R times
    the message is v. The uniform law is a mixture of the others, so all densities stay between the two of (a).
(e) delta at eps' < eps is at most P0 (1 - e^(eps' - eps)): the part of P above e^eps' Q is on the cap of P, has
    probability P0 or less, and there P <= e^eps Q. A mixture over pairs shows no more than its worst pair.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from dpexp.accounting.search import narrow

SLACK = 1e-9
"""by which epsilon is computed smaller than stated: the cap of floating-point directions has a probability that differs
from q by a relative 1e-10 at most"""
MOST_TRIALS = 200.0
"""directions that are drawn for a message in the mean; the cap is made wider where the best one would take more"""
MOST_EPS = 20.0
"""the largest epsilon: P0 is compared with a number of 53 bits, which moves 1 - P0 by a relative 1e-9 there"""


class Cap(NamedTuple):
    """The numbers of one cap."""

    gamma: float
    q: float
    """probability of the cap"""
    inside: float
    """P0, the probability that a message is from the cap"""
    m: float
    """mean of <U, u>: messages are divided by it"""

    @property
    def trials(self) -> float:
        """Uniform directions that are drawn for one message, in the mean."""
        return self.inside / self.q + (1 - self.inside) / (1 - self.q)


@lru_cache(maxsize=256)
def cap(eps: float, p: int) -> Cap:
    """The cap with the least noise for messages in R^p that are eps-differentially private, eps at most MOST_EPS."""

    def beyond(gamma: float) -> bool:
        trial = _cap(eps, p, gamma)
        return trial.m <= gamma or trial.trials > MOST_TRIALS

    # with the density f of T, e' = -gamma f and q' = -f, so that the derivative of m vanishes where m is gamma
    return _cap(eps, p, narrow(beyond, 0.0, 1.0, absolute=1e-15).below)


def _cap(eps: float, p: int, gamma: float) -> Cap:
    from scipy.special import betainc, betaln

    alpha, more = (p - 1) / 2, math.expm1(eps - SLACK)
    # (T + 1) / 2 has a beta law with alpha = (p - 1) / 2 twice
    q = float(betainc(alpha, 0.5, 1 - gamma**2)) / 2
    e = math.exp(alpha * math.log1p(-(gamma**2)) - float(betaln(0.5, alpha))) / (p - 1) if gamma < 1 else 0.0
    # (a), (b)
    return Cap(gamma, q, (1 + more) * q / (1 + more * q), more * e / (1 + more * q))


def eps_at(eps: float, inside: float, delta: float) -> float:
    """The least epsilon at delta of messages that are eps-differentially private."""
    # (e); opposite directions have caps without a common point and attain it
    return max(0.0, eps + math.log1p(-delta / inside)) if delta < inside else 0.0


def deviation(eps: float, p: int, radius: float) -> float:
    """The noise of one coordinate of a message about a vector of at most this norm, over all directions."""
    return radius / (cap(eps, p).m * math.sqrt(p))


def gaussian_mu(eps: float) -> float:
    """The least mu for which all eps-differentially private messages are mu-GDP: 2 Phi^-1(e^eps / (1 + e^eps))."""
    from scipy.special import ndtri

    # the trade-off curve of randomised response has one kink, on the curve of mu; a convex curve that is below another
    # nowhere but at a kink of it is below it at the kink
    return -2 * float(ndtri(1 / (1 + math.exp(eps))))
