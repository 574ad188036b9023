"""What programs that took turns say of each other."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

HEAD = f"{'ratio':>8}{'from':>8}{'to':>8}"


def columns(pairs: Sequence[tuple[float, float]], digits: int) -> str:
    """Medians of ours and of theirs, then how many times as fast ours was: median, least and largest of all turns."""
    mine, theirs = (statistics.median(pair[k] for pair in pairs) for k in (0, 1))
    ratios = sorted(pair[1] / pair[0] for pair in pairs)
    shown = f"{mine:>10.{digits}f}{theirs:>10.{digits}f}"
    return f"{shown}{statistics.median(ratios):>8.2f}{ratios[0]:>8.2f}{ratios[-1]:>8.2f}"
