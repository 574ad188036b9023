"""How often the intervals of the central fit cover, over all runs, on laws that no setting was chosen on.

    nice python -m tests.campaigns.central_coverage [NAME ...] [--runs 400] [--seed 77]

Targets of laws that are wrong for the model, or whose weights are not the guess's, are M-estimates of two million
records. Every law is drawn anew in each run; nothing is left out.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpexp.inference.models import Model, unit_model

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Law:
    """Records in the units of the computation, and budgets for them."""

    model: Model
    draw: Draw
    settings: tuple[tuple[int, float], ...]
    """(n, mu)"""


def logistic(slopes: tuple[float, ...], intercept: float = 0.0) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        z = rng.standard_normal((n, len(slopes)))
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
    """Normal errors of this standard deviation, `exp(unequal z_1)` times; the last column a level with this share."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        z = rng.standard_normal((n, len(slopes)))
        if share is not None:
            z[:, -1] = np.where(rng.random(n) < share, 1.0, -1.0)
        y = z @ np.array(slopes) + sd * np.exp(unequal * z[:, 0]) * rng.standard_normal(n)
        return z / math.sqrt(len(slopes)), y

    return draw


def narrow(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """One column varies a quarter of what its range says."""
    x, _ = linear((0.0,) * 5, 1.0)(rng, n)
    x[:, -1] /= 4
    return x, x @ np.full(5, 0.5 * math.sqrt(5)) + rng.standard_normal(n)


def _outliers(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    x, y = linear((0.5, 0.5, -0.5), 0.0)(rng, n)
    return x, y + np.where(rng.random(n) < 0.05, 8.0, rng.standard_t(3, n))


HUBER5, LOGIT3 = unit_model("huber-linear", 5), unit_model("mallows-logistic", 3)
HALF = (0.5,) * 5
LAWS = {
    "base": Law(HUBER5, linear(HALF, 1.0), ((500, 1.0), (1000, 0.5), (1000, 1.0), (3000, 0.3), (3000, 1.0))),
    "unequal variances": Law(HUBER5, linear(HALF, 1.0, unequal=0.6), ((3000, 1.0),)),
    "level 5%": Law(HUBER5, linear(HALF, 1.0, 0.05), ((3000, 1.0),)),
    "range 4x": Law(HUBER5, narrow, ((3000, 1.0),)),
    "level 2%": Law(HUBER5, linear(HALF, 1.0, 0.02), ((3000, 1.0),)),
    "level 1%": Law(HUBER5, linear(HALF, 1.0, 0.01), ((3000, 1.0), (20_000, 1.0))),
    "R2 = .996": Law(unit_model("huber-linear", 3), linear((0.8, 0.5, 0.3), 0.063), ((4000, 0.3), (4000, 1.0), (50_000, 1.0))),
    "outliers": Law(unit_model("huber-linear", 3), _outliers, ((2000, 1.0),)),
    "diamonds": Law(unit_model("huber-linear", 20), _diamonds, ((40_000, 0.3), (40_000, 1.0), (40_000, 3.0))),
    "steep": Law(LOGIT3, logistic((3.0, -3.0, 1.5)), ((3000, 1.0), (6000, 1.0), (24_000, 1.0), (24_000, 3.0))),
    "steep, off centre": Law(LOGIT3, logistic((3.0, -2.0, 1.5), 1.0), ((4000, 1.0), (40_000, 0.3), (40_000, 3.0))),
    "flat": Law(LOGIT3, logistic((0.5, 0.5, 0.5)), ((2000, 1.0),)),
    "incomes": Law(unit_model("mallows-logistic", 6), _incomes, ((4000, 1.0), (8000, 1.0), (40_000, 1.0))),
}  # fmt: skip


@lru_cache(maxsize=32)
def target(name: str) -> np.ndarray:
    """theta* [p]: Newton's method on two million records of another seed."""
    law = LAWS[name]
    x, y = law.draw(np.random.default_rng(2), 2_000_000)
    return m_estimate(law.model, x, y)


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


def shown(name: str, n: int, mu: float, runs: int, seed: int) -> str:
    """One line: coverage of what is shown over all runs, the shares of tests inverted and of unbounded intervals."""
    from dpexp.inference.fitting import fit_central, plan_central
    from dpexp.inference.intervals import intervals

    law, truth, began = LAWS[name], target(name), time.process_time()
    planned = plan_central(law.model, mu, n)
    hits, inverted, unbounded, refused = [], [], [], 0
    for r in range(runs):
        rng = np.random.default_rng([seed, r])
        x, y = law.draw(rng, n)
        found = fit_central(planned, x, y, mu, rng.standard_normal)
        refused += bool(found.checked.reasons)
        assert found.release is not None
        each, _ = intervals(found.release, found.theta, np.eye(law.model.p), 0.95)
        hits.append([one.low <= t <= one.high for one, t in zip(each, truth, strict=True)])
        inverted.append([one.kind == "anderson-rubin" for one in each])
        unbounded.append([one.kind == "unbounded" for one in each])
    lists = (" ".join(f"{c:.3f}".lstrip("0") for c in np.mean(part, axis=0)) for part in (hits, inverted, unbounded))
    cover, ar, lost = lists
    return (
        f"{name:18} n={n:<6} mu={mu:<4g} refused {refused}  cover {cover} | inverted {ar} | unbounded {lost} "
        f"({time.process_time() - began:.0f} s)"
    )


def measured(name: str, n: int, mu: float, runs: int, seed: int) -> str:
    """One line: coverage of every coordinate, by how much the last correction moved, length over its own spread."""
    from dpexp.inference.central_newton import central_newton
    from dpexp.inference.newton import standard_errors

    law, truth, began = LAWS[name], target(name), time.process_time()
    errors, estimates, moved = [], [], []
    for r in range(runs):
        rng = np.random.default_rng([seed, r])
        x, y = law.draw(rng, n)
        found = central_newton(law.model, law.model.problem.start(), x, y, mu, rng.standard_normal)
        estimates.append(found.theta - truth)
        errors.append(standard_errors(found.covariance))
        moved.append(found.moved)
    e, s = np.array(estimates), np.array(errors)
    cover = np.mean(np.abs(e) < 1.959964 * s, axis=0)
    said = " ".join(f"{c:.3f}".lstrip("0") for c in cover)
    bias = np.median(e, axis=0) / np.maximum(np.std(e, axis=0), 1e-300)
    return (
        f"{name:18} n={n:<6} mu={mu:<4g} moved {np.median(moved):.1f}/{np.max(moved):.1f}  cover {said}  "
        f"bias/sd {bias[np.argmax(np.abs(bias))]:+.2f}  se/sd {np.min(np.median(s, axis=0) / np.std(e, axis=0)):.2f} "
        f"({time.process_time() - began:.0f} s)"
    )


if __name__ == "__main__":
    said = argparse.ArgumentParser()
    said.add_argument("names", nargs="*")
    said.add_argument("--runs", type=int, default=400)
    said.add_argument("--seed", type=int, default=77)
    said.add_argument("--shown", action="store_true", help="what is printed, tests inverted where that is the rule")
    given = said.parse_args()
    for name in given.names or LAWS:
        for n, mu in LAWS[name].settings:
            print((shown if given.shown else measured)(name, n, mu, given.runs, given.seed), flush=True)
