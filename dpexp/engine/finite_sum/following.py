"""Following a run on a finite sum: F, its gradient and the error of the direction, at checkpoints and along the way.

Full gradients cost N records each, so they are taken at checkpoints and at 40 to 200 steps spread evenly over the run
(all steps of a short one), eight an epoch between; means over the run are means over those. The numbers are
diagnostics and not private.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from dpexp.engine.finite_sum.looking import objective, slope
from dpexp.engine.finite_sum.loop import Data

SLACK = "lemma5_slack"
METRICS = ("param_norm_sq", "objective", "grad_norm", "mean_grad_norm", "direction_error", SLACK)
FEWEST, MOST, AN_EPOCH = 40, 200, 8


class Stepper(Protocol):
    """A run that can be advanced: `w` is the current iterate, `estimate` the direction of the last step."""

    w: np.ndarray
    estimate: np.ndarray

    def advance(self, first: int, last: int) -> None:
        """Take the steps first..last."""


def looks(steps: int, n: int) -> np.ndarray:
    """The steps that means over a run on n records are taken over: all of a short run, else the middle of each part."""
    if steps <= MOST:
        return np.arange(1, steps + 1)
    parts = min(MOST, max(FEWEST, AN_EPOCH * steps // n))
    return np.floor((np.arange(parts) + 0.5) * steps / parts).astype(np.int64) + 1


def follow(
    run: Stepper, data: Data, checkpoints: np.ndarray, eta: float, smoothness: float, slacks: bool = True
) -> np.ndarray:
    """Metrics [K, 6] at the checkpoints, in the order of METRICS.

    At checkpoint k, w is w_{k+1}: |w|^2, F(w) and |grad F(w)|. Over the steps t looked at so far: the mean of
    |grad F(w_t)|, the mean of |m_hat_t - grad F(w_t)|, and the least slack of Lemma 5 in a step, with sharp constants,

        (F(w_t) - F(w_{t+1})) / eta + L eta / 2 + 2 |m_hat_t - grad F(w_t)| - |grad F(w_t)|,

    which is not negative on any path of normalised steps of length eta; it means nothing for others. Its mean over t is
    the slack of the lemma itself. It alone needs F one step after every look: without `slacks` it is NaN.
    """
    seen = looks(int(checkpoints[-1]), len(data.x))
    wanted, out = {int(k): row for row, k in enumerate(checkpoints)}, np.empty((len(checkpoints), len(METRICS)))
    looked_at, gradient, slack = {1, *map(int, seen)}, np.empty(len(run.w)), math.inf
    norms: list[float] = []
    errors: list[float] = []
    first = 0.0, 0.0
    done, before, known = 0, 0.0, False

    for t in sorted(looked_at | set(wanted)):
        if t - 1 > done:
            run.advance(done + 1, t - 1)
            known = False
        if t in looked_at and not known:
            before = _at(run, data, gradient)
        here = gradient.copy()
        run.advance(t, t)
        known = t in wanted or t + 1 in looked_at  # else F alone is asked for
        after = _at(run, data, gradient) if known else _objective(run, data) if slacks else math.nan
        if t in looked_at:
            norm, error = float(np.linalg.norm(here)), float(np.linalg.norm(run.estimate - here))
            if slacks:
                slack = min(slack, (before - after) / eta + smoothness * eta / 2 + 2 * error - norm)
            if t == 1:
                first = norm, error
            if t == seen[min(len(norms), len(seen) - 1)]:
                norms.append(norm)
                errors.append(error)
        if t in wanted:
            mean = (float(np.mean(norms)), float(np.mean(errors))) if norms else first
            out[wanted[t]] = (run.w @ run.w, after, np.linalg.norm(gradient), *mean, slack if slacks else math.nan)
        done, before = t, after
    return out


def _at(run: Stepper, data: Data, gradient: np.ndarray) -> float:
    """F at the current iterate; `gradient` becomes that of F."""
    with np.errstate(all="ignore"):
        return slope(data, run.w, gradient)


def _objective(run: Stepper, data: Data) -> float:
    """F at the current iterate."""
    with np.errstate(all="ignore"):
        return objective(data, run.w)
