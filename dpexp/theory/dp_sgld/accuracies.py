"""The two errors of an accuracy: over replicates, and of the test records, which are a sample themselves."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dpexp.theory.slopes import t_quantile

NORMAL = 1.959964
"""two-sided 95% quantile of the normal law"""


class Accuracy(NamedTuple):
    """The mean share of correct classifications of `records` test records over `seeds` replicates: other batches, noise
    and start on the same records."""

    mean: float
    se: float
    seeds: int
    records: int

    @property
    def seeds_reach(self) -> float:
        """Half the 95% Student t interval over replicates."""
        return t_quantile(self.seeds - 1) * self.se

    @property
    def test_reach(self) -> float:
        """Half the 95% normal interval from the test records.

        Record i is classified correctly by a share c_i of the replicates, 0 <= c_i <= 1, and the accuracy p is the mean
        of n independent c_i, whose variance is at most p (1 - p), and near that where replicates err on the same ones.
        """
        return NORMAL * math.sqrt(self.mean * (1 - self.mean) / self.records)


def difference(a: Accuracy, b: Accuracy) -> dict[str, Any]:
    """The first less the second in percentage points, with halves of 95% intervals.

    `seeds_reach`: over independent replicates. `reach`: for other test records too, with independent errors, since two
    linear classifiers err on the same records and differ by less. `seeds` and `records`: -1, 0 or 1 for significantly
    lower, undecided, significantly higher, by either.
    """
    gap, seeds = a.mean - b.mean, t_quantile(min(a.seeds, b.seeds) - 1) * math.hypot(a.se, b.se)
    both = math.hypot(seeds, a.test_reach, b.test_reach)
    signs = {name: int(gap > reach) - int(gap < -reach) for name, reach in (("seeds", seeds), ("records", both))}
    return {"difference": 100 * gap, "seeds_reach": 100 * seeds, "reach": 100 * both, **signs}
