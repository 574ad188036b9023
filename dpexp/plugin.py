"""What a plug-in is: one value `PLUGIN` in a Python file, which says what the file adds to dpexp.

A reproduction of ours is the same thing: `dpexp.papers` lists papers, and a plug-in may bring some of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpexp.privacy.analyses.analysis import Analysis
    from dpexp.privacy.budgets import Budget
    from dpexp.privacy.mechanisms.mechanism import Mechanism
    from dpexp.protocols import Algorithm, Problem
    from dpexp.reporting.claim import Claim
    from dpexp.reporting.figure import Figure
    from dpexp.reporting.paper import Paper
    from dpexp.reporting.table import Table
    from dpexp.schedules import Schedule
    from dpexp.theory.theorem import Theorem


@dataclass(frozen=True)
class Plugin:
    """Everything that one file adds, by name. All of it is optional."""

    problems: Mapping[str, type[Problem]] = field(default_factory=dict)
    algorithms: Mapping[str, type[Algorithm]] = field(default_factory=dict)
    schedules: Mapping[str, type[Schedule]] = field(default_factory=dict)
    budgets: Mapping[str, type[Budget]] = field(default_factory=dict)
    mechanisms: Mapping[str, type[Mechanism]] = field(default_factory=dict)
    analyses: Mapping[str, Callable[[Mechanism], Analysis]] = field(default_factory=dict)
    """more analyses of mechanisms that are there: `mechanism/analysis` -> a function of the mechanism"""
    theorems: Mapping[str, Theorem] = field(default_factory=dict)
    papers: tuple[Paper, ...] = ()
    figures: tuple[Figure, ...] = ()
    """figures, tables and claims that belong to no paper of the plug-in"""
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
