"""Following a run on a finite sum: F, its gradient and the error of the direction, at checkpoints and along the way.

Full gradients cost N records each, so they are taken at checkpoints and at 40 to 200 steps spread evenly over the run
(all steps of a short one), eight an epoch between; means over the run are means over those. The numbers are
diagnostics and not private.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dpexp.engine.finite_sum.looking import objectives, slopes
from dpexp.engine.finite_sum.loop import Data, Momentum, Together
from dpexp.engine.lanes.vectors import LANES

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


class Company(Protocol):
    """So many runs that are advanced side by side: run k is column k of w and estimate [d, 8]."""

    count: int
    w: np.ndarray
    estimate: np.ndarray

    def advance(self, first: int, last: int) -> None:
        """Take the steps first..last of every run."""


class InTurn:
    """Runs of any kind, up to eight, advanced one after the other."""

    def __init__(self, runs: Sequence[Stepper]) -> None:
        self.runs, self.count = list(runs), len(runs)
        self.w, self.estimate = np.zeros((2, len(runs[0].w), LANES))
        self._show()

    def advance(self, first: int, last: int) -> None:
        """Take the steps first..last of every run."""
        for run in self.runs:
            run.advance(first, last)
        self._show()

    def _show(self) -> None:
        for k, run in enumerate(self.runs):
            self.w[:, k], self.estimate[:, k] = run.w, run.estimate


def company_of(runs: Sequence[Stepper]) -> Company:
    """At most eight runs on the same data: side by side in lanes where they can be."""
    momenta = [run for run in runs if isinstance(run, Momentum)]
    return Together(momenta) if len(momenta) == len(runs) else InTurn(runs)


@np.errstate(all="ignore")  # a run may diverge
def follow_all(
    runs: Sequence[Stepper],
    data: Data,
    checkpoints: np.ndarray,
    eta: np.ndarray,
    smoothness: float,
    slacks: bool = True,
) -> np.ndarray:
    """Metrics [R, K, 6] of at most eight runs at the checkpoints, in the order of METRICS; eta [R].

    At checkpoint k, w is w_{k+1}: |w|^2, F(w) and |grad F(w)|. Over the steps t looked at so far: the mean of
    |grad F(w_t)|, the mean of |m_hat_t - grad F(w_t)|, and the least slack of Lemma 5 in a step, with sharp constants,

        (F(w_t) - F(w_{t+1})) / eta + L eta / 2 + 2 |m_hat_t - grad F(w_t)| - |grad F(w_t)|,

    which is not negative on any path of normalised steps of length eta; it means nothing for others. Its mean over t is
    the slack of the lemma itself. It alone needs F one step after every look: without `slacks` it is NaN.
    """
    company = company_of(runs)
    count, d = company.count, len(company.w)
    seen = looks(int(checkpoints[-1]), len(data.x))
    wanted, out = {int(k): row for row, k in enumerate(checkpoints)}, np.empty((count, len(checkpoints), len(METRICS)))
    looked_at, gradient, slack = {1, *map(int, seen)}, np.empty((count, d)), np.full(count, math.inf)
    norms: list[np.ndarray] = []
    errors: list[np.ndarray] = []
    first = np.zeros(count), np.zeros(count)
    nothing = np.full(count, math.nan)
    done, before, known = 0, nothing, False

    # a gradient at w_t is that of the checkpoint before it, if there was one: nothing is computed twice
    for t in sorted(looked_at | set(wanted)):
        if t - 1 > done:
            company.advance(done + 1, t - 1)
            known = False
        if t in looked_at and not known:
            before = slopes(data, company.w, gradient)
        here = gradient.copy()
        company.advance(t, t)
        # where the gradient is not asked for, F alone is
        known = t in wanted or t + 1 in looked_at
        after = nothing
        if known:
            after = slopes(data, company.w, gradient)
        elif slacks:
            after = objectives(data, company.w, count)
        if t in looked_at:
            norm, error = _lengths(here), _lengths(company.estimate[:, :count].T - here)
            # Lemma 5 of this step
            if slacks:
                one = (before - after) / eta + smoothness * eta / 2 + 2 * error - norm
                slack = np.where(one < slack, one, slack)
            if t == 1:
                first = norm, error
            if t == seen[min(len(norms), len(seen) - 1)]:
                norms.append(norm)
                errors.append(error)
        if t in wanted:
            means = (_means(norms), _means(errors)) if norms else first
            sizes = _squared_lengths(company.w[:, :count].T)
            columns = sizes, after, _lengths(gradient), *means, slack if slacks else nothing
            out[:, wanted[t]] = np.stack(columns, axis=1)
        done, before = t, after
    return out


# Sums are along rows that lie in memory as rows: numpy then adds up each in the same order, however many there are. No
# product is asked of BLAS, whose bits depend on the machine.


def _squared_lengths(vectors: np.ndarray) -> np.ndarray:
    """Squared Euclidean lengths of the rows."""
    found: np.ndarray = np.ascontiguousarray(vectors * vectors).sum(axis=1)
    return found


def _lengths(vectors: np.ndarray) -> np.ndarray:
    """Euclidean lengths of the rows."""
    found: np.ndarray = np.sqrt(_squared_lengths(vectors))
    return found


def _means(found: list[np.ndarray]) -> np.ndarray:
    """Mean of several vectors, entry by entry."""
    rows = np.ascontiguousarray(np.array(found).T)
    return np.asarray(rows.mean(axis=1))
