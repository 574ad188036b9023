"""The last iterate of linear losses with every number of visits, in logarithms: nothing is left out or grouped."""

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, logsumexp
from scipy.stats import binom

# epsilon at 1e-3, 1e-5 and 1e-8 of the three pairs, by another program
GOLDEN = [
    ((0.01, 1, 1000), (0.817665, 1.277756, 1.807221), (1.785752, 2.587383, 3.490387), (1.975138, 2.971477, 4.183219)),
    ((0.04, 1.5, 2250), (4.305111, 5.942101, 7.829815), (10.258433, 13.277124, 16.726317), (10.91478, 14.357511, 18.421172)),
    ((0.01, 0.7, 3000), (2.418942, 3.495008, 4.747113), (5.452369, 7.350859, 9.516805), (6.035827, 8.389671, 11.243844)),
    ((0.1, 2, 500), (3.727587, 5.216939, 6.945973), (8.668568, 11.343589, 14.400881), (9.466499, 12.685608, 16.541204)),
]  # fmt: skip


def full(q, z, steps, scheme, delta):
    """Epsilon of the best half line, sought among many, with every number of visits, in logarithms."""
    k = np.arange(steps + 1)
    mass, spread, distance = binom.logpmf(k, steps, q), z * math.sqrt(steps), 2 if scheme == "fixed-size" else 1
    met, other = distance * k / spread, (-k if scheme == "replace-one" else 0 * k) / spread

    def eps(t, p, r):
        log_p = logsumexp(mass + log_ndtr(p - t))
        room = math.exp(log_p) - delta
        return math.log(room) - logsumexp(mass + log_ndtr(r - t)) if room > 0 else -1e9

    largest = 0.0
    for p, r in ((met, other),) if scheme == "replace-one" else ((met, other), (-other, -met)):
        places = np.linspace(min(p.min(), r.min()) - 12, max(p.max(), r.max()) + 12, 400)
        best = int(np.argmax([eps(t, p, r) for t in places]))
        found = minimize_scalar(
            lambda t, p=p, r=r: -eps(t, p, r), bounds=places[[best - 1, best + 1]], method="bounded"
        )
        largest = max(largest, -found.fun)
    return largest
