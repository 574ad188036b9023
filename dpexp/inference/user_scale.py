"""What follows from a released fit on the user's scale, at no further cost: estimates, contrasts, tests, means."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.core.text import few, guess
from dpexp.data.regression import Units
from dpexp.inference.intervals import Release, finite_level, intervals, inverted, joint_level, judged, level_of
from dpexp.inference.public_numbers import normal

COLUMNS = ("estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high")
"""what every row of a fit has, as broom and statsmodels order it; null where there is no interval"""
_TERM = re.compile(r"(\d+\.?\d*|\.\d+) ?\* ?(.*)")


@dataclass(frozen=True)
class Inference:
    """Everything that a release determines on the user's scale."""

    release: Release
    theta: np.ndarray
    """[p], in the units of the computation"""
    units: Units
    level: float

    def document(self) -> dict[str, Any]:
        """The released numbers as JSON holds them; `read_inference` reads them back."""
        numbers = {"theta": self.theta, **self.release._asdict()}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in numbers.items()}

    def combined(self, rows: np.ndarray) -> tuple[list[dict[str, Any]], np.ndarray]:
        """The keys of estimates of combinations [k, p] of the user's parameters, and their covariance [k, k].

        Ends are null where there is no finite interval; p is that of the test that a value is 0.
        """
        from scipy.special import ndtr, ndtri

        matrix, offset = self.units.to_user()
        own, shift = rows @ matrix, rows @ offset
        intervals_, covariance = intervals(self.release, self.theta, own, self.level)
        estimates = list[dict[str, Any]]()
        for interval, a, o in zip(intervals_, own, shift.tolist(), strict=True):
            value, bounded = interval.value + o, math.isfinite(interval.high - interval.low)
            row = dict.fromkeys(COLUMNS) | {"estimate": value, "interval": "unbounded", "bounded": bounded}
            row["finite_level"] = None if interval.kind == "wald" else finite_level(self.release)
            if bounded:
                z = value / max(interval.se, 1e-300)
                p = float(2 * ndtr(-abs(z)))
                # interval and test have to agree: p is where this interval's end meets 0
                if interval.kind == "anderson-rubin":
                    p = level_of(self.release, self.theta, a[None], np.array([-o]))
                    z = math.copysign(float(-ndtri(max(p, 1e-300) / 2)), value)
                row |= {"std_error": interval.se, "statistic": z, "p_value": p, "interval": interval.kind}
                row |= {"conf_low": interval.low + o, "conf_high": interval.high + o}
            estimates.append(row)
        return estimates, covariance

    @cached_property
    def parameters(self) -> tuple[list[dict[str, Any]], np.ndarray]:
        """Every parameter by itself, and the covariance of all."""
        return self.combined(np.eye(len(self.theta)))

    def contrasts(self, texts: Sequence[str]) -> dict[str, Any]:
        """Combinations of the parameters, as JSON has them, and the test that all of them are 0. Raises UsageError."""
        rows = np.array([contrast_row(text, self.units) for text in texts])
        (matrix, offset), (estimates, _) = self.units.to_user(), self.combined(rows)
        levels = np.array([1.0 if row["p_value"] is None else row["p_value"] for row in estimates])
        p = joint_level(self.release, self.theta, rows @ matrix, -rows @ offset, levels, self.level)
        named = [{"contrast": text, **row} for text, row in zip(texts, estimates, strict=True)]
        return {"rows": named, "joint": {"p_value": p, "df": len(named)}}

    def predicted(self, x: np.ndarray) -> np.ndarray:
        """The linear predictor, its standard error and the ends of its interval [n, 4] at covariates x [n, d].

        A prediction takes the test of the parameters that it is made of: Wald's where all of theirs are, else the
        inverted one. NaN, but for the value, where the interval is not finite.
        """
        q, z = x.shape[1] + 1, normal(self.level)
        rows = np.zeros((len(x), len(self.theta)))
        # The scale, where there is one, takes no part in a mean.
        rows[:, 0], rows[:, 1:q] = 1.0, x
        errors, kinds = judged(self.release, rows, self.level)
        value = rows @ self.theta
        result = np.stack([value, errors, value - z * errors, value + z * errors], axis=1)
        matrix, _ = self.units.to_user()
        doubtful = np.array(judged(self.release, matrix, self.level)[1]) != "wald"
        parts = np.linalg.solve(matrix.T, rows.T).T
        invert = (np.array(kinds) != "wald") | np.any(np.abs(parts[:, doubtful]) > 1e-9, axis=1)
        each, where = np.unique(rows[invert], axis=0, return_inverse=True)
        ends = [inverted(self.release, self.theta, row, self.level) for row in each]
        result[invert, 2:] = np.array(ends).reshape(-1, 2)[where]
        result[~np.isfinite(result[:, 2:]).all(axis=1), 1:] = np.nan
        result[:, [0, 2, 3]] += self.units.centre / self.units.scale
        return result * self.units.scale


def read_inference(document: dict[str, Any], units: Units, level: float) -> Inference:
    """What `Inference.document` wrote. Raises KeyError, TypeError for anything else."""
    numbers: dict[str, Any] = {k: np.array(v) if isinstance(v, list) else v for k, v in document.items()}
    theta = numbers.pop("theta")
    return Inference(Release(**numbers), theta, units, level)


def in_line(name: str) -> str:
    """A name without the line breaks that may be in it."""
    return " ".join(name.split())


def contrast_row(text: str, units: Units) -> np.ndarray:
    """The combination [p] that a text means: names with numbers before them, `job=cook - 2 * age`.

    A sign between names has blanks around it; the reference level of a column is 0 by its coding. Raises UsageError.
    """
    names, text = list(map(in_line, units.names)), text.strip()
    zeros = [in_line(f"{column.name}={column.levels[0]}") for column in units.columns if column.levels]
    row, first = np.zeros(len(names)), "-" if text.startswith("-") else "+"
    parts = [first, *re.split(r"\s+([+-])\s+", text.removeprefix(first).strip())]
    for sign, term in zip(parts[::2], parts[1::2], strict=True):
        name, factor = in_line(term), 1.0
        # A column may be called `2 * x`: a whole name is tried first.
        if name not in (*names, *zeros) and (product := _TERM.fullmatch(name)):
            factor, name = float(product[1]), product[2]
        if name in names:
            row[names.index(name)] += factor if sign == "+" else -factor
        elif name not in zeros:
            hint = f"{guess(name, [*names, *zeros])}parameters: {', '.join(names)}"
            raise UsageError(
                f"--contrast: no parameter {name!r}", f"{hint}; 0 by coding: {few(zeros)}" if zeros else hint
            )
    if not row.any():
        raise UsageError(f"--contrast: {text!r} is 0 whatever the parameters are", "compare it with another level")
    return row
