"""What a plug-in is: one value `PLUGIN` in a Python file, which says what the file adds to dpexp.

A reproduction of ours is the same thing: `dpexp.papers` lists papers, and a plug-in may bring some of its own.

Papers, figures, tables and claims are drawn and settled on a higher floor, from results that are stored. Loading a
plug-in needs no more of them than what they are called, and that is what the three interfaces below say. What they
really are is a `dpexp.reporting.paper.Paper`, `dpexp.reporting.figure.Figure`, `dpexp.reporting.table.Table` and
`dpexp.reporting.claim.Claim`. `dpexp.papers` looks at each of them before anybody uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dpexp.algorithms.algorithm import Algorithm
    from dpexp.algorithms.schedules import Schedule
    from dpexp.privacy.analyses.analysis import Analysis
    from dpexp.privacy.budgets import Budget
    from dpexp.privacy.mechanisms.mechanism import Mechanism
    from dpexp.problems.problem import Problem
    from dpexp.theory.theorem import Theorem


class Shown(Protocol):
    """A figure or a table."""

    @property
    def name(self) -> str: ...


class Settled(Protocol):
    """A claim."""

    @property
    def id(self) -> str: ...


class Reproduction(Protocol):
    """A paper: what it is called, and what it holds."""

    @property
    def id(self) -> str: ...

    @property
    def claims(self) -> Sequence[Settled]: ...

    @property
    def figures(self) -> Sequence[Shown]: ...

    @property
    def tables(self) -> Sequence[Shown]: ...

    @property
    def overlays(self) -> Mapping[str, Shown]: ...


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
    papers: tuple[Reproduction, ...] = ()
    figures: tuple[Shown, ...] = ()
    """figures, tables and claims that belong to no paper of the plug-in"""
    tables: tuple[Shown, ...] = ()
    claims: tuple[Settled, ...] = ()
