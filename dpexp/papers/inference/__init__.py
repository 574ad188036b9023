"""`inference`: private regression with confidence intervals, and how often the intervals of the literature hold."""

from dpexp.papers.inference.coverage import COVERAGE_TABLE, EXPERIMENTS, FIGURES
from dpexp.reporting.paper import Paper, in_captions, in_words

PAPER = Paper(
    id="inference",
    title="Private regression with confidence intervals that hold",
    authors="dpexp",
    figures=in_captions(__file__, "inference", FIGURES),
    tables=(COVERAGE_TABLE,),
    configs=EXPERIMENTS,
    **in_words(__file__),
)
