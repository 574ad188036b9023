"""`inference`: private regression with confidence intervals, and how often the intervals of the literature hold."""

from dpexp.papers.inference.figure import COVERAGE_FIGURE, SIZES_FIGURE
from dpexp.papers.inference.rows import EXPERIMENTS
from dpexp.papers.inference.table import COVERAGE_TABLE, SLOPES_TABLE
from dpexp.reporting.paper import Paper, in_words

PAPER = Paper(
    id="inference",
    title="Private regression with confidence intervals that hold",
    authors="dpexp",
    figures=(COVERAGE_FIGURE, SIZES_FIGURE),
    tables=(COVERAGE_TABLE, SLOPES_TABLE),
    configs=EXPERIMENTS,
    **in_words(__file__),
)
