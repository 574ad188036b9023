"""The last iterate of linear losses with every number of visits, in logarithms: nothing is left out or grouped."""

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, logsumexp
from scipy.stats import binom


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
