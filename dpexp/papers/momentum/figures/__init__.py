"""Figures of `momentum`, one file for each figure or family."""
