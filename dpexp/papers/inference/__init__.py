"""`inference`: private regression with confidence intervals, and how often the intervals of the literature hold."""

from dpexp.papers.inference.coverage import COVERAGE_FIGURE, COVERAGE_TABLE, EXPERIMENTS
from dpexp.reporting.paper import Paper, in_words

PAPER = Paper(
    id="inference",
    title="Private regression with confidence intervals that hold",
    authors="dpexp",
    figures=(COVERAGE_FIGURE,),
    tables=(COVERAGE_TABLE,),
    configs=EXPERIMENTS,
    **in_words(__file__),
)
