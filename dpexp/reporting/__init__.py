"""Figures and tables of any experiment, claims and their evidence, statistics, and privacy statements."""
