"""`dpexp judge`: hold a bound against exact laws."""

from __future__ import annotations

from pathlib import Path

from dpexp.core.errors import UsageError
from dpexp.core.terminal import tell
from dpexp.privacy.judge.verdict import Verdict, judge, rerun


def hold(file: Path, at: str | None, seconds: float, seed: int, comparisons: int) -> Verdict:
    """The verdict on a file's bound: of a search, or of the one point `at`."""
    if at is not None:
        tell("the exact law at that point, and again by finer means")
        return rerun(file, at)
    if not (seconds > 0 and comparisons >= 1 and seed >= 0):
        raise UsageError("--seconds and --comparisons are above 0, --seed is 0 or more")
    tell(f"comparing the bound with up to {comparisons:,} exact laws, for {seconds:g} s at most")
    return judge(file, seconds=seconds, seed=seed, comparisons=comparisons)
