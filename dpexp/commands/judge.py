"""`dpexp judge`: compare a stated bound on privacy with exact laws, or a convergence rate with runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dpexp.config.error_messages import validated
from dpexp.config.yamlfile import Position, with_place
from dpexp.core.errors import UsageError
from dpexp.core.terminal import tell
from dpexp.privacy.judge import answer as privacy
from dpexp.privacy.judge.answer import Verdict
from dpexp.privacy.judge.bound import StatedBound, from_function, from_names, place_of, read_file
from dpexp.privacy.judge.setting import Assumes
from dpexp.reporting.rate_bounds import COMPARISONS, NAME, RateAssumptions, RateBound


def judge(
    bound: Callable[..., Any] | Path | str, assumes: Mapping[str, Any] | None = None, *, at: str | None = None,
    seconds: float = privacy.SECONDS, seed: int = 0, comparisons: int | None = None,
) -> Verdict:  # fmt: skip
    """Judge a bound of a file or function: of privacy, by exact laws; or a rate `param_distance_sq`, by simulations.

    Of a search, or of the one point `at`. Deterministic given the seed, unless `seconds` run out first.
    """
    if not (seconds > 0 and (comparisons is None or comparisons >= 1) and seed >= 0):
        raise UsageError("--seconds and --comparisons are above 0, --seed is 0 or more")
    names = dict[str, Any]()
    if isinstance(bound, Path | str):
        names, place = read_file(Path(bound))
        function, assumed, file = names.get(NAME), names.get("ASSUMES"), str(bound)
    else:
        function, assumed = bound if getattr(bound, "__name__", "") == NAME else None, assumes
        file, place = place_of(bound)
    if not isinstance(assumed, Mapping) and (assumed is not None or not callable(function)):
        message = f"ASSUMES is a dict, not {type(assumed).__name__}" if assumed is not None else "there is no ASSUMES"
        raise UsageError(f"{file}:{place}: {message}", 'for instance {"sampling": "poisson", ...}')
    values = with_place({"ASSUMES": assumed or {}}, Position(file, place, 1))
    if callable(function):
        stated = StatedBound(function, NAME, *place_of(function))
        rate = RateBound(stated, validated(RateAssumptions, values, ("ASSUMES",)))
        return rate.rerun(at, seed) if at is not None else rate.judge(seconds, seed, comparisons or COMPARISONS)
    declared = validated(Assumes, values, ("ASSUMES",))
    law = from_function(bound, declared) if callable(bound) else from_names(Path(bound), names, declared)
    if at is not None:
        tell("the exact law at that point, and again by finer means")
        return privacy.rerun(law, at)
    laws = comparisons or privacy.COMPARISONS
    tell(f"comparing the bound with up to {laws:,} exact laws, for {seconds:g} s at most")
    return privacy.judge(law, seconds, seed, laws)
