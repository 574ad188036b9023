"""`hidden-state`: the privacy loss of the last iterate without convexity, on a bounded set."""

from pathlib import Path

from dpexp.papers.hidden_state.hidden_state_claims import CHECKS
from dpexp.papers.hidden_state.hidden_state_figures import FIGURES
from dpexp.reporting.paper import Paper, declared_paper

PAPER = Paper(
    id="hidden-state",
    title="Privacy loss of noisy stochastic gradient descent might converge even for non-convex losses",
    authors="Shahab Asoodeh, Mario Diaz",
    **declared_paper(Path(__file__).with_name("paper.yaml"), "hidden-state", CHECKS, FIGURES),
)
