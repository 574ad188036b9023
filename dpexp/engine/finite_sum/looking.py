"""A finite sum as the kernels take it, and F and its gradient over all records, eight records side by side.

(a) N grad F = w sum(pull) + sum (push - pull) x + N grad r (`dpexp.engine.finite_sum.losses`): one multiplication and
one addition for a coordinate.
(b) Lane k adds up the records k, k + 8, ...; the eight sums meet in one fixed tree, so that the bits are the same on
every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from dpexp.core.caches import kept_once
from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.losses import Compiled, RecordLoss
from dpexp.engine.lanes.vectors import LANES, load, reals, store


@dataclass(frozen=True, eq=False)
class Data:
    """A finite sum: its loss, records [N, d], responses [N] and the constants of the loss."""

    loss: RecordLoss
    x: np.ndarray
    y: np.ndarray
    constants: np.ndarray

    @cached_property
    def tiles(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Records in groups of eight: x [B, d, 8], y [B, 8], and 1 where there is one, 0 where the last group ends."""
        n, d = self.x.shape
        groups = -(-n // LANES)
        padded, responses, present = np.zeros((groups * LANES, d)), np.zeros(groups * LANES), np.zeros(groups * LANES)
        padded[:n], responses[:n], present[:n] = self.x, self.y, 1.0
        records = np.ascontiguousarray(padded.reshape(groups, LANES, d).transpose(0, 2, 1))
        return records, responses.reshape(groups, LANES), present.reshape(groups, LANES)


def slope(data: Data, w: np.ndarray, out: np.ndarray) -> float:
    """F(w); out [d] becomes grad F(w)."""
    return float(slopes(data, w[:, None], out[None])[0])


def slopes(data: Data, w: np.ndarray, out: np.ndarray, with_gradient: bool = True) -> np.ndarray:
    """F [R] at the first R columns of w [d, columns]; out [R, d] becomes the gradients. No column changes another's.

    NaN where w is not finite, or where the lanes' functions are not accurate.
    """
    values = np.empty(len(out))
    means_of(data.loss)(w, *data.tiles, len(data.x), data.constants, with_gradient, out, values)
    return values


def objectives(data: Data, w: np.ndarray, count: int) -> np.ndarray:
    """F at the first `count` columns of w [d, columns], the same bits as those of `slopes`."""
    return slopes(data, w, np.empty((count, len(w))), False)


@njit(nogil=True, forceinline=True)
def distance_and_dot(w, x, k):
    """|w - x|^2 and w.x of every lane of w [d, 8] and x[k] [d, 8]."""
    # two sums of each side by side, because an addition waits for the one before
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
def means_of(loss: RecordLoss) -> Compiled:
    """F, and its gradient where it is wanted, for each of the first columns of w [d, columns]: into values [R] and out
    [R, d]."""
    parts, rest = loss.parts, loss.rest

    @compiled(cached=True)
    def means(
        columns: np.ndarray,
        x: np.ndarray,
        y: np.ndarray,
        present: np.ndarray,
        n: int,
        c: np.ndarray,
        with_gradient: bool,
        out: np.ndarray,
        values: np.ndarray,
    ) -> None:
        d = len(columns)
        w, added = np.empty((d, LANES)), np.empty((d + 2, LANES))
        for column in range(len(values)):
            for j in range(d):
                store(w, (j,), columns[j, column])
            added[:] = 0.0  # sums of (push - pull) x, of pull, and of the loss
            losses, pulls = reals(0.0), reals(0.0)
            for b in range(len(x)):
                far, along = distance_and_dot(w, x, b)
                value, pull, push = parts(far, along, load(y, (b,)), c)
                # (a), where a lane without a record counts 0 times
                here = load(present, (b,))
                losses = losses + here * value
                if with_gradient:
                    pulls = pulls + here * pull
                    weight = here * (push - pull)
                    for j in range(d):
                        store(added, (j,), load(added, (j,)) + weight * load(x, (b, j)))
            store(added, (d,), pulls)
            store(added, (d + 1,), losses)
            # (b)
            for k in range(d + 2):
                a = added[k]
                a[0] = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
            # 0 times a number is 0, or NaN where it is not finite
            finite, other = 0.0, 0.0
            for j in range(d):
                own_w = columns[j, column]
                finite += 0.0 * own_w
                own, steep = rest(own_w, c)
                other += own
                out[column, j] = (own_w * added[d, 0] + added[j, 0]) / n + steep
            values[column] = added[d + 1, 0] / n + other + finite

    return means
