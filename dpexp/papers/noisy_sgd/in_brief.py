"""`noisy-sgd` for a reader who has two minutes."""

HEADLINES = {
    "noisy-sgd/theorem-1-3/stops": "Convex losses, bounded set: the last iterate's privacy loss stops growing.",
    "noisy-sgd/theorem-3-1/conditions": "Inside its conditions, bound (3.6) on the last iterate holds as printed.",
}
"""claims to begin with, each with what it found in one sentence that fits a line of a terminal"""

WHAT_TO_KNOW = (
    (
        "The main result stands: for convex losses on a bounded set the privacy loss of the last iterate stops "
        "growing with the number of steps."
    ),
    (
        "Inside the conditions of Theorem 3.1 the bound (3.6) holds as printed; outside, S_alpha has to be taken "
        "over both orders of the neighbours (`iteration-symmetrised` in dpexp), since the printed one is "
        "exceeded."
    ),
    "Where there is privacy the loss stops earlier than T-bar = D n / (L eta), after about (D / (eta sigma))^2 steps.",
    (
        "The matching lower bound is proved, with the constants of its proof, only where nothing is private; exact "
        "laws are within a constant of the upper bound down to theta = 2 L D / (n eta sigma^2) of about 1."
    ),
    (
        "Clipped gradients are gradients of convex losses for generalised linear models; a clipped step of "
        "another convex loss can expand, and the theorems do not cover it."
    ),
)
"""for a reader who will use the paper"""
