"""Statements of `ldp-sgd`, one function each."""
