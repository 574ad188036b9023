"""Accounting of the noise of private momentum: binary trees, streams of noise, and the privacy loss of the iterates."""
