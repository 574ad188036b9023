"""`answers`: questions that the papers leave open, and what the laboratory finds."""

from dpexp.papers.answers import bins, extrapolation, kinks, private_regime
from dpexp.reporting.paper import Paper

PAPER = Paper(
    id="answers",
    title="Open questions of differentially private SGD, answered by exact laws and runs",
    authors="dpexp",
    what_to_know=(
        "Balls in bins and Poisson batches: neither dominates the other, and balls in bins is worse where epsilon < mu^2.",
        "Where a record is replaced, an epsilon of Poisson batches must not be stated for balls in bins.",
        "LDP-SGD extrapolated to step size 0 has its 1/n back, and wins with alpha of 0.5 to 0.6 where privacy noise is large.",
        "At alpha = 1/3 averages are unbiased for medians alone; of the hinge loss nearly all of the error is a bias.",
        "In the private regime noisy SGD's last iterate gives away theta^2 times a variance, where the theorem has theta.",
    ),
    claims=(*bins.CLAIMS, *extrapolation.CLAIMS, *kinks.CLAIMS, *private_regime.CLAIMS),
    figures=(bins.FIGURE, extrapolation.FIGURE, kinks.FIGURE, private_regime.FIGURE),
    configs=(extrapolation.NAME, kinks.NAME),
)
