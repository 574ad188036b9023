"""`momentum` for a reader who has two minutes."""

HEADLINES = {
    "momentum/equation-3/reshuffled": "With reshuffled epochs, Algorithm 2's sum is not the momentum it stands for.",
}
"""claims to begin with, each with what it found in one sentence that fits a line of a terminal"""

WHAT_TO_KNOW = (
    (
        "Algorithm 1 with the noise of Theorem 4 is private, with alpha of at least 1/N, a quarter of an epoch or"
        " more, and delta of at most exp(-eps), which the statement leaves out or turns round."
    ),
    (
        "Algorithm 2 needs the L that its box leaves out and Lemma 7 has: with 2 L eta N its noise is enough, in "
        "any order, for one epoch or more."
    ),
    (
        "Algorithm 2 adds up the momentum only if one order repeats in every epoch (`order: fixed` in dpexp); "
        "with fresh orders, as printed, equation (3) fails."
    ),
    (
        "The bounds on the gradient norm hold and are above the trivial one in all our runs; that of Algorithm 2 "
        "becomes the smaller one far beyond any data set."
    ),
    (
        "With alpha = 1/N, as both theorems prescribe, and all else tuned, noisy gradient descent with full "
        "batches ends with smaller gradients than Algorithm 2."
    ),
)
"""for a reader who will use the paper"""
