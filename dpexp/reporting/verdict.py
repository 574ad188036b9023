"""The words in which a claim can end, and how far each verdict can be trusted.

That is the smallest corruption that its check would notice, and other seeds: measured by `make mutants` and by
`python -m tests.campaigns.other_seeds`, read here.
"""

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


FILES = ("seeds.json", "power.json")
"""of a results folder: how many of five seeds gave a claim's verdict, and what it would notice, by the claim's id"""


def power_and_seeds(results: Path, claim_id: str) -> str | None:
    """The sentences of a claim; None where no file has it."""
    known = [_sentences(results / name) for name in FILES]
    return "; ".join(said[claim_id] for said in known if claim_id in said) or None


@cache
def _sentences(path: Path) -> dict[str, str]:
    try:
        return {str(claim): str(said) for claim, said in json.loads(read_ordinary(path, MOST_OF_DOCUMENT)).items()}
    # nobody has measured it here
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise ResultsMissing(
            f"{path} is damaged ({type(error).__name__})", "restore it, or run: make mutants"
        ) from None
