"""`ldp-sgd` for a reader who has two minutes."""

HEADLINES = {
    "ldp-sgd/table-1/strong/asgd/below-half": (
        "With steps i^-alpha, alpha below 1/2, the squared error of LDP-ASGD does not fall like 1/n, as Table 1 prints."
    ),
    "ldp-sgd/table-1/strong/asgd/corrected": (
        "The squared error of LDP-ASGD falls like n^-min(1, 2 alpha), on both sides of alpha = 1/2."
    ),
}
"""claims to begin with, each with what it found in one sentence"""
