"""`noisy-sgd` for a reader who has two minutes."""

HEADLINES = {
    "noisy-sgd/theorem-1-3/stops": (
        "On a bounded set and with convex losses, the privacy loss of the last iterate stops growing."
    ),
    "noisy-sgd/theorem-3-1/conditions": (
        "Inside its conditions, the paper's bound (3.6) on the last iterate holds as it is printed."
    ),
}
"""claims to begin with, each with what it found in one sentence"""
