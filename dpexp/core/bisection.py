"""Halving an interval between where something fails and where it holds.

Whoever asks decides which end to keep, and with it the direction of rounding: a number that is stated as a guarantee is
taken from the end where the condition was seen to hold, one that is stated as attained from the end where it was seen
to be exceeded. Nothing that is returned is interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple


class Narrowed(NamedTuple):
    """The two ends of an interval that holds a threshold."""

    below: float
    """the number next to the threshold at which the condition was found not to hold"""
    above: float
    """the number next to it at which the condition was found to hold"""


def narrow(
    holds: Callable[[float], bool],
    below: float,
    above: float,
    *,
    relative: float = 0.0,
    absolute: float = 0.0,
    halvings: int = 200,
) -> Narrowed:
    """Halve [below, above] until it is at most `absolute` + `relative` |above| wide, or so many times.

    `holds` is taken to be false at `below` and true at `above`, which may be the smaller number of the two; it is asked
    at neither. 200 halvings leave 1e-60 of any interval: more than the digits of a number, and an end to the search for
    a threshold that is next to 0, where a relative tolerance is never met. Stops as well where no number lies between
    the ends, so that both tolerances may be 0.
    """
    for _ in range(halvings):
        if abs(above - below) <= absolute + relative * abs(above):
            break
        middle = (below + above) / 2
        if middle in (below, above):
            break
        below, above = (below, middle) if holds(middle) else (middle, above)
    return Narrowed(below, above)


def first_whole(holds: Callable[[int], bool], below: int, above: int) -> int:
    """The smallest whole number above `below` at which `holds` is true; `above` where it is not found before.

    `holds` is false up to some number and true from there on.
    """
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def first_reached(
    score: Callable[[int], float], below: int, above: int, guess: float | None = None, slope: float = 0.0
) -> int:
    """`first_whole` of score >= 0 for a score that is nearly straight: its last two values say where to ask.

    (a) From a guess on, with a slope where one is known, the line through the last two scores says where it is 0.
    (b) What is asked lies between the ends, so that every question leaves less.
    (c) Three such questions that do not halve what is left are followed by the middle, so that a score of any shape
    takes at most four times as many as halving.
    """
    low, high, last, crossing = below, above, (0, math.nan), guess
    left, since = high - low, 0
    while high - low > 1:
        # (c)
        if crossing is None or since == 3:
            crossing = (low + high) / 2
        # (b); the crossing is cut first, because that of a flat line may be larger than any whole number
        k = min(max(math.ceil(min(max(crossing, low), high)), low + 1), high - 1)
        found = score(k)
        low, high = (low, k) if found >= 0 else (k, high)
        left, since = (high - low, 0) if 2 * (high - low) <= left else (left, since + 1)
        # (a); a slope that is not positive says nothing of where the score is 0
        if math.isfinite(found - last[1]):
            slope = (found - last[1]) / (k - last[0])
        crossing, last = k - found / slope if slope > 0 and math.isfinite(found) else None, (k, found)
    return high
