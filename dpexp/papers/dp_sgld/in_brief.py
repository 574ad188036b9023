"""`dp-sgld` for a reader who has two minutes."""

HEADLINES = {
    "dp-sgld/theorem-3-1": "The privacy bound of DP-SGLD does not hold for mini-batches.",
    "dp-sgld/table-1/privacy": "The published DP-SGLD runs on CIFAR-10 are not (1, 1e-5)-private.",
}
"""claims to begin with, each with what it found in one sentence"""
