"""Exact laws of noisy SGD in one dimension, from the literal update of every sampling scheme: what judges the analyses.

Nothing here imports an analysis of `dpexp.privacy`, so that a bound and its judge cannot share a mistake.
"""
