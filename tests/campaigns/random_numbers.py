"""The random numbers of the engine, at length: their law to six sigma, and streams of different keys.

    python -m tests.campaigns.random_numbers [--normals 5e9] [--streams 400]

- law: counts of normals in 56 bins of a quarter to seven sigma on both sides, against the normal law;
- keys: correlations of all pairs of streams whose keys differ by one in seed, replicate, role or part, of the numbers,
  of their squares and of their signs, at lags 0 and 1.

The bits are those of a published generator: tests of the engine compare them with a literal copy of it. The exit code is
1 where something is off at level 1e-6.
"""

from __future__ import annotations

import argparse
import itertools
import sys

import numpy as np
from scipy import special, stats

from dpexp.core.seeds import stream_states
from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.noise_designs import Normals
from dpexp.engine.lanes.streams import fill_normal
from dpexp.engine.lanes.vectors import LANES

LEVEL = 1e-6
BINS, REACH = 56, 7.0
"""of the normals: how many, from -7 to 7; beyond, there is one more on each side"""
BLOCK = 1 << 15


@compiled
def _count(numbers: np.ndarray, counts: np.ndarray) -> None:
    for z in numbers.flat:
        place = (z + REACH) * (BINS / (2 * REACH))
        counts[0 if place < 0 else BINS + 1 if place >= BINS else int(place) + 1] += 1


def law(total: float, seed: int = 20) -> list[tuple[str, float]]:
    """P-values: of all bins together, and of the numbers beyond 4, 5 and 6 sigma, by an exact Poisson law."""
    state, block = stream_states(seed, range(LANES), "noise"), np.empty((BLOCK, LANES))
    counts, blocks = np.zeros(BINS + 2, np.int64), round(total / block.size)
    for _ in range(blocks):
        fill_normal(state, block, BLOCK)
        _count(block, counts)
    drawn = blocks * block.size
    edges = np.linspace(-REACH, REACH, BINS + 1)
    share = np.diff(np.concatenate([[0.0], special.ndtr(edges), [1.0]]))
    share = (share + share[::-1]) / 2  # the upper tail loses no digits so
    often = share * drawn >= 10
    merged = np.append(counts[often], counts[~often].sum()), np.append(share[often], share[~often].sum()) * drawn
    chi = float(np.sum((merged[0] - merged[1]) ** 2 / merged[1]))
    found = [(f"{drawn:.3g} normals in {len(merged[0])} bins", float(stats.chi2.sf(chi, len(merged[0]) - 1)))]
    centres = np.concatenate([[-np.inf], edges])
    for sigma in (4, 5, 6):
        beyond = int(counts[: np.searchsorted(centres, -sigma)].sum() + counts[np.searchsorted(centres, sigma) :].sum())
        mean = 2 * float(special.ndtr(-sigma)) * drawn
        p = 2 * min(stats.poisson.cdf(beyond, mean), stats.poisson.sf(beyond - 1, mean))
        found.append((f"beyond {sigma} sigma: {beyond:,} of {mean:,.1f} expected", min(1.0, float(p))))
    return found


def keys(count: int, length: int = 200_000) -> list[tuple[str, float]]:
    """P-values of the largest correlation of all pairs of streams, by the union bound."""
    seeds = range(max(1, count // 40))
    chosen = list(itertools.product(seeds, range(5), ("data", "noise"), range(4)))[:count]
    z = np.stack([Normals(seed, r, role, part).standard_normal((1, length))[0] for seed, r, role, part in chosen])
    found = []
    for name, of in {"numbers": np.asarray, "squares": np.square, "signs": np.sign}.items():
        values = of(z)
        values = (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True)
        for lag in (0, 1):
            product = values[:, lag:] @ values[:, : length - lag].T / length
            # without a lag a stream goes with every other, once; with one, every stream follows every other and itself
            told = product[np.triu_indices(len(z), 1)] if lag == 0 else product.ravel()
            largest = np.abs(told).max()
            p = min(1.0, 2 * told.size * float(special.ndtr(-largest * np.sqrt(length))))
            found.append((f"{name} of {len(z)} streams, lag {lag}: largest correlation {largest:.4f}", p))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--normals", type=float, default=5e9)
    parser.add_argument("--streams", type=int, default=400)
    options = parser.parse_args()
    found = law(options.normals) + keys(options.streams)
    for what, p in found:
        print(f"{'OFF ' if p < LEVEL else ''}{what}: p = {p:.3g}", flush=True)
    return int(any(p < LEVEL for _, p in found))


if __name__ == "__main__":
    sys.exit(main())
