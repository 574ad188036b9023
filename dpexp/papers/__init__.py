"""PAPERS: the reproductions, and what they add up to: all claims, figures and tables by name."""

from __future__ import annotations

from dpexp.core.registry import Registry
from dpexp.papers.dp_sgld import PAPER as DP_SGLD
from dpexp.papers.hidden_state import PAPER as HIDDEN_STATE
from dpexp.papers.ldp_sgd import PAPER as LDP_SGD
from dpexp.papers.momentum import PAPER as MOMENTUM
from dpexp.papers.noisy_sgd import PAPER as NOISY_SGD
from dpexp.reporting.claim import Claim
from dpexp.reporting.figure import Figure
from dpexp.reporting.paper import Paper
from dpexp.reporting.table import Table

PAPERS: Registry[Paper] = Registry(
    "paper", {paper.id: paper for paper in (LDP_SGD, NOISY_SGD, HIDDEN_STATE, DP_SGLD, MOMENTUM)}
)


def claims() -> dict[str, tuple[Claim, ...]]:
    """The claims of every paper, by its id."""
    return {paper.id: paper.claims for paper in PAPERS.values()}


def figures() -> dict[str, Figure]:
    """Every figure by its name."""
    return {figure.name: figure for paper in PAPERS.values() for figure in paper.figures}


def overlays() -> dict[str, Figure]:
    """The figures that can be drawn with theory laid over them, by the name of the plain figure."""
    return {name: figure for paper in PAPERS.values() for name, figure in paper.overlays.items()}


def tables() -> dict[str, Table]:
    """Every table by its name."""
    return {table.name: table for paper in PAPERS.values() for table in paper.tables}
