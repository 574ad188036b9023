"""Balls in bins against Poisson batches: certified brackets of epsilon at many settings, as a table.

    python -m tools.scan_balls_in_bins FILE.csv [t,t,..] [z,z,..] [E,E,..]    computes FILE.csv; a quarter of an hour
    python -m tools.scan_balls_in_bins --summary FILE.csv                     in how many settings it is worse

A line for every (t, z, E, delta): t batches of an epoch, E epochs, noise z over one record's norm. Columns name the end
of a bracket: `bins` or `poisson`; `remove` and `add` are the two orders of the add-remove pair, `replace` is one
record replaced; `low` is attained and `high` holds. All iterates are released. `mu2` is E (exp(1 / z^2) - 1) / t, the
square of what both are in the limit of many small steps. What lies beyond the reach of a program is left empty.
"""

from __future__ import annotations

import csv
import math
import sys
import time
from collections.abc import Iterator

from dpexp.accounting.allocation import EpochLoss, losses_of
from dpexp.accounting.compose import ComposedLoss, TooWide
from dpexp.accounting.curve import Side
from dpexp.accounting.loss_steps import REACHES, StepLoss, grid

BATCHES = (2, 4, 8, 16, 32, 64, 128, 256, 1024)
NOISES = (0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
EPOCHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
DELTAS = tuple(10.0**-k for k in range(2, 13))
NEGLIGIBLE = 1e-5
"""part of delta that losses beyond the reach may take"""
SIDES: tuple[Side, Side] = ("below", "above")
ORDERS = ("remove", "add", "replace")
ENDS = [f"{scheme}_{order}_{end}" for scheme in ("bins", "poisson") for order in ORDERS for end in ("low", "high")]


def of_bins(loss: EpochLoss, epochs: int, delta: float) -> dict[str, tuple[float, float]]:
    """Brackets of every order of the neighbours."""
    try:
        below, above = (losses_of(loss.times(epochs), side) for side in SIDES)
        pairs = zip(("remove", "add"), below, above, strict=True)
        found = {name: (low.eps(delta), high.eps(delta)) for name, low, high in pairs}
    except TooWide:
        return {}
    return {**found, "replace": (max(low for low, _ in found.values()), loss.times(epochs).eps_of_replaced(delta))}


def of_poisson(step: StepLoss, opposite: StepLoss, steps: int, delta: float) -> dict[str, tuple[float, float]]:
    """The same of Poisson batches."""
    replaced = opposite.times(steps).attained(delta), opposite.times(steps).eps(delta)
    for reach in REACHES:
        if steps * step.beyond(reach) <= NEGLIGIBLE * delta:
            interval = grid(step.spread, step.top(reach), steps)
            try:
                low, high = (
                    [
                        ComposedLoss([(law, steps)], interval, side).eps(delta)
                        for law in step.laws(interval, reach, side)
                    ]
                    for side in SIDES
                )
            except TooWide:
                continue
            return {"remove": (low[0], high[0]), "add": (low[1], high[1]), "replace": replaced}
    return {"replace": replaced}


def lines(batches: int, noise: float, epochs: list[int]) -> Iterator[list[str]]:
    """The lines of one kind of epoch, whose law is computed once."""
    loss = EpochLoss(1 / noise, batches)
    step, opposite = (StepLoss(1 / batches, noise, scheme) for scheme in ("add-remove", "replace-one"))
    for times in epochs:
        mu2 = times * math.expm1(noise**-2) / batches
        for delta in DELTAS:
            found = {
                f"{scheme}_{order}_{end}": value
                for scheme, sides in (
                    ("bins", of_bins(loss, times, delta)),
                    ("poisson", of_poisson(step, opposite, batches * times, delta)),
                )
                for order, pair in sides.items()
                for end, value in zip(("low", "high"), pair, strict=True)
            }
            cells = [f"{found[name]:.7g}" if name in found else "" for name in ENDS]
            yield [str(batches), f"{noise:g}", str(times), f"{delta:.0e}", f"{mu2:.6g}", *cells]


def main(path: str, *given: str) -> None:
    chosen = [[float(v) for v in text.split(",")] for text in given]
    batches, noises, epochs = (*chosen, *(BATCHES, NOISES, EPOCHS)[len(chosen) :])
    began = time.time()
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["t", "z", "E", "delta", "mu2", *ENDS])
        for noise in noises:
            for t in batches:
                writer.writerows(lines(int(t), noise, [int(e) for e in epochs]))
                file.flush()
                print(f"t = {t:g}, z = {noise:g}: {time.time() - began:.0f} s", file=sys.stderr)


def summary(path: str) -> str:
    """For every delta: settings, how many are certified on either side, and the two of the least relative distance."""
    import pandas as pd

    known = pd.read_csv(path).dropna(subset=["bins_remove_low", "poisson_remove_low"])
    orders = ["remove", "add"]
    (bins_low, bins_high), (low, high) = (
        [known[[f"{scheme}_{order}_{end}" for order in orders]].max(axis=1) for end in ("low", "high")]
        for scheme in ("bins", "poisson")
    )
    known = known.assign(worse=bins_low > high, better=bins_high < low, eps=high, ratio=bins_low / high)
    lines = ["| delta | settings | worse | better | open | least epsilon where worse |", "|---|---|---|---|---|---|"]
    for delta, of in sorted(known.groupby("delta"), reverse=True):
        least = of[of.worse & (of.eps > 1)].nsmallest(1, "eps").iloc[0]
        found = f"{least.eps:.4g} (t = {least.t:g}, z = {least.z:g}, E = {least.E:g}; mu^2 = {least.mu2:.4g})"
        counts = len(of), of.worse.sum(), of.better.sum(), (~of.worse & ~of.better).sum()
        lines.append(" | ".join([f"| {delta:.0e}", *(f"{count:,}" for count in counts), f"{found} |"]))
    return "\n".join(lines)


if __name__ == "__main__":
    print(summary(sys.argv[2])) if sys.argv[1] == "--summary" else main(*sys.argv[1:])
