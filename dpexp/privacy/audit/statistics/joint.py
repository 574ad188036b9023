"""Several releases at once: the likelihood ratio of the two normal laws that pilot runs have shown.

With means m_w and covariances S_w of the releases in the worlds w = 0 (without the canary) and 1, up to a constant

    l(x) = [(x - m_0)' S_0^-1 (x - m_0) - (x - m_1)' S_1^-1 (x - m_1)] / 2.

Noise that cancels between releases leaves a direction in which a covariance is next to 0, and there l is large: by the
means where what is free of noise moves with the canary, and by the covariances where it moves in one world alone. The
laws need not be normal. They decide the power of a test and never its validity, since they come from runs of their own.
"""

from __future__ import annotations

import numpy as np

RIDGE = 1e-9
"""added to the variances of releases of variance 1: rounding to float32 is far below its root"""


def joint_log_ratio(pilot: np.ndarray, worlds: np.ndarray, releases: np.ndarray) -> np.ndarray:
    """l of the releases [R, k], by a pilot [P, k] and its worlds, bool [P]; [R]."""
    spread = pilot.std(axis=0)
    spread[spread == 0] = 1.0
    own, new = (np.asarray((x - pilot.mean(axis=0)) / spread, float) for x in (pilot, releases))
    found = np.zeros(len(releases))
    for world, sign in ((False, 0.5), (True, -0.5)):
        seen = own[worlds == world]
        covariance = np.cov(seen, rowvar=False).reshape(2 * (own.shape[1],)) + RIDGE * np.eye(own.shape[1])
        centred = new - seen.mean(axis=0)
        found += sign * np.sum(centred * np.linalg.solve(covariance, centred.T).T, axis=1)
    return found
