"""How the columns of a table become the numbers that a model learns from: public, and kept beside what is released.

A column of numbers is one entry, as it is or scaled by a range that is known without the records. A column of
categories is one 0/1 entry for each of them. Nothing here looks at more than one record, so what is trained on and what
is predicted later go through the same lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dpexp.data.columns import words


class Column(NamedTuple):
    """One column of a table."""

    name: str
    limits: tuple[float, float] | None = None
    """the stated range of a column of numbers, if there is one"""
    levels: tuple[str, ...] | None = None
    """the categories of a column that has them, in the order of their entries"""

    @property
    def entries(self) -> list[str]:
        """Names of its entries: the column's own, or one for each category."""
        return [self.name] if self.levels is None else [f"{self.name}={level}" for level in self.levels]

    def encoded(self, column: Any) -> np.ndarray:
        """Its values, a column of a frame, as float32 [n, entries]."""
        if self.levels is not None:
            same: np.ndarray = words(column).to_numpy(dtype=object)[:, None] == np.array(self.levels, dtype=object)
            return same.astype(np.float32)
        values = column.to_numpy(np.float64)[:, None]
        if self.limits is not None:
            low, high = self.limits
            values = np.clip((values - low) / (high - low), 0, 1)
        return np.asarray(values, dtype=np.float32)

    def document(self) -> dict[str, Any]:
        """As JSON keeps it; `column_of` reads it back."""
        return {"name": self.name, "limits": self.limits, "levels": self.levels}


def column_of(document: Mapping[str, Any]) -> Column:
    """The column that `Column.document` wrote."""
    limits, levels = document["limits"], document["levels"]
    return Column(
        str(document["name"]),
        None if limits is None else (float(limits[0]), float(limits[1])),
        None if levels is None else tuple(map(str, levels)),
    )
