"""Statements of `dp-sgld` (Ryffel, Bach, Pointcheval), one function each: plain numbers in, a bound out."""
