"""The census records of `adult` as a table of six columns, for the worked example of private regression.

python -m dpexp.data.census census.csv
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.data.adult import CATEGORIES, FILE

NUMBERS = {"age": 0, "education": 1, "hours": 4}
"""places among the stored numbers: years, levels of schooling from 1 to 16, hours of work a week"""


def census(path: Path = FILE) -> Any:
    """A frame of 48,842 persons: three numbers, two categories, and whether the income is above 50,000 dollars."""
    import pandas as pd

    with np.load(path) as stored:
        numbers, codes, labels = stored["numbers"], stored["codes"], stored["labels"]
    kinds = list(CATEGORIES)
    sex = np.array(["", *CATEGORIES["sex"]])[codes[:, kinds.index("sex")]]
    spouse = 1 + CATEGORIES["marital-status"].index("Married-civ-spouse")
    columns: dict[str, Any] = {name: numbers[:, place] for name, place in NUMBERS.items()}
    married = np.where(codes[:, kinds.index("marital-status")] == spouse, "yes", "no")
    return pd.DataFrame({**columns, "sex": sex, "married": married, "over_50k": labels})


def main() -> None:
    census().to_csv(sys.argv[1], index=False)


if __name__ == "__main__":
    main()
