"""`momentum` for a reader who has two minutes."""

HEADLINES = {
    "momentum/equation-3/reshuffled": (
        "With a fresh order in every epoch, what Algorithm 2 adds up is not the momentum that it stands for."
    ),
}
"""claims to begin with, each with what it found in one sentence"""
