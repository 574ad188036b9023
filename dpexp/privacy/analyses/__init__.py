"""Analyses, one in a file: each turns a mechanism into a bound, or says why it does not apply."""
