"""Pairs of neighbours that a search found: what the last iterate attains at least on a bounded set in one dimension."""
