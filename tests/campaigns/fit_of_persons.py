"""How often fits cover the target of persons who hold several rows each, over all runs.

    nice python -m tests.campaigns.fit_of_persons [--persons 1500] [--mu 1 | --local --mu 2 | --eps 4] [--runs 80]
        [--seeds 77 78 79 80 81] [--rising]

A panel: 1 + Poisson(2) rows a person, whose errors of variance 1 are correlated by .49, as are two covariates. With `--rising` slopes grow by .15 with
every row, so that the target of persons and that of rows are two.
"""

from __future__ import annotations

import argparse
import math
from typing import NamedTuple

import numpy as np

from dpexp.inference.fitting import fit_central, fit_local, plan_central, plan_local
from dpexp.inference.intervals import intervals
from dpexp.inference.models import unit_model
from dpexp.inference.pure_messages import pure
from dpexp.privacy.cap import gaussian_mu
from tests.campaigns.fit_coverage import m_estimate

MODEL = unit_model("huber-linear", 2)


class Panel(NamedTuple):
    """Rows in the units of the computation."""

    x: np.ndarray
    y: np.ndarray
    owners: np.ndarray


def panel(rng: np.random.Generator, persons: int, rising: bool = False) -> Panel:
    """All rows of some persons."""
    held = 1 + rng.poisson(2, persons)
    owners = np.repeat(np.arange(persons), held)
    z = 0.7 * rng.standard_normal((persons, 2))[owners] + math.sqrt(0.51) * rng.standard_normal((len(owners), 2))
    slopes = 0.5 + 0.15 * (held - 3.0)[owners, None] * rising
    errors = 0.7 * rng.standard_normal(persons)[owners] + math.sqrt(0.51) * rng.standard_normal(len(owners))
    return Panel(z / math.sqrt(2), (slopes * z).sum(axis=1) + errors, owners)


def one_row_each(rng: np.random.Generator, rows: Panel) -> Panel:
    """A random row of every person: its mean risk is the person's."""
    begins = np.flatnonzero(np.diff(rows.owners, prepend=-1))
    counts = np.diff(np.append(begins, len(rows.y)))
    chosen = begins + (rng.random(len(begins)) * counts).astype(int)
    return Panel(rows.x[chosen], rows.y[chosen], rows.owners[chosen])


def targets(rising: bool = False, persons: int = 700_000) -> tuple[np.ndarray, np.ndarray]:
    """theta* [4] of persons and of rows: known where the model is right, or M-estimates of many persons of another seed.

    The law is that of (-x, -y), so both are taken and the intercept is 0.
    """
    if not rising:
        right = np.array([0, math.sqrt(0.5), math.sqrt(0.5), 1])
        return right, right
    rng = np.random.default_rng(2)
    rows = panel(rng, persons, rising)
    both = [(np.concatenate([a.x, -a.x]), np.concatenate([a.y, -a.y])) for a in (one_row_each(rng, rows), rows)]
    return m_estimate(MODEL, *both[0]), m_estimate(MODEL, *both[1])


class Found(NamedTuple):
    """Some runs."""

    theta: np.ndarray
    """[runs, 4]"""
    low: np.ndarray
    high: np.ndarray

    def coverage(self, target: np.ndarray) -> np.ndarray:
        """[4]"""
        return np.asarray(np.mean((self.low <= target) & (target <= self.high), axis=0))

    @property
    def errors(self) -> np.ndarray:
        """Standard errors [4], the medians."""
        return np.asarray(np.median((self.high - self.low) / (2 * 1.959964), axis=0))


def fits(
    persons: int, mu: float, runs: int, seed: int, rising: bool = False, one_each: bool = False, local: bool = False,
    eps: float | None = None,
) -> Found:  # fmt: skip
    """Fits of panels that are drawn anew in each run: central, or local by Gaussian messages, or by caps with `eps`."""
    budgets = np.full(persons, mu if eps is None else gaussian_mu(eps))
    model = MODEL if eps is None else pure(MODEL, eps)
    local = local or eps is not None
    planned = plan_local(model, budgets, persons) if local else plan_central(model, persons)
    theta, low, high = [], [], []
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        rows = panel(rng, persons, rising)
        rows = one_row_each(rng, rows) if one_each else rows
        if local:
            found = fit_local(planned, rows.x, rows.y, budgets, rng.standard_normal, rows.owners)
        else:
            found = fit_central(planned, rows.x, rows.y, mu, rng.standard_normal, rows.owners)
            assert not found.checked.reasons
        each = intervals(found.release, found.theta, np.eye(MODEL.p), 0.95)[0]
        theta.append(found.theta)
        low.append([one.low for one in each])
        high.append([one.high for one in each])
    return Found(np.array(theta), np.array(low), np.array(high))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, usual in (("persons", int, 1500), ("mu", float, 1.0), ("eps", float, None), ("runs", int, 80)):
        parser.add_argument(f"--{name}", type=kind, default=usual)
    parser.add_argument("--seeds", type=int, nargs="*", default=[77, 78, 79, 80, 81])
    parser.add_argument("--local", action="store_true")
    parser.add_argument("--rising", action="store_true")
    given = parser.parse_args()
    of_persons, of_rows = targets(given.rising)
    print("targets, persons and rows", of_persons.round(4), of_rows.round(4))
    for one_each in (False, True):
        settings = {"rising": given.rising, "one_each": one_each, "local": given.local, "eps": given.eps}
        every = [fits(given.persons, given.mu, given.runs, seed, **settings) for seed in given.seeds]
        whole = Found(*(np.concatenate(part) for part in zip(*every, strict=True)))
        print(
            "one row of each" if one_each else "all rows", len(whole.theta), "runs, coverage by seed, of both targets"
        )
        print(
            " ",
            *(one.coverage(of_persons).round(3) for one in every),
            "|",
            whole.coverage(of_persons),
            whole.coverage(of_rows),
        )
        print("  se, sd of the estimate", whole.errors.round(4), whole.theta.std(axis=0, ddof=1).round(4))


if __name__ == "__main__":
    main()
