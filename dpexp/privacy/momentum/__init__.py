"""Accounting of the noise of private momentum: binary trees, streams of noise, and what the iterates give away."""
