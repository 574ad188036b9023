"""A released softmax model on the scale of the user's own columns, and what it predicts.

The model saw prepared records: columns scaled by stated ranges, categories as 0/1 entries, all of it divided by its own
norm |x|, and a constant entry b. In the user's own values the score of a class is `formula` with coefficient =
w / (high - low) and offset = -sum of w low / (high - low) for columns with a range, coefficient = w and no offset for
the others, intercept = b times the weight of the constant entry. The class with the largest score is predicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.data.dataset import prepare
from dpexp.data.encode import losses, unread
from dpexp.data.labelled import encode_features
from dpexp.data.public_inputs import PublicColumn, column_of
from dpexp.data.records import read_record_table
from dpexp.problems.softmax import with_random_features

OFFSET, INTERCEPT = "(offset)", "(intercept)"


@dataclass(frozen=True)
class SoftmaxModel:
    """Weights [classes, p] that were released, and the legend that the problem gave them."""

    weights: np.ndarray
    legend: Mapping[str, Any]

    @property
    def columns(self) -> list[PublicColumn]:
        return [column_of(column) for column in self.legend["columns"]]

    @property
    def on_own_scale(self) -> bool:
        """Whether every weight belongs to a column; random features and pixels belong to none."""
        return bool(self.columns) and self.legend["random_features"] is None

    @property
    def formula(self) -> str:
        if not self.on_own_scale:
            return f"score = sum of entry times coefficient + {INTERCEPT}, in entries of the prepared record"
        sum_of_values = f"({OFFSET} + sum of value times coefficient)"
        return f"score = {sum_of_values} / |x| + {INTERCEPT}, |x| the norm of the scaled record"

    @property
    def names(self) -> list[str]:
        """What the coefficients of a class are called, in the order of `coefficients`."""
        if self.on_own_scale:
            return [*(name for column in self.columns for name in column.entries), OFFSET, INTERCEPT]
        kind = "pixel or feature" if self.legend["random_features"] is None else "random feature"
        return [*(f"{kind} {k}" for k in range(self.weights.shape[1] - 1)), INTERCEPT]

    @property
    def coefficients(self) -> np.ndarray:
        """Of every class, in the user's own units, float64 [classes, names]."""
        weights = np.asarray(self.weights, np.float64)
        inner, intercept = weights[:, :-1], weights[:, -1:] * self.legend["bias"]
        if not self.on_own_scale:
            return np.concatenate([inner, intercept], axis=1)
        low, high = np.array([limits for column in self.columns for limits in column.entry_limits]).T
        scaled = inner / (high - low)
        offset = 0.0 - (scaled * low).sum(axis=1, keepdims=True)
        return np.concatenate([scaled, offset, intercept], axis=1)

    def probabilities(self, table: object) -> tuple[np.ndarray, list[str]]:
        """Of every class for every record of a table [n, classes], and how many have none, which is NaN, and why.

        Raises UsageError where a column is not there.
        """
        if not self.columns:
            raise UsageError("this model did not learn from a table, so a table cannot be predicted")
        read = read_record_table(table)
        read.header.require([column.name for column in self.columns], read.where)
        # prepared by the lines by which the records were: a record's norm is its own
        features = prepare(encode_features(read, self.columns)[0])
        if (count := self.legend["random_features"]) is not None:
            features = with_random_features(features, count)
        scores = np.asarray(features, np.float64) @ np.asarray(self.weights, np.float64).T
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        unreadable = unread(read, self.columns)
        shares[list(unreadable)] = np.nan
        return shares, losses(read, unreadable, "have no prediction")
