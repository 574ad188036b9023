"""`hidden-state` for a reader who has two minutes."""

HEADLINES = {
    "hidden-state/main": "Non-convex losses, bounded set: the last iterate's privacy bound holds.",
}
"""claims to begin with, each with what it found in one sentence that fits a line of a terminal"""

WHAT_TO_KNOW = (
    (
        "The answer is yes: for clipped losses on a bounded set, convex or not, the bound on delta converges as "
        "the number of steps grows, and no exact law exceeds it."
    ),
    (
        "The noise has to be read as sigma Z: the slides print a standard deviation of sigma^2, and take lengths "
        "over sigma."
    ),
    "At the parameters of the figure, composition of the same mechanism is the smaller bound for the first 10^5 steps.",
    (
        "Composition of the last steps with contraction before them is a bound without convexity, too (`hybrid` "
        "in dpexp)."
    ),
    (
        "Without convexity hidden state hides less: the last iterate can tell more than that of linear losses, "
        "and on a wide set most of what composition allows."
    ),
)
"""for a reader who will use the paper"""
