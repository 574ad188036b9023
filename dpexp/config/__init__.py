"""Configs and run cards: files that become experiments and cards, with everything that is wrong said at its place.

Importing the package loads nothing: a card needs no algorithm. `experiment_file` reads configs.
"""
