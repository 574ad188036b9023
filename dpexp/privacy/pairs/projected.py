"""A pair of neighbours for a mechanism in one dimension: what the others do, where the run starts, and the record."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from dpexp.privacy.exact.projected_run import ProjectedRun
from dpexp.privacy.exact.update import Drift, Update, affine, constant

ROUNDING = 1e-12
"""relative room for the rounding of products at the clip"""


class NotAllowed(ValueError):
    """A pair breaks the clip, leaves the set, or is not convex where it has to be."""


@dataclass(frozen=True)
class Pair:
    """What the others do, where the run starts, and the record: in parts of the half width and of the reach."""

    knots: tuple[float, ...]
    """places, from -1 to 1"""
    values: tuple[float, ...]
    """the others' drift there, linear between, from -1 to 1"""
    start: float
    """from -1 to 1"""
    record: float = 1.0
    """1 or -1: the record's drift; the neighbour has the opposite one, or no record"""
    delta: float = 1e-5
    """at which it was searched for"""

    def complaint(self, run: ProjectedRun) -> str:
        """Why these are not neighbours of that mechanism; empty if they are. Piecewise linear: the knots are enough."""
        knots, values = self.knots, self.values
        if len(knots) != len(values) or len(knots) < 2 or (knots[0], knots[-1]) != (-1.0, 1.0):
            return "the drift has one value at each knot from wall to wall"
        if not all(a < b for a, b in pairwise(knots)):
            return "knots increase"
        if not (all(abs(v) <= 1 for v in values) and abs(self.start) <= 1 and abs(self.record) == 1):
            return "a drift is longer than the clip allows, or the start is outside of the set"
        if run.convex and len(set(values)) > 1:
            return "convex losses of one curvature have a linear part alone"
        if run.convex and run.room <= 0:
            return "the curvature leaves no room for a linear part"
        return ""

    def updates(self, run: ProjectedRun) -> tuple[Update, Update]:
        """The two neighbours' runs. Raises NotAllowed where the clip or convexity does not hold."""
        if wrong := self.complaint(run):
            raise NotAllowed(wrong)
        h, u = run.half_width, run.reach
        if run.convex:
            others = affine(-run.bend, self.values[0] * run.room, h)
            own, opposite = (affine(-run.bend, s * self.record * run.room, h) for s in (1, -1))
        else:
            others = Drift(tuple(k * h for k in self.knots), tuple(v * u for v in self.values))
            own, opposite = constant(self.record * u), constant(-self.record * u)
        if max(d.largest for d in (others, own, opposite)) > u * (1 + ROUNDING):
            raise NotAllowed("a drift is longer than the clip allows")
        w, at = run, self.start * h
        runs = [
            Update(w.sampling, w.n, w.batch_size, w.steps, h, others, record, 0, at)
            for record in (own, opposite if w.replaced else None)
        ]
        return runs[0], runs[1]

    def text(self, run: ProjectedRun) -> str:
        """The pair in words."""
        against = "the opposite one" if run.replaced else "none"
        sign = "" if self.record > 0 else "-"
        begin = f"the run starts at {self.start:.3g} h"
        if run.convex:
            drift = f"{self.values[0] * self.record:.3g} times its gradient"
            bend = " beside their curvature" if run.bend else ""
            return (
                f"one dimension: the record's loss is linear, against {against}; all others have {drift}{bend}; {begin}"
            )
        listed = ", ".join(f"{v:.2g}" for v in self.values)
        return (
            f"one dimension, [-h, h]: the record's step is {sign}eta C / b against {against}; the others' steps over "
            f"eta C are, linear between {len(self.values)} places from wall to wall, {listed}; {begin}"
        )
