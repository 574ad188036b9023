"""Mutants of code that change nothing which a test could tell, each with the reason."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "dpexp/reporting/slopes.py",
        "slope = float(weights @ np.log(mean))",
        "slope = (weights @ np.log(mean))",
    ): "numpy's float64 is a float, with the same value and the same text",
}
"""(file, line before, line after) -> why no test can notice it"""
