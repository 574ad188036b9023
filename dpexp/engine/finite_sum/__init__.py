"""Runs on a finite sum of smooth losses, with the noise designs of private momentum."""
