"""Following a run on a finite sum: F, its gradient and the error of the direction, at checkpoints and along the way.

Full gradients cost N records each, so they are taken at checkpoints and at 40 to 200 steps spread evenly over the run
(all steps of a short one), eight an epoch between. The numbers are diagnostics and not private.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dpexp.engine.finite_sum.looking import Data, objectives, slopes
from dpexp.engine.finite_sum.momentum_loop import Momentum, Together

SLACK = "lemma5_slack"
METRICS = ("param_norm_sq", "objective", "grad_norm", "mean_grad_norm", "direction_error", SLACK)
LONG = 200
"""steps of a run that is not looked at after each"""


class Stepper(Protocol):
    """A run that can be advanced: `w` is the current iterate, `estimate` the direction of the last step."""

    w: np.ndarray
    estimate: np.ndarray

    def advance(self, first: int, last: int) -> None:
        """Take the steps first..last."""


def looks(steps: int, n: int) -> np.ndarray:
    """The steps that means over a run on n records are taken over: all of a short run, else the middle of each part."""
    if steps <= LONG:
        return np.arange(1, steps + 1)
    parts = min(LONG, max(40, 8 * steps // n))
    return np.floor((np.arange(parts) + 0.5) * steps / parts).astype(np.int64) + 1


class InTurn:
    """Runs of any kind, advanced one after the other: run k is column k of w and estimate [d, R]."""

    def __init__(self, runs: Sequence[Stepper]) -> None:
        self.runs = list(runs)

    @property
    def w(self) -> np.ndarray:
        return np.stack([run.w for run in self.runs], axis=1)

    @property
    def estimate(self) -> np.ndarray:
        return np.stack([run.estimate for run in self.runs], axis=1)

    def advance(self, first: int, last: int) -> None:
        """Take the steps first..last of every run."""
        for run in self.runs:
            run.advance(first, last)


def company_of(runs: Sequence[Momentum | Stepper]) -> Together | InTurn:
    """At most eight runs on the same data, all of one kind: side by side in lanes where they can be."""
    momenta = [run for run in runs if isinstance(run, Momentum)]
    return Together(momenta) if momenta else InTurn([run for run in runs if not isinstance(run, Momentum)])


@np.errstate(all="ignore")  # a run may diverge
def follow_all(
    runs: Sequence[Momentum | Stepper],
    data: Data,
    checkpoints: np.ndarray,
    eta: np.ndarray,
    smoothness: float,
    slacks: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Metrics [R, K, 6] of at most eight runs at the checkpoints, by METRICS, and their last w [R, d]; eta [R].

    At checkpoint k, w is w_{k+1}: |w|^2, F(w) and |grad F(w)|. Over the steps t looked at so far: the mean of
    |grad F(w_t)|, the mean of |m_hat_t - grad F(w_t)|, and the least slack of Lemma 5 in a step, with sharp constants,

        (F(w_t) - F(w_{t+1})) / eta + L eta / 2 + 2 |m_hat_t - grad F(w_t)| - |grad F(w_t)|,

    which is not negative on any path of normalised steps of length eta; it means nothing for others. Its mean over t is
    the slack of the lemma itself. It alone needs F one step after every look: without `slacks` it is NaN.
    """
    company, count = company_of(runs), len(runs)
    row_of = {int(k): row for row, k in enumerate(checkpoints)}
    averaged = {int(t) for t in looks(int(checkpoints[-1]), len(data.x))}
    steps_looked_at = averaged | {1}
    out = np.empty((count, len(checkpoints), len(METRICS)))
    gradient, slack = np.empty((count, len(company.w))), np.full(count, math.inf)
    unknown = np.full(count, math.nan)
    first, means_so_far = np.zeros((2, count)), list[np.ndarray]()
    done, before, known = 0, unknown, False

    # a gradient at w_t is that of the checkpoint before it, if there was one: nothing is computed twice
    for t in sorted(steps_looked_at | row_of.keys()):
        if t - 1 > done:
            company.advance(done + 1, t - 1)
            known = False
        if t in steps_looked_at and not known:
            before = slopes(data, company.w, gradient)
        here = gradient.copy()
        company.advance(t, t)
        # where the gradient is not asked for, F alone is
        known, after = t in row_of or t + 1 in steps_looked_at, unknown
        if known:
            after = slopes(data, company.w, gradient)
        elif slacks:
            after = objectives(data, company.w, count)
        if t in steps_looked_at:
            look = np.stack([_lengths(here), _lengths(company.estimate[:, :count].T - here)])
            # Lemma 5 of this step
            if slacks:
                norm, error = look
                own_slack = (before - after) / eta + smoothness * eta / 2 + 2 * error - norm
                slack = np.where(own_slack < slack, own_slack, slack)
            # the first step stands for the means until there is another
            if t == 1:
                first = look
            if t in averaged:
                means_so_far.append(look)
        if t in row_of:
            # along rows that lie in memory as rows, as below
            means = np.ascontiguousarray(np.moveaxis(np.array(means_so_far or [first]), 0, -1)).mean(axis=-1)
            sizes = _squared_lengths(company.w[:, :count].T)
            columns = sizes, after, _lengths(gradient), *means, slack if slacks else unknown
            out[:, row_of[t]] = np.stack(columns, axis=1)
        done, before = t, after
    return out, company.w[:, :count].T


# Sums are along rows that lie in memory as rows: numpy then adds up each in the same order, however many there are. No
# product is asked of BLAS, whose bits depend on the machine.


def _squared_lengths(vectors: np.ndarray) -> np.ndarray:
    """Squared Euclidean lengths of the rows."""
    squares: np.ndarray = np.ascontiguousarray(vectors * vectors).sum(axis=1)
    return squares


def _lengths(vectors: np.ndarray) -> np.ndarray:
    """Euclidean lengths of the rows."""
    roots: np.ndarray = np.sqrt(_squared_lengths(vectors))
    return roots
