"""What the smallest corruption is that each claim's check would notice: measured by `make mutants`, read here."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

POWER = Path("results/power.json")
"""a sentence for every claim that was tried, by the claim's id"""


def noticed(claim_id: str) -> str | None:
    """The sentence of a claim; None where the file or the claim is not there."""
    return _sentences(POWER).get(claim_id)


@cache
def _sentences(path: Path) -> dict[str, str]:
    return dict(json.loads(path.read_text())) if path.is_file() else {}
