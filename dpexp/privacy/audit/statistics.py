"""Statistics of what a run releases, large where the canary is likely: likelihood ratios, known or fitted.

They decide the power of a test and never its validity.

(a) A release that is normal in both worlds. Where it is X ~ N(a, s^2 I) without the canary and N(a + d, s^2 I) with it,
the log likelihood ratio is (<X - a, d> - |d|^2 / 2) / s^2.

(b) Several releases at once, of the two normal laws that pilot runs have shown. With means m_w and covariances S_w of
the releases in the worlds w = 0 (without the canary) and 1, up to a constant

    l(x) = [(x - m_0)' S_0^-1 (x - m_0) - (x - m_1)' S_1^-1 (x - m_1)] / 2.
"""

from __future__ import annotations

import numpy as np

RIDGE = 1e-9
"""added to the variances of releases of variance 1: rounding to float32 is far below its root"""


def of_projection(released: np.ndarray, without: np.ndarray, effect: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """(a) of each run [R]: released, without and effect [R, p], noise [R]."""
    along = np.sum((released - without) * effect, axis=1)
    return np.asarray((along - np.sum(effect**2, axis=1) / 2) / noise**2)


def of_normal_releases(pilot: np.ndarray, worlds: np.ndarray, releases: np.ndarray) -> np.ndarray:
    """l of the releases [R, k], by a pilot [P, k] and its worlds, bool [P]; [R]."""
    # (b), of releases in units of the pilot's deviations, so that one ridge serves all; the laws need not be normal,
    # since the pilot's runs are of their own and only the power of the test follows from them
    spread = pilot.std(axis=0)
    spread[spread == 0] = 1.0
    own, new = (np.asarray((x - pilot.mean(axis=0)) / spread, float) for x in (pilot, releases))
    found = np.zeros(len(releases))
    for world, sign in ((False, 0.5), (True, -0.5)):
        seen = own[worlds == world]
        covariance = np.cov(seen, rowvar=False).reshape(2 * (own.shape[1],)) + RIDGE * np.eye(own.shape[1])
        centred = new - seen.mean(axis=0)
        # noise that cancels between releases leaves a direction of next to no variance, and there this is large: by
        # the means where what is free of noise moves with the canary, by the covariances where it moves in one world
        # alone
        found += sign * np.sum(centred * np.linalg.solve(covariance, centred.T).T, axis=1)
    return found
