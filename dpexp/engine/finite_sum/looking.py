"""F and its gradient over all records, eight records side by side: what a run is looked at by.

(a) Value, pull and push of a record are those of `dpexp.engine.finite_sum.losses`.

(b) So N grad F = w sum(pull) + sum (push - pull) x + N grad r: one multiplication and one addition for a coordinate.

(c) Lane k adds up the records k, k + 8, ...; the eight sums meet in one fixed tree. So the bits are the same on every
machine, and differ in the last places from means record by record (`dpexp.engine.finite_sum.losses.mean_of`).

(d) Sums record by record remain where the lanes give no finite number: their functions return NaN where they are not
accurate, and F is made NaN where w is not finite.
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.losses import Compiled, LaneForm, mean_of
from dpexp.engine.finite_sum.momentum_loop import Data
from dpexp.engine.lanes.vectors import LANES, load, reals, store


def slope(data: Data, w: np.ndarray, out: np.ndarray) -> float:
    """F(w); out [d] becomes grad F(w)."""
    return float(slopes(data, w[:, None], out[None])[0])


def slopes(data: Data, w: np.ndarray, out: np.ndarray) -> np.ndarray:
    """F [R] at the first R columns of w [d, columns]; out [R, d] becomes the gradients. No column changes another's."""
    return _record_means(data, w, True, out)


def objectives(data: Data, w: np.ndarray, count: int) -> np.ndarray:
    """F at the first `count` columns of w [d, columns], the same bits as those of `slopes`."""
    return _record_means(data, w, False, np.empty((count, len(w))))


def _record_means(data: Data, w: np.ndarray, with_gradient: bool, out: np.ndarray) -> np.ndarray:
    values = np.full(len(out), math.nan)
    means_of(data.loss.lanes)(w, *data.tiles, len(data.x), data.constants, with_gradient, out, values)
    # (d)
    for k in np.flatnonzero(~np.isfinite(values)):
        values[k] = mean_of(data.loss)(w[:, k].copy(), *data.numbers, out[k])
    return values


@kept_once(64)
def means_of(form: LaneForm) -> Compiled:
    """F, and its gradient where it is wanted, for each of the first columns of w [d, columns]: into values [R] and out
    [R, d]. NaN where w is not finite, or where the lanes' functions are not accurate."""
    parts, rest = form

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
        even = d // 2 * 2
        w, added = np.empty(d), np.empty((d + 2, LANES))
        for column in range(len(values)):
            w[:] = columns[:, column]
            added[:] = 0.0  # sums of (push - pull) x, of pull, and of the loss
            losses, pulls = reals(0.0), reals(0.0)
            for b in range(len(x)):
                # (a), each of the two in two sums side by side, because an addition waits for the one before
                far0, far1, along0, along1 = reals(0.0), reals(0.0), reals(0.0), reals(0.0)
                for j in range(0, even, 2):
                    x0, x1 = load(x, (b, j)), load(x, (b, j + 1))
                    away0, away1 = w[j] - x0, w[j + 1] - x1
                    far0, far1 = far0 + away0 * away0, far1 + away1 * away1
                    along0, along1 = along0 + w[j] * x0, along1 + w[j + 1] * x1
                if even < d:
                    x0 = load(x, (b, even))
                    away0 = w[even] - x0
                    far0, along0 = far0 + away0 * away0, along0 + w[even] * x0
                value, pull, push = parts(far0 + far1, along0 + along1, load(y, (b,)), c)
                # (b), where a lane without a record counts 0 times
                here = load(present, (b,))
                losses = losses + here * value
                if with_gradient:
                    pulls = pulls + here * pull
                    weight = here * (push - pull)
                    for j in range(d):
                        store(added, (j,), load(added, (j,)) + weight * load(x, (b, j)))
            store(added, (d,), pulls)
            store(added, (d + 1,), losses)
            # (c)
            for k in range(d + 2):
                a = added[k]
                a[0] = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
            # (d): 0 times a number is 0, or NaN where it is not finite
            finite, other = 0.0, 0.0
            for j in range(d):
                finite += 0.0 * w[j]
                own, steep = rest(w[j], c)
                other += own
                out[column, j] = (w[j] * added[d, 0] + added[j, 0]) / n + steep
            values[column] = added[d + 1, 0] / n + other + finite

    return means
