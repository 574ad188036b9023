"""`inference`: private regression with confidence intervals, and how often the intervals of the literature hold."""

from dpexp.papers.inference.figure import COVERAGE_FIGURE, SIZES_FIGURE
from dpexp.papers.inference.rows import EXPERIMENTS
from dpexp.papers.inference.table import COVERAGE_TABLE, SLOPES_TABLE
from dpexp.reporting.paper import NotClaimed, Paper

NOT_CLAIMED = (
    NotClaimed(
        "Coverage",
        "Intervals cover their target as often as they promise",
        "the coverage table says for every setting and method whether they do",
    ),
)

PAPER = Paper(
    id="inference",
    title="Private regression with confidence intervals that hold",
    authors="dpexp",
    figures=(COVERAGE_FIGURE, SIZES_FIGURE),
    tables=(COVERAGE_TABLE, SLOPES_TABLE),
    configs=EXPERIMENTS,
    not_claimed=NOT_CLAIMED,
)
