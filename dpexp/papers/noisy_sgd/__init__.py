"""`noisy-sgd`: the privacy loss of the last iterate of projected noisy SGD on convex losses stops growing."""

from pathlib import Path

from dpexp.papers.noisy_sgd.claims import lower, upper
from dpexp.papers.noisy_sgd.noisy_sgd_figures import FIGURES
from dpexp.reporting.paper import Paper, declared_paper

CHECKS = {**lower.CHECKS, **upper.CHECKS}
PAPER = Paper(
    id="noisy-sgd",
    title="Privacy of noisy stochastic gradient descent: more iterations without more privacy loss",
    authors="Jason M. Altschuler, Kunal Talwar",
    **declared_paper(Path(__file__).with_name("paper.yaml"), "noisy-sgd", CHECKS, FIGURES),
)
