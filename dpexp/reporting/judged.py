"""The outcome that exact laws give: is a bound ever below the exact value, and how far above is it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from dpexp.core.text import counted
from dpexp.reporting.claim import Outcome

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


def size_of(value: float, least: float = ROUNDING) -> str:
    """A number near 0 in words: below `least` it is rounding, whose digits depend on the machine."""
    return f"{value:.1g}" if abs(value) >= least else f"less than {least:g}"


def at_least_exact(
    ratios: Mapping[str, float],
    predicted: str,
    setting: str = "",
    uncertainty: str = EXACT,
    what: str = "bound / exact",
) -> Outcome:
    """From bound / exact by case: one value below 1 contradicts the bound. Raises ValueError where there is no case."""
    worst = case_of(ratios)
    violated = [name for name, ratio in ratios.items() if not ratio >= 1 - ROUNDING]
    measured = f"{what}: {ratios[worst]:.3g} ({worst}) to {max(ratios.values()):.3g}"
    measured += f" in {counted(len(ratios), 'comparison')}"
    measured += f"; {setting}" if setting else ""
    if violated:
        measured += f"; exceeded in {len(violated)} of {len(ratios)}"
    return Outcome(
        "false" if violated else "holds as a bound",
        predicted,
        measured,
        uncertainty,
        {"least": ratios[worst], "most": max(ratios.values()), "cases": len(ratios), "violated": violated},
    )
