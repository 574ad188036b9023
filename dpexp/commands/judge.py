"""`dpexp judge`: compare a stated bound on privacy with exact laws, or a convergence rate with runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.terminal import tell
from dpexp.privacy.judge import answer as privacy
from dpexp.privacy.judge.answer import Verdict
from dpexp.privacy.judge.bound import StatedBound, from_names, read_file
from dpexp.reporting.rate_bounds import COMPARISONS, NAME, Rate


def judge(
    bound: Callable[..., Any] | Path | str, assumes: Mapping[str, Any] | None = None, *, at: str | None = None,
    seconds: float = privacy.SECONDS, seed: int = 0, comparisons: int | None = None,
) -> Verdict:  # fmt: skip
    """Judge a bound of a file or function: of privacy, by exact laws; or a rate `param_distance_sq`, by simulations.

    Of a search, or of the one point `at`. Deterministic given the seed, unless `seconds` run out first.
    """
    if not (seconds > 0 and (comparisons is None or comparisons >= 1) and seed >= 0):
        raise UsageError("--seconds and --comparisons are above 0, --seed is 0 or more")
    function: Any
    if isinstance(bound, Path | str):
        names, lines = read_file(Path(bound))
        function, file, line = names.get(NAME), str(bound), lines.get(NAME, 1)
        assumed, place = names.get("ASSUMES", {}), lines.get("ASSUMES", 1)
        law: Any = None if callable(function) else from_names(Path(bound), names, lines)
    else:
        function, assumed = bound, assumes or {}
        law = None if getattr(bound, "__name__", "") == NAME else bound
        file, line = ("", 0) if law is not None else (bound.__code__.co_filename, bound.__code__.co_firstlineno)
        place = line
    if law is None:
        rate = Rate(StatedBound(function, NAME, file, line), assumed, place)
        return rate.rerun(at, seed) if at is not None else rate.judge(seconds, seed, comparisons or COMPARISONS)
    if at is not None:
        tell("the exact law at that point, and again by finer means")
        return privacy.rerun(law, at, assumes)
    laws = comparisons or privacy.COMPARISONS
    tell(f"comparing the bound with up to {laws:,} exact laws, for {seconds:g} s at most")
    return privacy.judge(law, assumes, seconds=seconds, seed=seed, comparisons=laws)
