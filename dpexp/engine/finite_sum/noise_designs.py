"""Noise of a private momentum, as a data-independent sequence added to it: three designs on given standard normals.

The sequence is a linear map of standard normals, noise_t = sum_j C_{t j} z_j, one map for every coordinate:

- `tree_noise`: Algorithm 1 of `momentum`, sum over COMPOSE(1, t) of (1 - alpha)^(t-z) times the noise of node (y, z);
- `square_root_noise`: C the square root of the momentum's own matrix (1 - alpha)^(i-j), i >= j;
- `independent_noise`: fresh noise on every gradient, C_{t j} = (1 - alpha)^(t-j).

Of the first, z may have any standard deviation `std`. Steps count from 1. `tree_variance` is its exact variance over
time, for std = 1.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dpexp.core.caches import kept_once
from dpexp.core.discounts import discounts
from dpexp.engine.compiled import compiled


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

    Call it for consecutive blocks, with the same `slots` [levels, d]; the split into blocks changes no bit.
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
    """Fills out [B, d] with (1 - alpha) times the noise before plus normals [B, d].

    `last` [d] is the noise before the first step of the block (zeros at the start of a run) and is updated.
    """
    steps, d = out.shape
    for i in range(steps):
        for j in range(d):
            last[j] = (1.0 - alpha) * last[j] + normals[i, j]
            out[i, j] = last[j]


def square_root_coefficients(alpha: float, steps: int) -> np.ndarray:
    """First column [T] of the Toeplitz square root: c_k = (1 - alpha)^k binom(2 k, k) / 4^k >= 0, decreasing.

    Toeplitz matrices multiply as power series in x do. The momentum's is 1 / (1 - (1 - alpha) x), and the c_k are the
    coefficients of its square root.
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
    """sum over (y, z) in COMPOSE(1, t) of (1 - alpha)^(2 (t-z)), t = 1..T; [T]. O(T log T) time.

    Relative errors are those of `discounts`, below 3e-13, and a few roundings of a sum of positive terms.
    """
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
