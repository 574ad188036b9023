"""`hidden-state`: the privacy loss of the last iterate without convexity, on a bounded set."""

from dpexp.papers.hidden_state import memory
from dpexp.papers.hidden_state.claims import CHECKS
from dpexp.papers.hidden_state.figures import FIGURES
from dpexp.reporting.paper import Paper, in_captions, in_rows, in_words

PAPER = Paper(
    id="hidden-state",
    title="Privacy loss of noisy stochastic gradient descent might converge even for non-convex losses",
    authors="Shahab Asoodeh, Mario Diaz",
    bibliography={
        "archiveprefix": "arXiv",
        "eprint": "2305.09903",
        "year": "2023",
        "note": "reproduced from the slides",
    },
    claims=in_rows(__file__, CHECKS | memory.CHECKS),
    figures=in_captions(__file__, "hidden-state", FIGURES | memory.FIGURES),
    **in_words(__file__),
)
