"""`hulc` and `t-chains`: intervals from the averages of independent chains on disjoint users, without any variance.

`t-chains` is Student's interval over K chains. `hulc` (Kuchibhotla, Balakrishnan and Wasserman, 2021) is [min, max] of
B chains: it misses the truth if all lie on one side of it, with probability 2^(1 - B) where no chain has a median bias.
B = 5 or 6 at random makes that exactly 5%.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpexp.inference import critical_values
from dpexp.inference.interval import Interval, symmetric_interval
from dpexp.inference.paths import Path


def averages(chains: Sequence[Path]) -> np.ndarray:
    """The average after its burn-in of every chain [K, 8, p]; the first snapshot is the end of the burn-in."""
    found = []
    for chain in chains:
        burned, end = chain.snapshots[0], chain.snapshots[-1]
        found.append((end.sums.total - burned.sums.total).T / (end.users - burned.users))
    return np.stack(found)


def t_chains(means: np.ndarray, level: float) -> Interval:
    """From the averages [K, 8, p]."""
    count = len(means)
    half = critical_values.student(level, count - 1) * means.std(axis=0, ddof=1) / math.sqrt(count)
    return symmetric_interval(means.mean(axis=0), half)


def chains_of_hulc(level: float) -> tuple[int, float]:
    """(B, share): B chains with this probability and B - 1 otherwise miss with probability 1 - level exactly."""
    most = math.ceil(1 - math.log2(1 - level))
    more, fewer = 2.0 ** (1 - most), 2.0 ** (2 - most)
    return most, (fewer - (1 - level)) / (fewer - more)


def hulc(means: np.ndarray, level: float, uniform: np.ndarray) -> Interval:
    """[min, max] of the first B averages of [K, 8, p]; `uniform` [8] decides between the two numbers of chains."""
    most, share = chains_of_hulc(level)
    if len(means) < most:
        raise ValueError(f"level {level:g} takes {most} chains, not {len(means)}")
    kept = np.arange(len(means))[:, None] < np.where(uniform <= share, most, most - 1)[None, :]
    low = np.where(kept[:, :, None], means, np.inf).min(axis=0)
    high = np.where(kept[:, :, None], means, -np.inf).max(axis=0)
    return Interval(means.mean(axis=0), low, high)
