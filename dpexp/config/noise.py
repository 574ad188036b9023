"""Whether a cell adds noise for privacy: what shares noise, repeats itself or states a guarantee hangs on it."""

from __future__ import annotations

import math

from dpexp.config.cells import Cell


def is_noisy(cell: Cell) -> bool:
    """False for a twin without noise, and for a budget of inf: neither states a guarantee."""
    mu = cell.privacy.mu.constant
    return (mu is None or math.isfinite(mu)) and bool(cell.algorithm.model_dump().get("noise", True))
