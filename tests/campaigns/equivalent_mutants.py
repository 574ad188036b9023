"""Mutants of code that change nothing which a test could tell, each with the reason."""

EQUIVALENT: dict[tuple[str, str, str], str] = {}
"""(file, line before, line after) -> why no test can notice it"""
