"""What follows from a release at no further cost: contrasts, joint tests, predictions, and a forest plot."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.core.text import Printed, columns, guess
from dpexp.data.regression import Units
from dpexp.inference.intervals import Release, finite_level, intervals, inverted, joint_level, judged, level_of
from dpexp.inference.public_numbers import normal
from dpexp.reporting.digits import estimate_row, level_in_digits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high")
"""what every row of a fit has, as broom and statsmodels order it; null where there is no interval"""
MANY = "p: the test that a value is 0, each by itself. Of 20 that are 0, one has p below .05 on average."
_TERM = r"(?:(\d+\.?\d*|\.\d+) ?\* ?)?(.*)"


@dataclass(frozen=True)
class Inference:
    """Everything that a release says on the user's scale."""

    release: Release
    theta: np.ndarray
    """[p], in the units of the computation"""
    units: Units
    level: float

    def combined(self, rows: np.ndarray) -> tuple[list[dict[str, Any]], np.ndarray]:
        """The keys of estimates of combinations [k, p] of the user's parameters, and their covariance [k, k].

        Ends are null of what the release does not tell; p is that of the test that a value is 0.
        """
        from scipy.special import ndtr, ndtri

        matrix, offset = self.units.to_user()
        own, shift = rows @ matrix, rows @ offset
        found, covariance = intervals(self.release, self.theta, own, self.level)
        told = list[dict[str, Any]]()
        for one, a, o in zip(found, own, shift.tolist(), strict=True):
            value, bounded = one.value + o, math.isfinite(one.high - one.low)
            told.append(dict.fromkeys(COLUMNS) | {"estimate": value, "interval": "unbounded", "bounded": bounded})
            told[-1]["finite_level"] = None if one.kind == "wald" else finite_level(self.release)
            if bounded:
                z = value / max(one.se, 1e-300)
                p = float(2 * ndtr(-abs(z)))
                # Interval and test have to agree: p is where this interval's end meets 0.
                if one.kind == "anderson-rubin":
                    p = level_of(self.release, self.theta, a[None], np.array([-o]))
                    z = math.copysign(float(-ndtri(max(p, 1e-300) / 2)), value)
                told[-1] |= {"std_error": one.se, "statistic": z, "p_value": p}
                told[-1] |= {"conf_low": one.low + o, "conf_high": one.high + o, "interval": one.kind}
        return told, covariance

    @cached_property
    def parameters(self) -> tuple[list[dict[str, Any]], np.ndarray]:
        """Every parameter by itself, and the covariance of all."""
        return self.combined(np.eye(len(self.theta)))

    def means(self, x: np.ndarray) -> np.ndarray:
        """The mean of the target, its standard error and the ends of its interval [n, 4] at covariates x [n, d].

        A prediction takes the test of the parameters that it is made of: Wald's where all of theirs are, else the
        inverted one. NaN, but for the mean, where the interval is not finite.
        """
        q, z = x.shape[1] + 1, normal(self.level)
        rows = np.zeros((len(x), len(self.theta)))
        # The scale, where there is one, takes no part in a mean.
        rows[:, 0], rows[:, 1:q] = 1.0, x
        errors, kinds = judged(self.release, rows, self.level)
        mean = rows @ self.theta
        found = np.stack([mean, errors, mean - z * errors, mean + z * errors], axis=1)
        matrix, _ = self.units.to_user()
        doubtful = np.array(judged(self.release, matrix, self.level)[1]) != "wald"
        parts = np.linalg.solve(matrix.T, rows.T).T
        invert = (np.array(kinds) != "wald") | np.any(np.abs(parts[:, doubtful]) > 1e-9, axis=1)
        each, where = np.unique(rows[invert], axis=0, return_inverse=True)
        ends = [inverted(self.release, self.theta, row, self.level) for row in each]
        found[invert, 2:] = np.array(ends).reshape(-1, 2)[where]
        found[~np.isfinite(found[:, 2:]).all(axis=1), 1:] = np.nan
        if not self.units.binary:
            found[:, [0, 2, 3]] += self.units.centre / self.units.scale
            return found * self.units.scale
        share = 1 / (1 + np.exp(-found))
        # The slope of the logistic function carries the standard error over.
        share[:, 1] = share[:, 0] * (1 - share[:, 0]) * errors
        return np.asarray(share)


def in_line(name: str) -> str:
    """A name without the line breaks that may be in it."""
    return " ".join(name.split())


def estimates_table(
    rows: Sequence[dict[str, Any]], level: float | None, key: str = "term", errors: Sequence[float] | None = None
) -> str:
    """Estimates as text, each in the digits that its standard error leaves it, or one of `errors`."""
    errors = [one["std_error"] or math.nan for one in rows] if errors is None else errors
    body = [[in_line(one[key]), *estimate_row(one, error)] for one, error in zip(rows, errors, strict=True)]
    first, low = "name" if key == "term" else key, f"{100 * level:.4g}% from" if level else "from"
    return columns(body, [first, "estimate", "se", low, "to", "p"])


def row_of(text: str, names: Sequence[str]) -> np.ndarray:
    """The combination [p] that a text means: names with numbers before them, `job=cook - 2 * age`.

    Signs between names stand between blanks. Raises UsageError.
    """
    row, names, text = np.zeros(len(names)), list(map(in_line, names)), text.strip()
    first = "-" if text.startswith("-") else "+"
    parts = [first, *re.split(r"\s+([+-])\s+", text.removeprefix(first).strip())]
    for sign, term in zip(parts[::2], parts[1::2], strict=True):
        said = in_line(term)
        # A column may be called `2 * x`: a whole name is tried first.
        number, name = (None, said) if said in names else re.fullmatch(_TERM, said).groups()  # type: ignore[union-attr]
        if name not in names:
            raise UsageError(
                f"--contrast: no parameter {name!r}", f"{guess(name, names)}parameters: {', '.join(names)}"
            )
        row[names.index(name)] += (1 if sign == "+" else -1) * float(number or 1)
    return row


@dataclass(frozen=True)
class Contrasts(Printed):
    """Combinations of the parameters with intervals, and the test that all of them are 0."""

    rows: list[dict[str, Any]]
    joint: float

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"rows": self.rows, "joint": {"p_value": self.joint, "df": len(self.rows)}}

    def text(self) -> str:
        p = level_in_digits(self.joint, "= ")
        together = f"\n\nThat all {len(self.rows)} are 0: p {p}." if len(self.rows) > 1 else ""
        return estimates_table(self.rows, None, "contrast") + together


def contrasts(inference: Inference, texts: Sequence[str]) -> Contrasts:
    """Raises UsageError for what names no parameter."""
    rows = np.array([row_of(text, inference.units.names) for text in texts])
    (matrix, offset), (found, _) = inference.units.to_user(), inference.combined(rows)
    levels = np.array([1.0 if one["p_value"] is None else one["p_value"] for one in found])
    own, values = rows @ matrix, -rows @ offset
    joint = joint_level(inference.release, inference.theta, own, values, levels, inference.level)
    return Contrasts([{"contrast": t, **one} for t, one in zip(texts, found, strict=True)], joint)


def forest(inference: Inference, found: Sequence[dict[str, Any]]) -> Figure:
    """What each column does, with intervals, one below another: a level, or a quarter of a stated range.

    Numbers have units of their own; a quarter of a range, which is public, makes them comparable.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from dpexp.reporting.style import RC

    units = inference.units
    with mpl.rc_context(RC):
        canvas = Figure(figsize=(5.2, 0.8 + 0.28 * len(units.entries)), layout="constrained")
        axes = canvas.subplots()
        axes.axvline(0, color="#555555", linewidth=0.8)
        for k, (entry, one) in enumerate(zip(units.entries, found[1:], strict=False)):
            # The scale of a number is a quarter of its stated range.
            step = 1.0 if entry.level is not None else entry.scale
            if one["bounded"]:
                axes.plot([step * one["conf_low"], step * one["conf_high"]], [k, k], color="#2b6cb8")
                axes.plot(step * one["estimate"], k, "o", color="#2b6cb8", markersize=4)
            else:
                axes.text(0, k, "  unbounded", va="center", color="#7a4fa3")
        axes.set_yticks(range(len(units.entries)), [in_line(entry.name) for entry in units.entries])
        axes.set_ylim(len(units.entries) - 0.5, -0.5)
        what = f"log odds of {units.target}, with" if units.binary else f"{units.target}, with"
        axes.set_xlabel(f"{what} {100 * inference.level:g}% intervals,\nfor a level, or a quarter of a column's range")
    return canvas
