"""The words in which a claim can end, and how many seeds give each verdict: `python -m tests.campaigns.other_seeds`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from dpexp.core.errors import ResultsMissing
from dpexp.core.files import MOST_OF_DOCUMENT, read_ordinary

Verdict = Literal[
    "reproduced", "holds as a bound", "not at this sample size", "misleading", "misprint", "false", "not testable"
]  # fmt: skip
"""misleading: true in a sense that readers will not take; misprint: false as printed, and plainly not what is meant"""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
WRONG = ("false", "misprint", "misleading")
"""what does not hold as printed"""


@cache
def seeds(results: Path) -> dict[str, str]:
    """By the id of a claim, how many of five seeds give its verdict; empty where it was not measured.

    Raises ResultsMissing for a damaged file.
    """
    path = results / "seeds.json"
    try:
        return {str(claim): str(words) for claim, words in json.loads(read_ordinary(path, MOST_OF_DOCUMENT)).items()}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        hint = "restore it, or run: python -m tests.campaigns.other_seeds"
        raise ResultsMissing(f"{path} is damaged ({type(error).__name__})", hint) from None
