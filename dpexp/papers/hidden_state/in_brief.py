"""`hidden-state` for a reader who has two minutes."""

HEADLINES = {
    "hidden-state/main": "On a bounded set the bound on the last iterate's privacy loss holds without convexity.",
}
"""claims to begin with, each with what it found in one sentence"""
