"""The outcome that exact laws give: is a bound ever below the exact value, and how far above is it."""

from __future__ import annotations

from collections.abc import Mapping

from dpexp.reporting.claim import Outcome

EXACT = "exact law: error below 1e-9"
ROUNDING = 1e-9
"""relative error of the exact laws, which is no violation"""


def at_least_exact(
    ratios: Mapping[str, float],
    predicted: str,
    setting: str = "",
    uncertainty: str = EXACT,
    what: str = "bound / exact",
) -> Outcome:
    """From bound / exact by case: one value below 1 contradicts the bound. Raises ValueError where there is no case."""
    worst = min(ratios, key=lambda name: ratios[name])
    violated = [name for name, ratio in ratios.items() if not ratio >= 1 - ROUNDING]
    measured = f"{what}: {ratios[worst]:.3g} ({worst}) to {max(ratios.values()):.3g} in {len(ratios)} comparisons"
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
