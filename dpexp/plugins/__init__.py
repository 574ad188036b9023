"""Plug-ins: one value `PLUGIN` in a Python file lists what the file adds to dpexp."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpexp.algorithms.algorithm import Algorithm
    from dpexp.algorithms.schedules import Schedule
    from dpexp.privacy.analyses.analysis import Analysis
    from dpexp.privacy.budgets import Budget
    from dpexp.privacy.mechanisms.mechanism import Mechanism
    from dpexp.problems.laws import ColumnKind, ErrorKind
    from dpexp.problems.problem import Problem
    from dpexp.problems.weights import Weight
    from dpexp.theory.theorem import Theorem


@dataclass(frozen=True)
class Plugin:
    """Everything that one file adds, by name. All of it is optional."""

    problems: Mapping[str, type[Problem]] = field(default_factory=dict)
    algorithms: Mapping[str, type[Algorithm]] = field(default_factory=dict)
    schedules: Mapping[str, type[Schedule]] = field(default_factory=dict)
    weights: Mapping[str, type[Weight]] = field(default_factory=dict)
    columns: Mapping[str, ColumnKind] = field(default_factory=dict)
    errors: Mapping[str, ErrorKind] = field(default_factory=dict)
    budgets: Mapping[str, type[Budget]] = field(default_factory=dict)
    mechanisms: Mapping[str, type[Mechanism]] = field(default_factory=dict)
    analyses: Mapping[str, Callable[[Mechanism], Analysis]] = field(default_factory=dict)  # by mechanism/analysis
    theorems: Mapping[str, Theorem] = field(default_factory=dict)
    metrics: Mapping[str, Callable[[Any, Any], Any]] = field(default_factory=dict)  # of parameters and problem
    papers: tuple[Any, ...] = ()
    figures: tuple[Any, ...] = ()  # as tables and claims, those that belong to no paper of the plug-in
    tables: tuple[Any, ...] = ()
    claims: tuple[Any, ...] = ()
    inputs: tuple[str, ...] = ()
    """files that its code reads, besides the Python files of its folder: paths or patterns from there"""
