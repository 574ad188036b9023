"""What an exact law leaves open: its rounding, and which case is named where several are equal but for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

EXACT = "exact law: error below 1e-9"
ROUNDING = 1e-9
"""relative error of the exact laws, which is no violation"""


def case_of(ratios: Mapping[str, float], end: Callable[[Iterable[float]], float] = min) -> str:
    """The first case whose ratio is the least, or with `max` the largest, up to `ROUNDING`.

    Where several are equal but for rounding, which of them is the least depends on the machine, and the words of a
    verdict must not. Raises ValueError where there is no case.
    """
    value = end(ratios.values())
    near = (name for name, ratio in ratios.items() if math.isclose(ratio, value, rel_tol=ROUNDING))
    return next(near, next(iter(ratios)))  # none is near a NaN
