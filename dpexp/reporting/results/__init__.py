"""Figures and tables of any stored result: what they show is chosen from what varies in its cells."""
