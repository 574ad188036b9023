"""The search for the worst pair at length, against values of independent scripts, and memories on wide sets.

    python -m tests.campaigns.worst_pairs [--seconds S]

Every setting of the sheet is searched anew for S seconds of CPU time (20 by default) under its own and under other
samplings, and certified. The campaign prints a table and fails if a value is below the reference by more than 1e-4 of
it (2e-3 for convex losses, whose slope is found to 2e-3) or below today's pair.
"""

from __future__ import annotations

import argparse
import sys
import time

from dpexp.privacy.exact.memory import Memory
from dpexp.privacy.exact.projected_run import ProjectedRun
from dpexp.privacy.pairs.search import nothing, search
from dpexp.privacy.pairs.stated import NotCertified, certified, evaluated

DELTA = 1e-5
SEARCHED = {
    "A": (ProjectedRun("fixed-size", 1000, 100, 1000, 5.0, 1.0, True), 0.0742),
    "B": (ProjectedRun("fixed-size", 1000, 100, 100_000, 5.0, 1.0, True), 0.04406),
    "D": (ProjectedRun("full-batch", 100, 100, 100_000, 5.0, 1.0, True), 0.44716),
    "E": (ProjectedRun("fixed-size", 5, 1, 1000, 1.0, 1.0, True), 3.00147),
    "G": (ProjectedRun("fixed-size", 100, 10, 200, 5.0, 1.0, True), 0.7217),
    "H": (ProjectedRun("fixed-size", 500, 10, 2000, 8.0, 3.0, True), 1.2086),
    "I": (ProjectedRun("fixed-size", 50, 10, 500, 3.0, 0.5, True), 0.2577),
    "G, Poisson": (ProjectedRun("poisson", 100, 10, 200, 5.0, 1.0, True), 0.6291),
    "I, Poisson": (ProjectedRun("poisson", 50, 10, 500, 3.0, 0.5, True), 0.2439),
    "A, convex": (ProjectedRun("fixed-size", 1000, 100, 1000, 5.0, 1.0, True, True), 0.0315),
    "G, convex": (ProjectedRun("fixed-size", 100, 10, 200, 5.0, 1.0, True, True), 0.3613),
}
MEMORIES = (
    (0.01, 1.0, 1000, 0.21, 11, 0.940),
    (0.01, 0.7, 3000, 0.875, 9, 2.125),
    (0.01, 0.7, 3000, 0.31, 41, 4.717),
    (0.01, 0.7, 3000, 0.138, 121, 5.127),
)
"""q, z, T, step, cells, epsilon of the sheet on a set of this width, with another step"""


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.worst_pairs")
    parser.add_argument("--seconds", type=float, default=20.0)
    seconds = parser.parse_args(words).seconds
    failed = False
    for name, (space, reference) in SEARCHED.items():
        times = 1.5 if space.half_width > 5 else 1.0
        found = 0.0
        for pair in reversed(search(space, DELTA, times * seconds, time.process_time)):
            try:
                found = certified(pair, space).eps
                break
            except NotCertified as error:
                print(f"{name}: {error}")
        today = evaluated(nothing(space, DELTA), space, DELTA)
        wrong = found < max(today * (1 - 1e-6), reference * (1 - (2e-3 if space.convex else 1e-4)))
        failed |= wrong
        print(f"{name}: {today:.5f} -> {found:.5f}, reference {reference:g}{'  BELOW' if wrong else ''}", flush=True)
    for q, z, steps, step, cells, reference in MEMORIES:
        found = Memory(q, 0.99 / z, step, cells, steps).pair.eps(DELTA)
        failed |= found < reference
        print(f"memory q = {q:g}, z = {z:g}, T = {steps}, {12 * cells} units: {found:.4f}, reference {reference:g}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
