"""`answers`: questions that the papers leave open, and what the laboratory finds."""

from dpexp.papers.answers import bins, extrapolation, kinks
from dpexp.reporting.paper import Paper

PAPER = Paper(
    id="answers",
    title="Open questions of differentially private SGD, answered by exact laws and runs",
    authors="dpexp",
    claims=(*bins.CLAIMS, *extrapolation.CLAIMS, *kinks.CLAIMS),
    figures=(bins.FIGURE, extrapolation.FIGURE, kinks.FIGURE),
    configs=(extrapolation.NAME, kinks.NAME),
)
