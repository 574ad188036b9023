"""`inference`: private regression with confidence intervals, and how often the intervals of the literature hold."""

from pathlib import Path

from dpexp.papers.inference.coverage import COVERAGE_TABLE, EXPERIMENTS, FIGURES
from dpexp.reporting.paper import Paper, declared_paper

PAPER = Paper(
    id="inference",
    title="Private regression with confidence intervals that hold",
    authors="dpexp",
    tables=(COVERAGE_TABLE,),
    configs=EXPERIMENTS,
    **declared_paper(Path(__file__).with_name("paper.yaml"), "inference", None, FIGURES),
)
