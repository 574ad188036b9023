"""Figures of `ldp-sgd`, one file for each figure or family."""
