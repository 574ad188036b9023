"""What single precision would do to LDP-SGD: the same random numbers through float64 and float32, beside each other.

    python -m tests.campaigns.single_precision [USERS] [SEED]

Huber linear regression with d = 5, a known scale and 64 replicates, equation (2) of `ldp-sgd`, literally. Everything is
float32 in the second program: messages, noise, step, iterate and update of the average; only the sum of the iterates
is kept in float64 between blocks of 128 users. Printed for each budget and power of the step: the root mean squared
difference of the two programs over the root mean squared error, and by how much the mean squared error changes, in its
standard errors, for the last iterate and for the average.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

ETA, C, BLOCK, REPLICATES, D = 0.2, 1.345, 128, 64, 5
Floats = NDArray[np.floating]


def final(kind: type[np.floating], users: int, mu: float, alpha: float, seed: int) -> tuple[Floats, Floats]:
    """Errors of the last iterate and of the average, each of shape (replicates, D + 1)."""
    random = np.random.default_rng(seed)
    target = np.ones(D + 1)
    theta = np.zeros((REPLICATES, D + 1), kind)
    average = np.zeros((REPLICATES, D + 1))
    two, size = kind(2), kind(2 * np.sqrt(2) * C / mu)
    for start in range(0, users, BLOCK):
        x = np.ones((BLOCK, REPLICATES, D + 1))
        x[:, :, 1:] = random.standard_normal((BLOCK, REPLICATES, D))
        y = (x @ target + random.standard_normal((BLOCK, REPLICATES))).astype(kind)
        x, noise = x.astype(kind), random.standard_normal((BLOCK, REPLICATES, D + 1)).astype(kind)
        within = np.zeros((REPLICATES, D + 1), kind)
        for k in range(min(BLOCK, users - start)):
            row = x[k]
            weight = np.minimum(kind(1), two / (row * row).sum(axis=1))
            score = weight * np.clip(y[k] - (row * theta).sum(axis=1), -kind(C), kind(C))
            step = kind(ETA * (start + k + 1) ** -alpha)
            theta += step * (score[:, None] * row + size * noise[k])
            within += theta
        average += within
    return theta - target, average / users - target


def main(users: int, seed: int) -> None:
    print("mu   alpha  estimate  difference/error  change of mean squared error, in its standard errors")
    for mu in (1.0, np.inf):
        for alpha in (0.51, 0.9):
            for name, double, single in zip(
                ("last", "average"),
                final(np.float64, users, mu, alpha, seed),
                final(np.float32, users, mu, alpha, seed),
                strict=True,
            ):
                squared, other = (double**2).sum(axis=1), (single.astype(float) ** 2).sum(axis=1)
                relative = np.sqrt(((double - single) ** 2).sum(axis=1).mean() / squared.mean())
                change = (other.mean() - squared.mean()) / (squared.std(ddof=1) / np.sqrt(REPLICATES))
                print(f"{mu:<4g} {alpha:<6g} {name:9} {relative:<17.2e} {change:.1e}", flush=True)


if __name__ == "__main__":
    main(*(int(float(given)) for given in sys.argv[1:3])) if len(sys.argv) > 2 else main(100_000, 1)
