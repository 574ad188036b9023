"""`dpexp privacy CONFIG runs=10 shape=1`: what it costs to keep the best of a random number of a config's runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.commands.mechanism_arguments import number, values_of
from dpexp.core.errors import UsageError
from dpexp.core.text import up
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.analyses.private_selection import (
    LOOSE,
    MOST_RUNS,
    MOST_SHAPE,
    NumberOfRuns,
    curve_of_run,
    law,
    looseness,
    selection,
)

if TYPE_CHECKING:
    from dpexp.privacy.mechanisms.released import Released

KEYS = ("runs", "shape")


LOOSELY = (
    "This is far from tight: the only Renyi curve that is proved for one of these runs, from which the theorem starts, "
    "gives {times:.1f} times the epsilon of the run's own analysis. Of batches drawn into bins none is "
    "proved but that of batches that everybody knows; sampling: poisson has a tight one."
)


class Best(NamedTuple):
    """The price of keeping the best of so many runs, each of a setting that is drawn uniformly."""

    settings: int
    drawn: NumberOfRuns
    relation: str
    analysis: Analysis
    loose: float
    """how many times what a run's best analysis states its Renyi curve states, of the settings the largest"""

    def document(self, deltas: Sequence[float]) -> dict[str, Any]:
        """For programs."""
        shape = None if math.isinf(self.drawn.shape) else self.drawn.shape
        return {
            "settings": self.settings,
            "runs": self.drawn.runs,
            "shape": shape,
            "law": law(self.drawn.shape),
            "neighboring_relation": self.relation,
            "looseness": self.loose,
            **self.analysis.statement(deltas),
        }

    def text(self, deltas: Sequence[float]) -> str:
        """A paragraph."""
        eps = ", ".join(f"epsilon = {up(self.analysis.eps(delta))} at delta = {delta:g}" for delta in deltas)
        loose = f" {LOOSELY.format(times=self.loose)}" if self.loose > LOOSE else ""
        which = f"each of one of {self.settings} settings drawn uniformly" if self.settings > 1 else "of one setting"
        return (
            f"Choosing: the best of K runs, K random with mean {self.drawn.runs:g} ({law(self.drawn.shape)}), {which}, "
            f"gives away {eps} (neighbours: {self.relation}; {self.analysis.source}). Holds if "
            f"{'; '.join(self.analysis.assumptions)}. This config does not run such a search: it runs every setting. "
            f"A section tune: runs one.{loose}"
        )


def number_of_runs_among(words: Sequence[str]) -> tuple[list[str], NumberOfRuns | None]:
    """What else is given, and the law of the number of runs; None where it is not asked for."""
    mine = [word for word in words if word.partition("=")[0] in KEYS and "=" in word]
    # What is left is the config's path.
    rest = [word for word in words if word not in mine]
    if not mine:
        return rest, None
    given = values_of(mine)
    if "runs" not in given:
        raise UsageError("shape is that of the number of runs, whose mean is missing", "for instance runs=10 shape=1")
    shape = given.get("shape", math.inf)
    # Shapes 0 and inf have names: logarithmic and Poisson numbers of runs.
    ends = isinstance(shape, int | float) and not isinstance(shape, bool) and shape in (0, math.inf)
    runs = number("runs", given["runs"], 1, MOST_RUNS)
    return rest, NumberOfRuns(runs, float(shape) if ends else number("shape", shape, 0, MOST_SHAPE))


def best_of(
    path: Path, mechanisms: Mapping[str, Released], local: int, settings: int, drawn: NumberOfRuns, delta: float
) -> Best:
    """From the largest of the settings' Renyi curves: which setting a run drew may be known to the adversary."""
    relations = {mechanism.neighboring_relation for mechanism in mechanisms.values()}
    if local or not mechanisms:
        raise UsageError(f"{path}: the price of choosing is stated of central runs, not of local mechanisms")
    # A curve of one relation says nothing of neighbours in another.
    if len(relations) > 1:
        raise UsageError(f"{path}: the settings have different neighbours, so no statement holds of the best of them")
    curves = [_curve(path, label, mechanism) for label, mechanism in mechanisms.items()]
    # The largest at every order bounds whichever setting was drawn.
    analysis = selection(
        lambda order: max(curve(order) for curve in curves),
        drawn.runs,
        drawn.shape,
        "the largest Renyi curve of the settings",
        (),
    )
    loose = max(
        looseness(mechanism.analyses(), curve, delta)
        for mechanism, curve in zip(mechanisms.values(), curves, strict=True)
    )
    return Best(settings, drawn, relations.pop(), analysis, loose)


def _curve(path: Path, label: str, mechanism: Released) -> Callable[[float], float]:
    """The least of a mechanism's Renyi curves. Raises UsageError where it has none."""
    curve = curve_of_run(mechanism.analyses())
    if curve is None:
        raise UsageError(
            f"{path}: no Renyi curve is proved for '{label}', and the price of choosing is known from one alone",
            "sampling poisson or fixed-size has one, and so have full batches",
        )
    return curve
