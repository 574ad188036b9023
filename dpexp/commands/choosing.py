"""`dpexp privacy CONFIG runs=10 shape=1`: what it costs to keep the best of a random number of a config's runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.commands.mechanism_arguments import number, values_of
from dpexp.core.errors import UsageError
from dpexp.core.text import up
from dpexp.privacy.analyses.analysis import ALL, Analysis
from dpexp.privacy.analyses.selection import law, selection

if TYPE_CHECKING:
    from dpexp.privacy.mechanisms.released import Released

KEYS = ("runs", "shape")
MOST_RUNS = 1e9
MOST_SHAPE = 100.0
"""of a law that is not Poisson's, which is the limit of large shapes"""


class Drawn(NamedTuple):
    """The law of the number of runs."""

    runs: float
    """its mean"""
    shape: float
    """of the truncated negative binomial law; inf is Poisson"""


class Best(NamedTuple):
    """The price of keeping the best of so many runs, each of a setting that is drawn uniformly."""

    settings: int
    drawn: Drawn
    relation: str
    analysis: Analysis

    def document(self, deltas: Sequence[float]) -> dict[str, Any]:
        """For programs."""
        shape = None if math.isinf(self.drawn.shape) else self.drawn.shape
        return {
            "settings": self.settings,
            "runs": self.drawn.runs,
            "shape": shape,
            "law": law(self.drawn.shape),
            "neighboring_relation": self.relation,
            **self.analysis.statement(deltas),
        }

    def text(self, deltas: Sequence[float]) -> str:
        """A paragraph."""
        eps = ", ".join(f"epsilon = {up(self.analysis.eps(delta))} at delta = {delta:g}" for delta in deltas)
        which = f"each of one of {self.settings} settings drawn uniformly" if self.settings > 1 else "of one setting"
        return (
            f"Choosing: the best of K runs, K random with mean {self.drawn.runs:g} ({law(self.drawn.shape)}), {which}, "
            f"gives away {eps} (neighbours: {self.relation}; {self.analysis.source}). Holds if "
            f"{'; '.join(self.analysis.assumptions)}. This config does not run such a search: it runs every setting."
        )


def split(words: Sequence[str]) -> tuple[list[str], Drawn | None]:
    """What else is given, and the law of the number of runs; None where it is not asked for."""
    mine = [word for word in words if word.partition("=")[0] in KEYS and "=" in word]
    rest = [word for word in words if word not in mine]
    if not mine:
        return rest, None
    given = values_of(mine)
    if "runs" not in given:
        raise UsageError("shape is that of the number of runs, whose mean is missing", "for instance runs=10 shape=1")
    shape = given.get("shape", math.inf)
    ends = isinstance(shape, int | float) and not isinstance(shape, bool) and shape in (0, math.inf)
    runs = number("runs", given["runs"], 1, MOST_RUNS)
    return rest, Drawn(runs, float(shape) if ends else number("shape", shape, 0, MOST_SHAPE))


def best_of(path: Path, mechanisms: Mapping[str, Released], local: int, settings: int, drawn: Drawn) -> Best:
    """From the largest of the settings' Renyi curves: which setting a run drew may be known to the adversary."""
    relations = {mechanism.neighboring_relation for mechanism in mechanisms.values()}
    if local or not mechanisms:
        raise UsageError(f"{path}: the price of choosing is stated of central runs, not of local mechanisms")
    if len(relations) > 1:
        raise UsageError(f"{path}: the settings have different neighbours, so no statement holds of the best of them")
    curves = [_curve(path, label, mechanism) for label, mechanism in mechanisms.items()]
    analysis = selection(
        lambda order: max(curve(order) for curve in curves),
        drawn.runs,
        drawn.shape,
        "the largest Renyi curve of the settings",
        (),
    )
    return Best(settings, drawn, relations.pop(), analysis)


def _curve(path: Path, label: str, mechanism: Released) -> Callable[[float], float]:
    """The least of a mechanism's Renyi curves. Raises UsageError where it has none."""
    found = [a.rdp for a in mechanism.analyses() if a.valid and a.released == ALL and a.rdp is not None]
    if not found:
        raise UsageError(
            f"{path}: no Renyi curve is proved for '{label}', and the price of choosing is known from one alone",
            "dp-sgd with sampling poisson or full batches has one",
        )
    return lambda order: min(rdp(order) for rdp in found)
