"""How often the intervals of `dpexp fit` cover, over all runs, on laws that no setting was chosen on.

    nice python -m tests.campaigns.fit_coverage [NAME ...] [--local] [--runs 400] [--seed 77] [--at N MU]

Targets of laws that are wrong for the model, or whose weights are not the guess's, are M-estimates of two million
records. Every law is drawn anew in each run; nothing is left out.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpexp.inference.fitting import fit_central, plan_central, plan_local, released
from dpexp.inference.intervals import Release, intervals
from dpexp.inference.messages import Users
from dpexp.inference.models import Model, unit_model
from dpexp.inference.newton import standard_errors
from dpexp.inference.refusals import Checked, after
from dpexp.inference.staged_newton import Design, guessed_curvature, staged_newton
from dpexp.inference.users import hessian_users

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Law:
    """Records in the units of the computation, and budgets for them."""

    model: Model
    draw: Draw
    settings: tuple[tuple[int, float], ...]
    """(n, mu) of central fits"""
    local: tuple[tuple[int, float], ...] = ((60_000, 2.0),)


def columns(rng: np.random.Generator, n: int, d: int, share: float | None) -> np.ndarray:
    """Standard normal, the last one a level with this share."""
    z = rng.standard_normal((n, d))
    if share is not None:
        z[:, -1] = np.where(rng.random(n) < share, 1.0, -1.0)
    return z


def logistic(slopes: tuple[float, ...], intercept: float = 0.0, share: float | None = None) -> Draw:
    """Of standardised columns."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        z = columns(rng, n, len(slopes), share)
        t = intercept + z @ np.array(slopes)
        return z / math.sqrt(len(slopes)), (rng.random(n) < 1 / (1 + np.exp(-t))).astype(float)

    return draw


def _incomes(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Age, log income, and a job of five levels, of which one is rare; the ranges are those of a code book."""
    age = rng.uniform(18, 80, n)
    income = rng.normal(10.3 + 0.01 * (age - 45), 0.7)
    job = rng.choice(5, n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    t = -1 + 0.08 * (age - 45) + 1.5 * (income - 10.3) + np.array([0, 0.5, -0.5, 1, -1.5])[job]
    columns = [(age - 45) / 13.5, (income - 10.3) / 0.8, *((job == k) / 0.4 - 0.5 for k in range(1, 5))]
    return np.column_stack(columns) / math.sqrt(6), (rng.random(n) < 1 / (1 + np.exp(-t))).astype(float)


def _diamonds(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Four correlated numbers and 16 dummies with shares of 1.4 to 40 per cent; heavy tails of a small scale."""
    common = rng.standard_normal((n, 1))
    numbers = 0.9 * common + math.sqrt(0.19) * rng.standard_normal((n, 4))
    shares = np.geomspace(0.014, 0.4, 16)
    dummies = (rng.random((n, 16)) < shares).astype(float)
    y = numbers @ np.array([0.8, 0.2, -0.1, 0.1]) + dummies @ np.linspace(-0.4, 0.4, 16) + 0.13 * rng.standard_t(6, n)
    return np.column_stack([numbers, 2 * dummies - 1]) / math.sqrt(20), y


def linear(slopes: tuple[float, ...], sd: float, share: float | None = None, unequal: float = 0.0) -> Draw:
    """Normal errors of this standard deviation, `exp(unequal z_1)` times."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        z = columns(rng, n, len(slopes), share)
        y = z @ np.array(slopes) + sd * np.exp(unequal * z[:, 0]) * rng.standard_normal(n)
        return z / math.sqrt(len(slopes)), y

    return draw


def narrow(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """One column varies a quarter of what its range says."""
    x, _ = linear((0.0,) * 5, 1.0)(rng, n)
    x[:, -1] /= 4
    return x, x @ np.full(5, 0.5 * math.sqrt(5)) + rng.standard_normal(n)


def correlated(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Five columns any two of which are correlated by .8."""
    z = math.sqrt(0.2) * rng.standard_normal((n, 5)) + math.sqrt(0.8) * rng.standard_normal((n, 1))
    return z / math.sqrt(5), 0.5 * z.sum(axis=1) + rng.standard_normal(n)


def _outliers(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    x, y = linear((0.5, 0.5, -0.5), 0.0)(rng, n)
    return x, y + np.where(rng.random(n) < 0.05, 8.0, rng.standard_t(3, n))


HUBER5, LOGIT3 = unit_model("huber-linear", 5), unit_model("mallows-logistic", 3)
HALF = (0.5,) * 5
LAWS = {
    "base": Law(HUBER5, linear(HALF, 1.0), ((500, 1.0), (1000, 0.5), (1000, 1.0), (3000, 0.3), (3000, 1.0))),
    "unequal variances": Law(HUBER5, linear(HALF, 1.0, unequal=0.6), ((3000, 1.0),)),
    "level 5%": Law(HUBER5, linear(HALF, 1.0, 0.05), ((3000, 1.0),)),
    "correlated .8": Law(HUBER5, correlated, ((3000, 1.0),)),
    "range 4x": Law(HUBER5, narrow, ((3000, 1.0),)),
    "level 2%": Law(HUBER5, linear(HALF, 1.0, 0.02), ((3000, 1.0),)),
    "level 1%": Law(HUBER5, linear(HALF, 1.0, 0.01), ((3000, 1.0), (20_000, 1.0))),
    "R2 = .996": Law(unit_model("huber-linear", 3), linear((0.8, 0.5, 0.3), 0.063), ((4000, 0.3), (4000, 1.0), (50_000, 1.0))),
    "outliers": Law(unit_model("huber-linear", 3), _outliers, ((2000, 1.0),)),
    "diamonds": Law(unit_model("huber-linear", 20), _diamonds, ((40_000, 0.3), (40_000, 1.0), (40_000, 3.0))),
    "steep": Law(LOGIT3, logistic((3.0, -3.0, 1.5)), ((3000, 1.0), (6000, 1.0), (24_000, 1.0), (24_000, 3.0))),
    "steep, off centre": Law(LOGIT3, logistic((3.0, -2.0, 1.5), 1.0), ((4000, 1.0), (40_000, 0.3), (40_000, 3.0))),
    "logistic, level 3%": Law(unit_model("mallows-logistic", 5), logistic((0.447,) * 5, 1.0, 0.03), ((5000, 1.0),)),
    "logistic, level 4%": Law(
        unit_model("mallows-logistic", 5), logistic((0.5, 0.5, -0.5, 0.5, -0.6), -1.0, 0.04), ((5000, 1.0),)
    ),
    "flat": Law(LOGIT3, logistic((0.5, 0.5, 0.5)), ((2000, 1.0),)),
    "ones 2%": Law(LOGIT3, logistic((0.5, 0.5, 0.5), -4.1), ((5000, 1.0),), ((60_000, 4.0),)),
    "incomes": Law(unit_model("mallows-logistic", 6), _incomes, ((4000, 1.0), (8000, 1.0), (40_000, 1.0))),
}  # fmt: skip


@lru_cache(maxsize=32)
def target(name: str, records: int = 2_000_000) -> np.ndarray:
    """theta* [p]: Newton's method on many records of another seed."""
    law = LAWS[name]
    return m_estimate(law.model, *law.draw(np.random.default_rng(2), records))


def m_estimate(model: Model, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The minimiser of the mean risk, with steps that are halved until the gradient falls."""
    rows = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    weight, q = model.problem.weight(rows), model.d + 1
    theta = np.array(model.problem.start(), dtype=float)

    def gradient(at: np.ndarray) -> np.ndarray:
        return np.asarray(model.problem.gradient(at, rows, y).mean(axis=0))

    g = gradient(theta)
    for _ in range(100):
        tt, ts, ss = model.curvature(rows @ theta[:q], y, model.scale_of(theta), model.constants)
        h = np.zeros((model.p, model.p))
        h[:q, :q] = (rows * (weight * tt)[:, None]).T @ rows / len(y)
        if model.has_scale:
            h[:q, q] = h[q, :q] = rows.T @ (weight * ts) / len(y)
            h[q, q] = weight @ ss / len(y)
        step, size = np.linalg.solve(h + 1e-9 * np.eye(model.p), g), 1.0
        while size > 1e-6:
            trial = theta - size * step
            if (not model.has_scale or trial[-1] > 0.01) and np.linalg.norm(g_new := gradient(trial)) < np.linalg.norm(
                g
            ):
                break
            size /= 2
        else:
            break
        theta, g = trial, g_new
        if np.linalg.norm(g) < 1e-12:
            break
    return theta


@dataclass
class Crowd:
    """Users of eight replicates who are drawn as they are asked."""

    law: Law
    rngs: list[np.random.Generator]
    mu: float
    budgets: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """of covariates [users, d, 8] and responses [users, 8]; messages then weigh the same"""

    def block(self, count: int, first: int, every: int) -> Users:
        model, sent = self.law.model, hessian_users(count, first, every)
        drawn = [self.law.draw(rng, count) for rng in self.rngs]
        x, y = (np.stack([part[k] for part in drawn], axis=-1) for k in (0, 1))
        shapes = (count, model.p), (sent, model.p * (model.p + 1) // 2)
        noise = [np.stack([rng.standard_normal(shape) for rng in self.rngs], axis=-1) for shape in shapes]
        weights = np.minimum(1.0, 2 / (1 + np.sum(x * x, axis=1)))
        ones = np.ones_like(y)
        mu = ones * self.mu if self.budgets is None else self.budgets(x, y)
        return Users(x, y, weights, 1 / mu, ones, ones, *noise, np.arange(count + 1))


def local_fits(
    law: Law, n: int, mu: float, runs: int, seed: int, budgets: Any = None
) -> Iterator[tuple[np.ndarray, Checked, Release]]:
    """The estimates, what was checked, and what intervals follow from."""
    planned = plan_local(law.model, np.array([mu]), n)
    design = Design(n, guessed_curvature(planned.model), planned.every)
    for first in range(0, runs, 8):
        crowd = Crowd(law, [np.random.default_rng([seed, first + lane]) for lane in range(8)], mu, budgets)
        outcome = staged_newton(planned.model, design, law.model.problem.start(), crowd)
        for lane in range(8):
            checked = after(planned.model, design, outcome, lane)
            yield outcome.final.theta[lane], checked, released(planned.model, outcome, lane)


def central_fits(law: Law, n: int, mu: float, runs: int, seed: int) -> Iterator[tuple[np.ndarray, Checked, Release]]:
    planned = plan_central(law.model, n)
    for r in range(runs):
        rng = np.random.default_rng([seed, r])
        x, y = law.draw(rng, n)
        found = fit_central(planned, x, y, mu, rng.standard_normal)
        yield found.theta, found.checked, found.release


def shown(name: str, local: bool, n: int, mu: float, runs: int, seed: int) -> str:
    """One line: coverage of what is shown over all runs, the shares of tests inverted and of unbounded intervals."""
    law, truth, began = LAWS[name], target(name), time.process_time()
    found, rules, warned = [], Counter[str](), Counter[str]()
    for theta, checked, release in (local_fits if local else central_fits)(law, n, mu, runs, seed):
        rules.update(reason.rule for reason in checked.reasons)
        warned.update(one.split(":")[0][:24] for one in checked.warnings)
        each, covariance = intervals(release, theta, np.eye(law.model.p), 0.95)
        lost = checked.lost(law.model.p)
        unbounded = [j in lost or one.kind == "unbounded" for j, one in enumerate(each)]
        hits = [u or i.low <= t <= i.high for u, i, t in zip(unbounded, each, truth, strict=True)]
        inverted = [one.kind == "anderson-rubin" and not u for one, u in zip(each, unbounded, strict=True)]
        found.append([hits, inverted, unbounded, np.abs(theta - truth) < 1.959964 * standard_errors(covariance)])
    parts = [" ".join(f"{c:.3f}".lstrip("0") for c in part) for part in np.mean(found, axis=0)]
    told = " | ".join(map(" ".join, zip(("cover", "inverted", "unbounded", "Wald"), parts, strict=True)))
    return (
        f"{name:18} {'local' if local else 'central'} n={n:<6} mu={mu:<4g} {told} | refused {dict(rules)} "
        f"warned {dict(warned)} ({time.process_time() - began:.0f} s)"
    )


if __name__ == "__main__":
    said = argparse.ArgumentParser()
    said.add_argument("names", nargs="*")
    said.add_argument("--runs", type=int, default=400)
    said.add_argument("--seed", type=int, default=77)
    said.add_argument("--local", action="store_true")
    said.add_argument("--at", nargs=2, type=float, metavar=("N", "MU"))
    given = said.parse_args()
    for name in given.names or LAWS:
        for n, mu in [given.at] if given.at else LAWS[name].local if given.local else LAWS[name].settings:
            print(shown(name, given.local, int(n), mu, given.runs, given.seed), flush=True)
