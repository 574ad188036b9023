"""Noise of a private momentum, as a data-independent sequence added to it: three designs, and their random numbers.

The sequence is a linear map of standard normals, noise_t = sum_j C_{t j} z_j, one map for every coordinate:

- `tree_noise`: Algorithm 1 of `momentum`, sum over COMPOSE(1, t) of (1 - alpha)^(t-z) times the noise of node (y, z);
- `square_root_noise`: C the square root of the momentum's own matrix (1 - alpha)^(i-j), i >= j;
- `independent_noise`: fresh noise on every gradient, C_{t j} = (1 - alpha)^(t-j).

Steps count from 1. A run takes its noise in blocks, whose sizes change no bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from dpexp.core.caches import kept_once, kept_per_thread
from dpexp.core.seeds import stream_state
from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.discounts import discounts
from dpexp.engine.lanes.streams import draw_normal
from dpexp.engine.lanes.vectors import LANES

TURN = 2 * LANES
"""numbers of one turn: a pair from each stream"""
Take = Callable[[int], np.ndarray]
"""the noise of the next so many steps of a sequence, [count, d]"""


class Normals:
    """Standard normals for one role of one replicate; `source` numbers independent ones of that role.

    They are those of eight streams of `dpexp.engine.lanes.streams` in turn, the same bits on every machine.
    """

    def __init__(self, seed: int, replicate: int, role: str, source: int = 0) -> None:
        # the parts of a key before these are those of numpy's generators
        parts = range(LANES * (source + 1), LANES * (source + 2))
        states = [stream_state(seed, replicate, role, part) for part in parts]
        self._state = np.ascontiguousarray(np.stack(states, axis=1))
        self._spare = np.empty(0)

    def standard_normal(self, shape: tuple[int, int]) -> np.ndarray:
        """The next numbers, in the order of the array."""
        count, spare = shape[0] * shape[1], len(self._spare)
        # whole turns are made, since streams give normals in pairs; unused ones are kept for the next request
        turns = -(-max(0, count - spare) // TURN)
        numbers = np.empty(spare + turns * TURN)
        numbers[:spare] = self._spare
        if turns:
            draw_normal(self._state, numbers[spare:].reshape(-1, LANES), 2 * turns)  # type: ignore[no-untyped-call]
        self._spare = numbers[count:].copy()
        return numbers[:count].reshape(shape)


class Noise(NamedTuple):
    """Noise of a run, added to its momentum: a factor times a sequence, which settings of other budgets share."""

    factor: float
    """standard deviation of a node, a gradient or an entry in units of the momentum; for `window_sequence` the factor
    of its `stds`; 0: no noise and no draws"""
    kind: Callable[..., Take]
    arguments: tuple[object, ...]

    def begun(self) -> Take:
        """The sequence at its beginning."""
        return self.kind(*self.arguments)


def tree_sequence(seed: int, replicate: int, d: int, steps: int, alpha: float) -> Take:
    """Algorithm 1."""
    normals, slots, done = Normals(seed, replicate, "noise"), tree_slots(steps, d), 0

    def take(count: int) -> np.ndarray:
        nonlocal done
        out = np.empty((count, d))
        tree_noise(normals.standard_normal(out.shape), done + 1, alpha, 1.0, slots, out)
        done += count
        return out

    return take


def independent_sequence(seed: int, replicate: int, d: int, steps: int, alpha: float) -> Take:
    """Fresh noise on every gradient."""
    normals, last = Normals(seed, replicate, "noise"), np.zeros(d)

    def take(count: int) -> np.ndarray:
        out = np.empty((count, d))
        independent_noise(normals.standard_normal(out.shape), alpha, last, out)
        return out

    return take


def square_root_sequence(seed: int, replicate: int, d: int, steps: int, alpha: float) -> Take:
    """The square root of the momentum's own matrix; the whole run is made at once."""
    parts, done = _square_root_of_run(seed, replicate, d, steps, alpha), 0

    def take(count: int) -> np.ndarray:
        nonlocal done
        done += count
        return parts[done - count : done]

    return take


@kept_per_thread(1)
def _square_root_of_run(seed: int, replicate: int, d: int, steps: int, alpha: float) -> np.ndarray:
    """[T, d]; the settings of one replicate share it."""
    return square_root_noise(Normals(seed, replicate, "noise").standard_normal((steps, d)), alpha)


DESIGNS: dict[str, Callable[..., Take]] = {
    "tree": tree_sequence,
    "square-root": square_root_sequence,
    "independent": independent_sequence,
}
"""of Algorithm 1, by the name that a config gives"""


def tree_slots(steps: int, d: int) -> np.ndarray:
    """The memory of `tree_noise` before its first step: zeros [floor(log2 T) + 1, d]."""
    return np.zeros((max(1, steps.bit_length()), d))


@compiled(cached=True)
def tree_noise(normals: np.ndarray, first: int, alpha: float, std: float, slots: np.ndarray, out: np.ndarray) -> None:
    """Fills out [B, d] with the noise of steps first..first + B - 1 from normals [B, d], one node a step.

    (a) Exactly one left node ends at each t, and the rest of COMPOSE(1, t) is COMPOSE(1, p), p being t without its
    lowest binary digit: noise_t = std z_t + (1 - alpha)^(t-p) noise_p.
    (b) noise_p is kept in the slot of p's lowest digit. It is still there: t < p + 2^slot, and the next number with the
    lowest digit of p is p + 2 2^slot.

    Call it for consecutive blocks, with the same `slots` [levels, d].
    """
    rate = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    steps, d = out.shape
    for i in range(steps):
        t = first + i
        lowest = lowest_digit(t)
        # p of (a); where t is a power of 2 there is none, and one node covers all steps
        rest = t & (t - 1)
        if rest == 0:
            for j in range(d):
                out[i, j] = std * normals[i, j]
        else:
            # (b)
            slot = lowest_digit(rest)
            factor = math.exp(rate * (t - rest))
            for j in range(d):
                out[i, j] = std * normals[i, j] + factor * slots[slot, j]
        for j in range(d):
            slots[lowest, j] = out[i, j]


@compiled(cached=True)
def independent_noise(normals: np.ndarray, alpha: float, last: np.ndarray, out: np.ndarray) -> None:
    """Fills out [B, d] with (1 - alpha) times the noise before, `last` [d], plus normals [B, d]."""
    steps, d = out.shape
    for i in range(steps):
        for j in range(d):
            last[j] = (1.0 - alpha) * last[j] + normals[i, j]
            out[i, j] = last[j]


def square_root_coefficients(alpha: float, steps: int) -> np.ndarray:
    """First column [T] of the Toeplitz square root: c_k = (1 - alpha)^k binom(2 k, k) / 4^k >= 0, decreasing.

    They are the coefficients of the square root of the power series 1 / (1 - (1 - alpha) x), which is the momentum's.
    """
    # c_k / c_{k-1} = (1 - alpha) (2 k - 1) / (2 k)
    k = np.arange(1, steps)
    return np.cumprod(np.concatenate([[1.0], (1 - alpha) * (2 * k - 1) / (2 * k)]))[:steps]


def square_root_noise(normals: np.ndarray, alpha: float) -> np.ndarray:
    """The convolution of normals [T, d] with `square_root_coefficients`, [T, d], for the whole run at once.

    A Fourier transform a coordinate: O(T log T) time, O(T) extra memory, absolute error about 1e-15 sqrt(T).
    """
    from scipy.fft import next_fast_len

    steps, d = normals.shape
    length = next_fast_len(2 * steps - 1, real=True)  # so long that the end of the run does not meet its beginning
    kernel = np.fft.rfft(square_root_coefficients(alpha, steps), length)
    out = np.empty((steps, d))
    # what a transform needs is asked for once: in worker threads, new memory for each coordinate would be cleared anew
    padded, spectrum = np.empty(length), np.empty(length // 2 + 1, complex)
    for j in range(d):
        padded[:steps], padded[steps:] = normals[:, j], 0.0
        np.fft.rfft(padded, out=spectrum)
        _multiply(spectrum, kernel)
        np.fft.irfft(spectrum, length, out=padded)
        out[:, j] = padded[:steps]
    return out


@compiled(cached=True)
def _multiply(a_side: np.ndarray, b_side: np.ndarray) -> None:
    """left becomes left times right, complex [L]. numpy would fuse operations where the processor can."""
    for k in range(len(a_side)):
        a, b, c, d = a_side[k].real, a_side[k].imag, b_side[k].real, b_side[k].imag
        a_side[k] = complex(a * c - b * d, a * d + b * c)


@kept_once(1)
def tree_variance(alpha: float, steps: int) -> np.ndarray:
    """Variance of `tree_noise` with std = 1 at t = 1..T; [T]: the sum over (y, z) in COMPOSE(1, t) of
    (1 - alpha)^(2 (t-z))."""
    # every second discount is the square of one
    return _tree_sums(np.ascontiguousarray(discounts(alpha, 2 * steps)[::2]))


@compiled(cached=True)
def _tree_sums(weights: np.ndarray) -> np.ndarray:
    """sum of weights[t - z] over COMPOSE(1, t), from z = t down, for t = 1..T; [T]."""
    total = np.zeros(len(weights))
    for t in range(1, len(weights) + 1):
        end = t
        while end > 0:
            total[t - 1] += weights[t - end]
            end &= end - 1  # the node that ends here has the length of the lowest digit; the one before ends there
    return total


@njit(nogil=True, forceinline=True)
def lowest_digit(t: int) -> int:
    """Place of the lowest binary digit of t > 0 that is 1."""
    place = 0
    while t & 1 == 0:
        t >>= 1
        place += 1
    return place
