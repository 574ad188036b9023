"""`answers`: questions that the papers leave open, and what the laboratory finds."""

from dpexp.papers.answers import bins, extrapolation, kinks, private_regime
from dpexp.reporting.paper import Paper, in_captions, in_rows, in_words

PAPER = Paper(
    id="answers",
    title="Open questions of differentially private SGD, answered by exact laws and runs",
    authors="dpexp",
    claims=in_rows(__file__, bins.CHECKS | extrapolation.CHECKS | kinks.CHECKS | private_regime.CHECKS),
    figures=in_captions(
        __file__, "answers", {**bins.FIGURES, **extrapolation.FIGURES, **kinks.FIGURES, **private_regime.FIGURES}
    ),
    configs=(extrapolation.NAME, kinks.NAME),
    **in_words(__file__),
)
