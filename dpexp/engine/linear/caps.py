"""Cosines of messages by cap sampling (`dpexp.privacy.cap`), as the pass over users draws them.

A cosine is the quantile, in a table, of a uniform number in the cap's share of the tail or outside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.vectors import LANES

QUANTILES = 2**16


class MessageCap(NamedTuple):
    """The part of the sphere from which a message comes more often."""

    q: float  # its share of the sphere
    inside: float  # the probability of a message from it
    m: float  # the mean cosine


@kept_once(16)
def cosines(p: int) -> np.ndarray:
    """Cosines t with P(T > t) = k / QUANTILES for the cosine T of a uniform direction in R^p; [QUANTILES + 1]."""
    from scipy.special import betaincinv

    # T^2 has a beta law; rounded, so that every machine simulates the same numbers
    upper = np.sqrt(betaincinv(0.5, (p - 1) / 2, 1 - 2 * np.arange(QUANTILES // 2 + 1) / QUANTILES)).round(9)
    return np.concatenate([upper, -upper[-2::-1]])


@compiled(cached=True)
def fill_cosines(uniform, q, inside, table, out):
    """Write the cosines of uniform numbers [N, 8] to out [N, 8]."""
    for k in range(len(uniform)):
        for lane in range(LANES):
            u = uniform[k, lane]
            tail = q * u / inside if u <= inside else q + (1 - q) * (u - inside) / (1 - inside)
            place = tail * (len(table) - 1)
            j = min(int(place), len(table) - 2)
            out[k, lane] = table[j] + (place - j) * (table[j + 1] - table[j])
