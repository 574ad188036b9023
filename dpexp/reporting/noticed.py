"""What the smallest corruption is that each claim's check would notice: measured by `make mutants`, read here."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from dpexp.core.errors import ResultsMissing
from dpexp.core.files import MOST_OF_DOCUMENT, read_ordinary

POWER = Path("results/power.json")
"""a sentence for every claim that was tried, by the claim's id"""


def noticed(claim_id: str) -> str | None:
    """The sentence of a claim; None where the file or the claim is not there."""
    return _sentences(POWER).get(claim_id)


@cache
def _sentences(path: Path) -> dict[str, str]:
    try:
        return {str(claim): str(said) for claim, said in json.loads(read_ordinary(path, MOST_OF_DOCUMENT)).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise ResultsMissing(
            f"{path} is damaged ({type(error).__name__})", "restore it, or run: make mutants"
        ) from None
