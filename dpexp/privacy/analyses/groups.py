"""What several records are promised together by an analysis of one: by the law of their own steps, or by conversion."""

from __future__ import annotations

from functools import cache, partial

from dpexp.accounting.curve import Curve, Group
from dpexp.accounting.steps import attained_by_steps, curve_of_steps
from dpexp.privacy.accounting.group_losses import of_group
from dpexp.privacy.analyses.analysis import ALL, Analysis
from dpexp.privacy.analyses.composition import GROUPS, POISSON
from dpexp.privacy.attained.lower_bounds import LowerBound


def group_profile(analysis: Analysis, size: int) -> Curve | None:
    """What `size` records are promised together by the law of their own steps; None where that is not proved.

    It is of Poisson sampling with coins for every record in every step, and of records that are there or not. Where
    public groups take turns, records of different groups meet different steps.
    """
    return curve_of_steps(of_group(analysis.steps, size)) if _own_law(analysis) else None


def _own_law(analysis: Analysis) -> bool:
    sampled = POISSON in analysis.assumptions and GROUPS not in analysis.assumptions
    return sampled and bool(analysis.steps) and all(step.scheme == "add-remove" for step, _ in analysis.steps)


def promised_together(analysis: Analysis, size: int) -> Curve | Group:
    """Of `size` records, 1 for one: by the law of their own steps where that is known, else by conversion."""
    if size == 1:
        return analysis.curve
    return group_profile(analysis, size) or Group(analysis.curve, size)


def attained_together(analysis: Analysis, size: int) -> list[LowerBound]:
    """What `size` records attain by the law of their own steps: constant gradients, all of them there or none."""
    if size == 1 or not _own_law(analysis):
        return []
    pair = f"constant gradients: those of {size} records against none"
    eps = cache(partial(attained_by_steps, of_group(analysis.steps, size)))
    return [LowerBound("exact-composition", ALL, pair, eps)]
