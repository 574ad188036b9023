"""Is balls in bins never worse than Poisson batches? Certified brackets of both, and the law of small steps.

A record is in one of t batches of each of E epochs, or in each batch with probability 1 / t; the noise is z, all sums are
released, and a record is removed. With v = (e^(1/z^2) - 1) / t, the chi-square divergence of an epoch of balls in bins, and
mu^2 = E v, both are mu-Gaussian private in the limit of small v. The next term is, for fixed mu and epsilon,

    epsilon of bins - epsilon of Poisson = u (1 - epsilon / mu^2) + o(v),  u = (1 - 1/t) v (mu / 2) r(epsilon / mu + mu / 2),

r the hazard of the normal law: bins is worse below epsilon = mu^2 and better above (docs/answers.md derives it).
"""

from __future__ import annotations

import math
from functools import cache, cached_property, partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpexp.accounting.allocation import ATOMS, REACH, Atoms
from dpexp.accounting.epochs import EpochLoss, epoch_loss
from dpexp.accounting.grid import UNIT
from dpexp.accounting.steps import step_loss
from dpexp.core.elementary import erfcx_of
from dpexp.core.roots import narrow
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing
from dpexp.reporting.row import above, near

CROSSED = ((2, 1.0, 100, 1e-2), (4, 1.0, 100, 1e-2), (10, 2.0, 1000, 1e-2), (4, 1.0, 1000, 1e-5), (4, 1.0, 1000, 1e-12))
"""(t, z, E, delta) at which balls in bins has the larger epsilon"""
TOLD = ((2, 1.0, 1), (2, 0.5, 1), (10, 1.0, 1), (100, 1.0, 1), (100, 0.5, 1), (100, 1.0, 10), (10, 2.0, 20))
"""(t, z, E) at which membership is told"""
REPLACED = ((1.0, 1, 1e-2), (1.0, 1, 1e-5), (2.0, 1, 1e-5), (2.0, 10, 1e-5), (1.0, 100, 1e-10))
"""(z, E, delta) of two batches, where a record is replaced"""
CELLS = 2000
"""of one batch, where a record is replaced"""
KINDS = ((64, 1.0), (16, 2.0), (16, 1.0), (4, 1.0))
"""(t, z) of the figure; v falls from the last to the first two"""
SMALL = KINDS[:2]
TOTALS = (1.0, 4.0, 16.0, 36.0)
"""mu^2"""
DELTAS = (0.1, 1e-2, 1e-3, 1e-4, 1e-5)
NEAR, FAR = 0.15, 2.6
"""epsilon / mu^2 at which the limit is held beside brackets: at least so far from 1, and at most so large"""


class Compared(NamedTuple):
    """Brackets of epsilon for a removed record, which has the larger one of Poisson batches too."""

    t: int
    z: float
    epochs: int
    delta: float
    mu: float
    bins: tuple[float, float]
    poisson: tuple[float, float]

    @property
    def ratio(self) -> float:
        """epsilon / mu^2, of Poisson batches."""
        return sum(self.poisson) / 2 / self.mu**2

    @property
    def scaled(self) -> tuple[float, float]:
        """A bracket of the difference over u: 1 - epsilon / mu^2 in the limit."""
        # u of the law above, with v = mu^2 / E
        unit = (1 - 1 / self.t) * self.mu**3 / (2 * self.epochs) * _hazard((self.ratio + 0.5) * self.mu)
        return (self.bins[0] - self.poisson[1]) / unit, (self.bins[1] - self.poisson[0]) / unit


def _hazard(at: float) -> float:
    """phi(x) / Phi(-x)."""
    return math.sqrt(2 / math.pi) / erfcx_of(at / math.sqrt(2))


@cache
def compared(kinds: tuple[tuple[int, float], ...]) -> tuple[Compared, ...]:
    """Both schemes for every kind of epoch, mu and delta."""
    found = []
    for (t, z), total, delta in product(kinds, TOTALS, DELTAS):
        v = math.expm1(z**-2) / t
        epochs = round(total / v)
        bins = epoch_loss(1 / z, t).sides(epochs, delta)["remove"]
        step, steps = step_loss(1 / t, z, "add-remove"), t * epochs
        poisson = step.attained(steps, delta), step.eps(steps, delta)
        found.append(Compared(t, z, epochs, delta, math.sqrt(epochs * v), bins, poisson))
    return tuple(found)


def crossed() -> dict[str, float]:
    """What balls in bins attains over what Poisson batches have at most: epsilon, a record added or removed."""
    return {
        f"t = {t}, z = {z:g}, E = {epochs:,}, delta = {delta:g}": epoch_loss(1 / z, t).attained(epochs, delta)
        / step_loss(1 / t, z, "add-remove").eps(t * epochs, delta)
        for t, z, epochs, delta in CROSSED
    }


def told() -> dict[str, float]:
    """The same of the advantage, delta at epsilon = 0."""
    return {f"t = {t}, z = {z:g}, E = {epochs}": _advantages(t, z, epochs) for t, z, epochs in TOLD}


def _advantages(t: int, z: float, epochs: int) -> float:
    """Attained with balls in bins over the largest of Poisson batches."""
    loss, most = epoch_loss(1 / z, t), step_loss(1 / t, z, "add-remove").delta(t * epochs, 0.0)
    # the advantage is at least every delta at which an epsilon above 0 is attained
    return narrow(lambda delta: loss.attained(epochs, delta) <= 0, 0.0, 1.0, halvings=30).below / most


class Opposite(EpochLoss):
    """Two batches of an epoch, the record's gradient C against -C, from below: rectangles of both sums, merged."""

    @cached_property
    def dominated(self) -> Atoms:
        from scipy.special import ndtr

        far = self.mu + REACH
        # rectangles of both sums are outcomes of a coarser release, which can only tell less
        x = np.linspace(-far, far, CELLS + 1)
        up, none, down = (
            np.concatenate(
                [[ndtr(x[0] - m)], np.where(x[1:] <= m, np.diff(ndtr(x - m)), -np.diff(ndtr(m - x))), [ndtr(m - x[-1])]]
            )
            for m in (self.mu, 0.0, -self.mu)
        )
        p, q = ((np.outer(one, none) + np.outer(none, one)).ravel() / 2 for one in (up, down))
        losses = np.log(p) - np.log(q)
        cell = ((losses - losses.min()) * (ATOMS / np.ptp(losses))).astype(np.int64)
        masses = np.bincount(cell, p), np.bincount(cell, q)
        # a lower bound may leave out what has no finite loss
        seen = (masses[0] > 0) & (masses[1] > 0)
        return Atoms(masses[0][seen], masses[1][seen], UNIT * (8 + 8 / (x[1] - x[0]) + len(p)))


def replaced() -> dict[str, float]:
    """What a replaced record attains with balls in bins over the most with Poisson batches: two batches of an epoch."""
    return {
        f"t = 2, z = {z:g}, E = {epochs}, delta = {delta:g}": Opposite(1 / z, 2).attained(epochs, delta)
        / step_loss(0.5, z, "replace-one").eps(2 * epochs, delta)
        for z, epochs, delta in REPLACED
    }


def small_steps() -> dict[str, tuple[float, float]]:
    """1, and the scaled difference over its limit, where v is small."""
    found = {}
    for one in compared(SMALL):
        if abs(1 - one.ratio) >= NEAR and one.ratio <= FAR:
            label = f"t = {one.t}, z = {one.z:g}, E = {one.epochs:,}, delta = {one.delta:g}"
            found[label] = (1.0, sum(one.scaled) / 2 / (1 - one.ratio))
    return found


def draw(results: Path) -> Drawing:
    """The scaled difference against epsilon / mu^2: brackets, and the line of the limit."""
    import pandas as pd

    canvas, (axes,) = style.panels(6.4, 4.6, log=False)
    records = []
    for (t, z), colour in zip(KINDS, ("#2b6cb8", "#2a9d6f", "#d98c00", "#a50f4c"), strict=True):
        of = [one for one in compared(KINDS) if (one.t, one.z) == (t, z) and one.ratio <= FAR]
        middles = [sum(one.scaled) / 2 for one in of]
        halves = [(one.scaled[1] - one.scaled[0]) / 2 for one in of]
        label = f"t = {t}, z = {z:g}, v = {math.expm1(z**-2) / t:.2g}"
        axes.errorbar([one.ratio for one in of], middles, halves, fmt="o", markersize=3.5, color=colour, label=label)
        records += [{**one._asdict(), "ratio": one.ratio, "low": one.scaled[0], "high": one.scaled[1]} for one in of]
    axes.plot([0.5, FAR], [0.5, 1 - FAR], color="#555555", linewidth=1.2, label="limit of small v")
    axes.axhline(0, color="#555555", linewidth=0.8, linestyle=":")
    axes.annotate("balls in bins is worse", (FAR, 0.05), ha="right", va="bottom", fontsize=8)
    axes.annotate("Poisson is worse", (FAR, -0.05), ha="right", va="top", fontsize=8)
    axes.set(xlabel=r"$\epsilon / \mu^2$", ylabel=r"difference of $\epsilon$, in units of $u$")
    axes.set_title("Balls in bins against Poisson batches")
    axes.legend(frameon=False, fontsize=8)
    return Drawing(canvas, pd.DataFrame(records))


CERTIFIED = "loss distributions: bins rounded down, Poisson rounded up"
FIGURES = {"bins_against_poisson": (draw, ())}
worse = partial(above, uncertainty=CERTIFIED, what="bins attained / Poisson certified", held="reproduced")
CHECKS = {
    "answers/bins/epsilon": worse(crossed, "settings with a larger epsilon"),
    "answers/bins/advantage": worse(told, "settings with a larger advantage"),
    "answers/bins/replaced": worse(replaced, "settings with a larger epsilon"),
    "answers/bins/small-steps": near(
        small_steps, 0.3, "difference of epsilon over its limit", uncertainty="brackets, about 0.03 of the unit wide",
    ),
}  # fmt: skip
