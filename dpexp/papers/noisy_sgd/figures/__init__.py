"""Figures of `noisy-sgd`, one file for each figure or family."""
