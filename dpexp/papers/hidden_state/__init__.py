"""`hidden-state`: the privacy loss of the last iterate without convexity, on a bounded set."""

from dpexp.papers.hidden_state import memory
from dpexp.papers.hidden_state.attained_map import ATTAINED_MAP, ATTAINED_MAP_FIGURE
from dpexp.papers.hidden_state.claims import CLAIMS
from dpexp.papers.hidden_state.figure import HIDDEN_STATE_FIGURE
from dpexp.papers.hidden_state.in_brief import HEADLINES, WHAT_TO_KNOW
from dpexp.papers.hidden_state.memory_figure import MEMORY_WIDTH
from dpexp.reporting.paper import NotClaimed, Paper

NOT_CLAIMED = (
    NotClaimed(
        "Title",
        "The loss might converge even for non-convex losses",
        "the slides' answer, converges, says it without the might",
    ),
    NotClaimed(
        "Noisy-SGD with hidden states",
        "The algorithm, from Feldman et al. (2018)",
        "a definition; its noise is noise-scale",
    ),
    NotClaimed(
        "Previous work, both slides",
        "Renyi parameters converge for strongly convex and for convex losses",
        "other papers' results; `noisy-sgd` has the second",
    ),
    NotClaimed(
        "Main result",
        "DP-SGD with Clip, and theta as a function of (dia + 2 eta C) / sigma",
        "definitions; the bound that they make is main, and their sigma is noise-scale",
    ),
    NotClaimed(
        "Main result",
        "Proof idea: a coupled non-linear data processing inequality",
        "the proof is not on the slides; the result is judged",
    ),
    NotClaimed(
        "Figure",
        "Curves of delta against T",
        "the text of the slides has its parameters and no number; it is drawn again from the formula",
    ),
)

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
    headlines=HEADLINES,
    what_to_know=WHAT_TO_KNOW,
    claims=(*CLAIMS, *memory.CLAIMS),
    not_claimed=NOT_CLAIMED,
    figures=(HIDDEN_STATE_FIGURE, MEMORY_WIDTH, ATTAINED_MAP_FIGURE),
    tables=(ATTAINED_MAP,),
)
