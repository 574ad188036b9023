"""What single precision would do to LDP-SGD: the same random numbers through float64 and float32, beside each other.

    python -m tests.campaigns.single_precision [USERS] [SEED]

Huber regression with d = 5, a known scale and 64 replicates, equation (2) of `ldp-sgd`, literally; all but the sum of the
iterates between blocks of users is float32 in the second program. Printed for each budget and power of the step: the root
mean squared difference of the two over the root mean squared error, and by how many standard errors the mean squared error
changes, for the last iterate and for the average.
"""

import itertools
import sys

import numpy as np

ETA, C, BLOCK, REPLICATES, D = 0.2, 1.345, 128, 64, 5


def errors(kind: type[np.floating], users: int, mu: float, alpha: float, seed: int) -> np.ndarray:
    """Errors of the last iterate and of the average, shape (2, replicates, D + 1)."""
    random, target, total = np.random.default_rng(seed), np.ones(D + 1), np.zeros((REPLICATES, D + 1))
    theta, size = np.zeros((REPLICATES, D + 1), kind), kind(2 * np.sqrt(2) * C / mu)
    for start in range(0, users, BLOCK):
        x = np.ones((BLOCK, REPLICATES, D + 1))
        x[:, :, 1:] = random.standard_normal((BLOCK, REPLICATES, D))
        y = (x @ target + random.standard_normal((BLOCK, REPLICATES))).astype(kind)
        x, noise = x.astype(kind), random.standard_normal((BLOCK, REPLICATES, D + 1)).astype(kind)
        within = np.zeros((REPLICATES, D + 1), kind)
        for k in range(min(BLOCK, users - start)):
            weight = np.minimum(kind(1), kind(2) / (x[k] * x[k]).sum(axis=1))
            score = weight * np.clip(y[k] - (x[k] * theta).sum(axis=1), -kind(C), kind(C))
            theta += kind(ETA * (start + k + 1) ** -alpha) * (score[:, None] * x[k] + size * noise[k])
            within += theta
        total += within
    return np.stack([theta, total / users]) - target


def main(users: float = 1e5, seed: float = 1) -> None:
    print("mu   alpha  estimate  difference/error  change of mean squared error, in its standard errors")
    for mu, alpha in itertools.product((1.0, np.inf), (0.51, 0.9)):
        both = [errors(kind, int(users), mu, alpha, int(seed)).astype(float) for kind in (np.float64, np.float32)]
        for name, double, single in zip(("last", "average"), *both, strict=True):
            squared, other = ((of**2).sum(axis=1) for of in (double, single))
            relative = np.sqrt(((double - single) ** 2).sum(axis=1).mean() / squared.mean())
            change = (other - squared).mean() / (squared.std(ddof=1) / np.sqrt(REPLICATES))
            print(f"{mu:<4g} {alpha:<6g} {name:9} {relative:<17.2e} {change:.1e}", flush=True)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
