"""Steps of eight runs of private momentum side by side: lane k is run k, with its own order, noise, weight and step.

A step alone is a chain of dependent operations, in which the processor mostly waits. Eight runs wait together. No lane
looks at another, so a run has the same bits in any company.

(a) Lanes are the last axis of what a kernel reads, and each run has records in its own order: they are laid out anew.
(b) The gradient of one record is `dpexp.engine.finite_sum.looking`'s: pull (w - x) + push x + grad r(w).
(c) Where the lanes' functions are not accurate and say NaN, a lane takes the gradient of its record by itself.
(d) m = (1 - alpha) m + alpha grad f,  m_hat = m + noise,  w = w - eta m_hat / |m_hat|  or  w - eta m_hat.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dpexp.core.caches import kept_once
from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.losses import Compiled, RecordLoss
from dpexp.engine.lanes.elementwise import sqrt, where
from dpexp.engine.lanes.vectors import LANES, load, reals, store

NUMBERS = 160
"""of each lane that are laid out for lanes at once: records and noise of a few steps then stay in the nearest cache"""


@njit(nogil=True, forceinline=True)
def lay_out(steps, start, count, out):
    """out [count, d, 8] becomes the rows start.. of steps [8, B, d], lanes last."""
    for lane in range(LANES):
        for k in range(count):
            for j in range(steps.shape[2]):
                out[k, j, lane] = steps[lane, start + k, j]


@njit(nogil=True, forceinline=True)
def squared_length(v):
    """|v|^2 of every lane of v [d, 8]."""
    # two sums side by side, because an addition waits for the one before
    even, odd = reals(0.0), reals(0.0)
    for j in range(0, len(v) // 2 * 2, 2):
        a, b = load(v, (j,)), load(v, (j + 1,))
        even, odd = even + a * a, odd + b * b
    if len(v) % 2:
        a = load(v, (len(v) - 1,))
        even = even + a * a
    return even + odd


@njit(nogil=True, forceinline=True)
def distance_and_dot(w, x, k):
    """|w - x|^2 and w.x of every lane of w [d, 8] and x[k] [d, 8]."""
    far0, far1, along0, along1 = reals(0.0), reals(0.0), reals(0.0), reals(0.0)
    d = len(w)
    for j in range(0, d // 2 * 2, 2):
        x0, x1, w0, w1 = load(x, (k, j)), load(x, (k, j + 1)), load(w, (j,)), load(w, (j + 1,))
        away0, away1 = w0 - x0, w1 - x1
        far0, far1 = far0 + away0 * away0, far1 + away1 * away1
        along0, along1 = along0 + w0 * x0, along1 + w1 * x1
    if d % 2:
        x0, w0 = load(x, (k, d - 1)), load(w, (d - 1,))
        away0 = w0 - x0
        far0, along0 = far0 + away0 * away0, along0 + w0 * x0
    return far0 + far1, along0 + along1


@kept_once(64)
def lane_steps_of(loss: RecordLoss) -> Compiled:
    """Some steps of eight runs, compiled for one loss."""
    (parts, rest), gradient = loss.lanes, loss.gradient

    @compiled(cached=True)
    def lane_steps(
        x: np.ndarray,
        y: np.ndarray,
        c: np.ndarray,
        items: np.ndarray,
        noise: np.ndarray,
        begin: int,
        end: int,
        rule: np.ndarray,
        w: np.ndarray,
        m: np.ndarray,
        estimate: np.ndarray,
    ) -> None:
        """The steps begin..end - 1 of items [8, B] and noise [8, B, d]; w, m and estimate [d, 8] move on.

        rule [3, 8]: alpha, eta, and 1 where steps are normalised.
        """
        d = len(w)
        # records and noise of so many steps stay in the nearest cache
        part = max(2, NUMBERS // d)
        records, responses, added = np.empty((part, d, LANES)), np.empty((part, LANES)), np.empty((part, d, LANES))
        g, checked = np.empty((d, LANES)), np.empty((1, LANES))
        own_w, own_g = np.empty(d), np.empty(d)
        alpha, eta, normalised = load(rule, (0,)), load(rule, (1,)), load(rule, (2,))
        keep = 1.0 - alpha
        for start in range(begin, end, part):
            count = min(part, end - start)
            # (a)
            lay_out(noise, start, count, added)
            for lane in range(LANES):
                for k in range(count):
                    i = items[lane, start + k]
                    responses[k, lane] = y[i]
                    for j in range(d):
                        records[k, j, lane] = x[i, j]
            for k in range(count):
                # (b)
                far, along = distance_and_dot(w, records, k)
                _, pull, push = parts(far, along, load(responses, (k,)), c)
                for j in range(d):
                    w0, x0 = load(w, (j,)), load(records, (k, j))
                    store(g, (j,), pull * (w0 - x0) + push * x0 + rest(w0, c)[1])
                # (c): 0 times a number is 0, and NaN where it is NaN or infinite; one sum says whether any lane is
                store(checked, (0,), 0.0 * (pull + push))
                total = 0.0
                for lane in range(LANES):
                    total += checked[0, lane]
                if total != 0.0:
                    for lane in range(LANES):
                        if checked[0, lane] != 0.0:
                            i = items[lane, start + k]
                            for j in range(d):
                                own_w[j] = w[j, lane]
                            gradient(own_w, x[i], y[i], c, own_g)
                            for j in range(d):
                                g[j, lane] = own_g[j]

                # (d)
                for j in range(d):
                    mean = keep * load(m, (j,)) + alpha * load(g, (j,))
                    store(m, (j,), mean)
                    store(estimate, (j,), mean + load(added, (k, j)))
                square = squared_length(estimate)
                unit = where(square > 0.0, eta / sqrt(square), 0.0)
                scale = where(normalised > 0.0, unit, eta)
                for j in range(d):
                    store(w, (j,), load(w, (j,)) - scale * load(estimate, (j,)))

    return lane_steps
