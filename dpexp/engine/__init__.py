"""Loops, kernels and blocks of random numbers, one room for each shape of computation."""
