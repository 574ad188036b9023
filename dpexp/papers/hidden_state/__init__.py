"""`hidden-state`: the privacy loss of the last iterate without convexity, on a bounded set."""

from dpexp.papers.hidden_state.claims import CLAIMS
from dpexp.papers.hidden_state.figure import HIDDEN_STATE_FIGURE
from dpexp.reporting.paper import Paper

PAPER = Paper(
    id="hidden-state",
    title="Privacy loss of noisy stochastic gradient descent might converge even for non-convex losses",
    authors="Shahab Asoodeh, Mario Diaz",
    claims=CLAIMS,
    figures=(HIDDEN_STATE_FIGURE,),
)
