"""Statistics of a release: they decide the power of a test, and never its validity.

Nearly all are log-likelihood ratios of what a release is with the canary and without it.

(a) One Gaussian noise. The ratio is the release's projection on what the canary changes.

(b) Steps with fresh noise, of which each may or may not have used the record. Without the canary a noisy sum is N(0,
s^2 I) after what is known is taken off; with it the sum is N(g, s^2 I) with probability q:

    sum_t log(1 - q + q exp((<r_t, g_t> - |g_t|^2 / 2) / s_t^2))

With x_t = <r_t, g_t> / C^2 and s = z C, |g| = C, this is log(1 - q + q e^((x_t - 1/2) / z^2)).

(c) Steps whose noise is correlated by design. The noise of a momentum is one linear map of standard normals in every
coordinate, whether it comes from the nodes of a tree or elsewhere. With its covariance Sigma over steps, and the effect
of the canary delta_t in step t along one direction, what is released there is N(0, Sigma) or N(delta, Sigma), and the
ratio is delta' Sigma^-1 (y - delta / 2).

(d) Several releases at once, of the two normal laws that pilot runs have shown. With means m_w and covariances S_w of
the releases in the worlds w = 0 (without the canary) and 1, up to a constant

    l(x) = [(x - m_0)' S_0^-1 (x - m_0) - (x - m_1)' S_1^-1 (x - m_1)] / 2.

(e) Steps whose noise is missing, or is that of another step: what such a step shows of the canary, counted. Projections
and likelihood ratios do not see these faults, since they leave the law of one step as it is, or the law of most steps.
"""

from __future__ import annotations

import numpy as np

RIDGE_OF_STEPS = 1e-10
"""added to the covariance, over its mean diagonal: singular ones are what faults give"""
RIDGE_OF_RELEASES = 1e-9
"""added to the variances of releases of variance 1: rounding to float32 is far below its root"""
CLOSE = 1e-3
"""of the noise: far above what float32 leaves of a difference of iterates, far below any noise"""
LEAST_DIMENSION = 4
"""of D in (e): two sound steps agree in three others with a probability of about 1e-9"""


def of_projection(released: np.ndarray, without: np.ndarray, effect: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """log of the densities of N(without + effect, noise^2 I) over N(without, noise^2 I) at `released`, [R].

    released, without and effect [R, p], noise [R]: <released - without, effect> / noise^2 - |effect|^2 / (2 noise^2).
    """
    # (a)
    along = np.sum((released - without) * effect, axis=1)
    return np.asarray((along - np.sum(effect**2, axis=1) / 2) / noise**2)


def of_sampled_steps(sums: np.ndarray, effects: np.ndarray, noise: np.ndarray, q: float) -> np.ndarray:
    """[R], of noisy sums [R, T, D] less what is known, the effects of the canary [R, T, D], and noise s_t [T]."""
    ratios = np.sum((sums - effects / 2) * effects, axis=2) / noise**2
    # (b): given the iterates before a step its coin and noise are fresh, so that ratios multiply
    return np.asarray(np.logaddexp(np.log1p(-q) if q < 1 else -np.inf, np.log(q) + ratios).sum(axis=1))


def of_replaced_steps(sums: np.ndarray, effects: np.ndarray, noise: np.ndarray, q: float) -> np.ndarray:
    """The same where the record is replaced: `effects` with probability q, against minus that."""
    return of_sampled_steps(sums, effects, noise, q) - of_sampled_steps(sums, -effects, noise, q)


def whitening(noise: np.ndarray) -> np.ndarray:
    """The triangular matrix [T, T] that makes steps independent, from samples of their noise [samples, T]."""
    # pilot runs see the noise as it is: where some is used again that should be fresh, the matrix is nearly singular,
    # and the ratio looks where the canary stands without noise
    covariance = noise.T @ noise / len(noise)
    covariance += RIDGE_OF_STEPS * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)))


def of_correlated_steps(along: np.ndarray, effects: np.ndarray, white: np.ndarray) -> np.ndarray:
    """[R], of what is released along the canary's direction less what is known [R, T], and the effects [R, T]."""
    # (c): with Sigma^-1 = white' white, the form is a product of two vectors
    seen, shifts = along @ white.T, effects @ white.T
    return np.asarray(np.sum((seen - shifts / 2) * shifts, axis=1))


def of_normal_releases(pilot: np.ndarray, worlds: np.ndarray, releases: np.ndarray) -> np.ndarray:
    """l of the releases [R, k], by a pilot [P, k] and its worlds, bool [P]; [R]."""
    # (d), of releases in units of the pilot's deviations, so that one ridge serves all; the laws need not be normal,
    # since the pilot's runs are of their own and only the power of the test follows from them
    spread = pilot.std(axis=0)
    spread[spread == 0] = 1.0
    own, new = (np.asarray((x - pilot.mean(axis=0)) / spread, float) for x in (pilot, releases))
    found = np.zeros(len(releases))
    for world, sign in ((False, 0.5), (True, -0.5)):
        seen = own[worlds == world]
        covariance = np.cov(seen, rowvar=False).reshape(2 * (own.shape[1],)) + RIDGE_OF_RELEASES * np.eye(own.shape[1])
        centred = new - seen.mean(axis=0)
        # noise that cancels between releases leaves a direction of next to no variance, and there this is large: by
        # the means where what is free of noise moves with the canary, by the covariances where it moves in one world
        # alone
        found += sign * np.sum(centred * np.linalg.solve(covariance, centred.T).T, axis=1)
    return found


def counts(sums: np.ndarray, effects: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many steps, and how many pairs of steps, show the canary without noise: [R] each.

    `sums` [R, T, D] less what is known, the effects of the canary [R, T, D], and noise s_t [T]; D is at least
    `LEAST_DIMENSION`. Of a pair of steps with noise s and s' the draws are compared, which the steps scale.
    """
    # (e): noise has many coordinates, and the canary moves one direction; where all others agree with no noise at all,
    # or with those of another step, the noise along the canary is known too, and what is left there is the canary
    lengths = np.linalg.norm(effects, axis=2)
    unit = effects / np.maximum(lengths, 1e-300)[..., None]
    along = np.sum(sums * unit, axis=2)
    across = (sums - along[..., None] * unit) / noise[:, None]
    bare = (np.linalg.norm(across, axis=2) < CLOSE) & (along > lengths / 2)
    shown = lengths / noise  # in units of the draws
    # two steps of a sound run agree with a probability of about CLOSE^(D - 1): the count is 0 in both worlds
    pairs = np.zeros(len(sums), dtype=np.int64)
    for t in range(1, sums.shape[1]):
        same = np.linalg.norm(across[:, :t] - across[:, t : t + 1], axis=2) < 2 * CLOSE
        apart = np.abs(along[:, :t] / noise[:t] - along[:, t : t + 1] / noise[t])
        pairs += np.sum(same & (apart > np.minimum(shown[:, :t], shown[:, t : t + 1]) / 2), axis=1)
    return bare.sum(axis=1), pairs
