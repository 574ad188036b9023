"""`dpexp fit --plan`: what a fit would give, from fits of simulated tables of the shape that public inputs state.

No record is read. Columns of numbers are normal about the middle of their ranges, with the stated correlations.
Categories have the stated shares. Errors are normal with the stated scale; no column explains anything of a number, and
all alike move the log odds of a category by the stated spread. What is not stated is `assumed`. `n_finite` is searched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.core.text import few
from dpexp.data.regression import SHARE_MISSING, TYPICAL_RANGE, Units, covariates_of
from dpexp.inference.intervals import inverted, judged
from dpexp.inference.public_numbers import normal
from dpexp.inference.refusals import Reason, two_digits

if TYPE_CHECKING:
    from dpexp.data.public_inputs import PublicColumn, PublicInputs
    from dpexp.inference.fitting import Fitted, Planned
    from dpexp.inference.user_blocks import DrawNormals

SPREAD = 1.0
"""standard deviation of the log odds where none is stated"""
EVEN = 2.0
"""spread up to which it matters little which columns move the log odds: at 3 and 4 errors were off by .7 to 1.5"""
Planner = Callable[[int], tuple["Planned", np.ndarray]]
"""of a number of records: what is planned of it, and their budgets, or one of all"""
Fit = Callable[["Planned", np.ndarray, np.ndarray, np.ndarray, "DrawNormals", "np.ndarray | None"], "Fitted"]
"""of a plan, covariates, responses, budgets [n], normals and owners"""
ROWS, FEWEST_RUNS, MOST_RUNS = 400_000, 6, 20
"""simulated records of one rehearsal, and the number of fits that share them"""
LARGEST = 200_000
"""records of one fit; what more give is scaled"""


@dataclass(frozen=True)
class Rehearsed:
    """Of every parameter on the user's scale."""

    runs: int
    errors: np.ndarray
    """median standard errors [p]; inf where most intervals are not finite"""
    widths: np.ndarray
    """medians of half the lengths [p]"""
    finite: np.ndarray
    """shares of fits in which the interval is finite [p]"""
    steep: list[Reason]
    """the rule that refuses most of them, whatever n is"""


def simulated(units: Units, public: PublicInputs, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Covariates [n, d] and responses [n] in the units of the computation."""
    normals = rng.standard_normal((n, len(units.columns))) @ _root(units.columns, public).T
    values = {column.name: _values(column, public, g, rng) for column, g in zip(units.columns, normals.T, strict=True)}
    x, _ = covariates_of(values, units, n)
    if not units.binary:
        return x, rng.standard_normal(n)
    share, spread = _shares(units.response, public)[1], public.log_odds_sd or SPREAD
    t = (total := x.sum(axis=1)) * (spread / max(float(total.std()), 1e-300))
    # the mean of a logistic function of a normal number has about the stated share
    base = math.log(share / (1 - share)) * math.sqrt(1 + math.pi / 8 * spread**2)
    return x, (rng.random(n) < 1 / (1 + np.exp(-base - t))).astype(float)


def _root(columns: Sequence[PublicColumn], public: PublicInputs) -> np.ndarray:
    """A root [k, k] of the nearest correlation that is one: correlations are stated pair by pair."""
    numbers = np.array([column.levels is None for column in columns])
    matrix = np.where(np.outer(numbers, numbers), public.correlation or 0.0, 0.0)
    places = {column.name: k for k, column in enumerate(columns)}
    for (row, column), value in public.correlations.items():
        if row in places and column in places:
            matrix[places[row], places[column]] = matrix[places[column], places[row]] = value
    np.fill_diagonal(matrix, 1.0)
    values, vectors = np.linalg.eigh(matrix)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(root / np.linalg.norm(root, axis=1)[:, None])


def _values(column: PublicColumn, public: PublicInputs, g: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """From standard normals [n]; a level is a part of their range."""
    if column.levels is not None:
        from scipy.special import ndtr

        values = np.searchsorted(np.cumsum(_shares(column, public))[:-1], ndtr(g)).astype(float)
    else:
        low, high = column.limits or TYPICAL_RANGE
        values = (low + high) / 2 + (high - low) / 4 * g
    return np.where(rng.random(len(g)) < SHARE_MISSING, np.nan, values) if column.may_miss else values


def _shares(column: PublicColumn, public: PublicInputs) -> np.ndarray:
    """Of each level; those that are not stated have equal parts of what is left."""
    levels, known = column.levels or (), public.shares.get(column.name, {})
    rest = (1 - sum(known.values())) / max(1, len(levels) - len(known))
    shares = np.array([known.get(level, rest) for level in levels])
    return np.asarray(shares / shares.sum())


def rehearse(
    planner: Planner, fit: Fit, units: Units, public: PublicInputs, n: int, level: float, rows: Collection[int]
) -> Rehearsed:
    """Fits of n records, `LARGEST` at most; tests are inverted for `rows`; without, an infinite interval ends it."""
    # errors fall like n^-1/2, and so does an owner's noise beside them with a budget that grows like n^1/2
    factor, n = math.sqrt(min(n, LARGEST) / n), min(n, LARGEST)
    (planned, mu), p, (matrix, _) = planner(n), len(units.names), units.to_user()
    # lengths vary more than whether they are finite: single ones of a local scale by a factor of two
    runs = int(np.clip((3 if rows else 1) * ROWS // n, FEWEST_RUNS, MOST_RUNS))
    errors, widths, steep = np.full((runs, p), np.inf), np.full((runs, p), np.inf), list[Reason]()
    # fewer than were ever tried are refused
    for r in range(0 if planned.checked.reasons else runs):
        if r and not rows and np.isinf(widths[r - 1, units.visible]).any():
            break  # a search asks whether all are finite
        rng = np.random.default_rng([n, r])
        x, y = simulated(units, public, n, rng)
        fitted = fit(planned, x, y, np.resize(mu, n) / (factor if planned.central else 1.0), rng.standard_normal, None)
        if any(not reason.parameters for reason in fitted.checked.reasons):
            steep += [reason for reason in fitted.checked.reasons if reason.rule == "too-steep"]
            continue
        wald, kinds = judged(fitted.release, matrix, level)
        for j, kind in enumerate(kinds):
            if kind != "unbounded":
                errors[r, j], widths[r, j] = wald[j], normal(level) * wald[j]
            if kind == "anderson-rubin" and j in rows:
                widths[r, j] = np.ptp(inverted(fitted.release, fitted.theta, matrix[j], level)) / 2
    return Rehearsed(
        runs, np.median(errors, axis=0) * factor, np.median(widths, axis=0) * factor,
        np.isfinite(widths).mean(axis=0), steep[:1] if 2 * len(steep) > runs else [],
    )  # fmt: skip


def outlook(planner: Planner, fit: Fit, units: Units, public: PublicInputs, n: int, level: float) -> dict[str, Any]:
    """What a plan adds to the document of a fit: expected lengths with n records, and the n for finite intervals."""

    @lru_cache(maxsize=64)
    def finite(records: int) -> bool:
        # all of 20 and not 18: a search ends where chance was kind
        rehearsed = rehearse(planner, fit, units, public, records, level, ())
        return bool((rehearsed.finite[units.visible] == 1).all())

    fewest = next((k for k in (10 * 2**e for e in range(40)) if not planner(k)[0].checked.reasons), LARGEST)
    own = rehearse(planner, fit, units, public, n, level, units.visible)
    known = [(None if math.isinf(v) else float(v)) for v in (*own.errors, *2 * own.widths)]
    rows = [
        {"term": units.names[j], "std_error": known[j], "length": known[j + len(units.names)],
         "finite": float(own.finite[j])}
        for j in units.visible
    ]  # fmt: skip
    steep = {"refused": [{"rule": r.rule, "reason": r.why, "n_needed": None} for r in own.steep]} if own.steep else {}
    needed = None if steep else least_records(finite, max(n, fewest), fewest)
    return {"expected": rows, "rehearsals": own.runs, "n_finite": needed, "assumed": assumed(units, public), **steep}


def least_records(holds: Callable[[int], bool], start: int, fewest: int) -> int | None:
    """About the least number of records for which it holds, between `fewest` and `LARGEST`, to a tenth or so."""
    low, high = 0, min(start, LARGEST)
    if holds(high):
        # down by halves, then between the last two
        while high > fewest and holds(max(high // 2, fewest)):
            high = max(high // 2, fewest)
        low = max(high // 2, fewest)
    else:
        while not holds(high):
            if high >= LARGEST:
                return None
            low, high = high, min(2 * high, LARGEST)
    for _ in range(3 if low < high else 0):
        middle = round(math.sqrt(low * high))
        low, high = (low, middle) if holds(middle) else (middle, high)
    return two_digits(high)


def assumed(units: Units, public: PublicInputs) -> list[str]:
    """What no public input states of the table, and what rehearsals take in its place."""
    named = {
        "the ranges of {} (-2 to 2)": [c for c in units.columns if c.levels is None and c.limits is None],
        "the shares of {} (equal; a rarer level has a longer interval)": [
            c for c in units.read if c.levels and len(public.shares.get(c.name, {})) < len(c.levels) - 1
        ],
        "how many values of {} are missing (a tenth)": [c for c in units.columns if c.may_miss],
    }
    assumptions = [words.format(few([column.name for column in those])) for words, those in named.items() if those]
    if public.correlation is None and not public.correlations and len(units.columns) > 1:
        assumptions.append("the correlation of columns (0)")
    if not units.binary:
        normal_ = "normal, alike for all records, with the scale"
        assumptions.append(f"the law of the errors ({normal_} {units.scale:g}, to which intervals are proportional)")
    elif public.log_odds_sd is None:
        assumptions.append(f"log_odds_sd, how far columns move the log odds ({SPREAD:g})")
    elif public.log_odds_sd > EVEN and len(units.entries) > 1:
        assumptions.append("which columns move the log odds so far (all alike)")
    return assumptions
