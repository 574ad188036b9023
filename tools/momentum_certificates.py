"""Makes and examines the stored certificates of Algorithm 2 of `momentum`: `python -m tools.momentum_certificates`.

It computes what is missing from the shipped settings (seconds to minutes each), all places of a record at once
(`tools.certify_all_places`), which is exact up to rounding and much faster for long runs than dense algebra
(`tools.momentum_iterates`). `python -m tools.momentum_certificates recheck` examines random positions of what is
stored.
"""

from __future__ import annotations

import json
import math
import sys
import time
from typing import Any

import numpy as np

from dpexp.core.files import digest
from dpexp.privacy.momentum.certificates import STORE, Certificate, MomentumSetting, stored
from dpexp.privacy.momentum.tree_streams import unit_split
from tools.certify_all_places import certify_all
from tools.difference_bound import certified, largest_form
from tools.momentum_iterates import refusal
from tools.solved_forms import COARSE, grams, visits

CLOSE = 1e-4
"""relative residual of the solves that examine a certificate: 1e-3 would lose more than rounding to four digits does"""
ROOM = 8e9
"""bytes: certificates are examined sparingly where the forms of eight places would take more"""

SETTINGS = [
    *((500, epochs, length / 0.75) for epochs in (10, 30, 60, 120) for length in (3, 6)),
    *((2000, epochs, length / 0.75) for epochs in (10, 30, 60) for length in (3, 6)),
    *((8000, epochs, length / 0.75) for epochs in (10, 30, 60) for length in (3, 6)),
    *((1000, epochs, 2.2) for epochs in (2, 3, 4, 6, 8, 12, 16)),
    *((2000, epochs, length / 0.75) for epochs in (120, 160) for length in (3, 6)),
    *((8000, epochs, length / 0.75) for epochs, length in ((120, 3), (120, 6), (160, 3))),
]
"""(N, epochs, path length in units of G / L) of the shipped experiments, and of the wider grids on which their best
settings were found; alpha = 1 / N and gamma as left out"""

GRIDS = [
    *(
        (500, epochs, length, times)
        for epochs, alphas in ((10, (0.125, 0.25, 0.5, 1)), (30, (0.125, 0.25, 0.5, 1)), (60, (0.25, 0.5)))
        for length in (0.375, 0.75, 1.5, 3, 6, 12, 24)
        for times in alphas
    ),
    *((100_000, epochs, length, 3.9) for epochs in (2, 4) for length in (3, 6, 12)),
]
"""the same, and alpha N, of the grids over momentum too; 3.9 is nearly the largest that the recursions allow"""


def default_setting(n: int, epochs: int, length: float, times: float = 1) -> MomentumSetting:
    """alpha = `times` / N, gamma = min(1/2, L eta N / G), and a path of `length` G / L over the epochs."""
    ratio = length / epochs
    return MomentumSetting(n, n * epochs, times / n, min(0.5, ratio), ratio)


def computed(setting: MomentumSetting) -> Certificate | None:
    """The certificate for the split of `unit_split`, from scratch; None where the method does not apply."""
    n, steps, alpha, gamma, ratio = setting
    if min(n, steps) < 1 or refusal(n, alpha, 1.0):
        return None
    stds = unit_split(*setting)
    if refusal(n, alpha, stds[3]):
        return None
    found = certify_all(n, steps, alpha, gamma, np.array(stds), 1.0, ratio)
    weights = tuple(tuple(map(float, some)) for some in found.weights)
    return Certificate(setting, stds, found.mu, found.lower, found.position, weights)


def recheck(held: Certificate, positions: np.ndarray) -> float:
    """The largest bound on mu over some positions, by the stored weights; solved closely where these say more."""
    n, steps, alpha, gamma, ratio = held.setting
    stds, worst = np.array(held.stds), 0.0
    for count in {len(visits(n, steps, int(i))) for i in positions}:
        group = np.array([i for i in positions if len(visits(n, steps, int(i))) == count])
        coarse = grams(n, steps, alpha, gamma, stds, group, COARSE)
        sets = [np.array(w) for w in held.weights if len(w) == 2 * count - 1]
        bounds = np.min([certified(coarse, w, 2.0, 2 * ratio) for w in sets], axis=0)
        close = np.flatnonzero(np.sqrt(bounds) > held.mu)
        if len(close):
            solved = grams(n, steps, alpha, gamma, stds, group[close], CLOSE, whole=True)
            bounds[close] = [largest_form(gram, 2.0, 2 * ratio).upper for gram in solved]
        worst = max(worst, float(bounds.max()))
    return math.sqrt(worst)


def too_large(setting: MomentumSetting) -> bool:
    """Whether the forms of eight places take more than ROOM."""
    return 3 * setting.steps / setting.n * setting.steps * 8 * 8 > ROOM


def recheck_sparingly(held: Certificate, positions: np.ndarray) -> np.ndarray:
    """What the stored weights prove about mu [P] at some places, for runs of whole epochs that are `too_large`.

    A bound above the certified mu says nothing, since the weights were chosen for other places. At the place where mu
    is largest they prove it, neither less nor more.
    """
    from tools.certificates_by_eigenvalues import proved

    n, steps, alpha, gamma, ratio = held.setting
    sets = [np.array(w) for w in held.weights if len(w) == 2 * (steps // n) - 1]
    found = [proved(n, steps, alpha, gamma, np.array(held.stds), 1.0, ratio, w, positions) for w in sets]
    return np.asarray(np.min(found, axis=0))


def write(certificates: list[Certificate]) -> None:
    """Replaces the file."""
    entries = [_entry(c) for c in sorted(certificates, key=lambda c: c.setting)]
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    STORE.write_text(f'{{"sha256": "{digest(entries, 64)}", "entries": [\n{lines}\n]}}\n')


def _entry(c: Certificate) -> dict[str, Any]:
    return {**c.setting._asdict(), "stds": list(c.stds), "mu": c.mu, "lower": c.lower, "position": c.position,
            "weights": [[float(f"{x:.6g}") for x in some] for some in c.weights]}  # fmt: skip


def _examined(held: Certificate, positions: np.ndarray) -> tuple[str, bool]:
    """What is found at some positions, in words, and whether it fits the certificate."""
    if not too_large(held.setting):
        worst = recheck(held, positions)
        return f"at most {worst:.4f}", worst <= held.mu
    bounds = recheck_sparingly(held, np.append(positions[1:], held.position))
    worst, settled = float(bounds[-1]), int((bounds <= held.mu).sum())
    # Ritz values are a little too small, and differ by their tolerance from the lower end of the program
    right = 0.999 * held.lower <= worst <= held.mu
    return f"{worst:.4f} at the worst place, at most the certified mu at {settled} of {len(bounds)}", right


def main(words: list[str]) -> int:
    """Computes what is missing, or examines 8 random positions of every certificate."""
    if words == ["recheck"]:
        rng = np.random.default_rng()
        for held in stored():
            n, steps = held.setting.n, held.setting.steps
            seen, right = _examined(held, rng.choice(n, min(8, n), replace=False))
            print(f"N = {n}, T = {steps}: {seen}, certified {held.mu:.4f}", flush=True)
            if not right:
                return 1
        return 0
    certificates = list(stored())
    for size in [*((*short, 1.0) for short in SETTINGS), *GRIDS]:
        setting = default_setting(*size)
        if any(c.setting == setting for c in certificates):
            continue
        began = time.process_time()
        found = computed(setting)
        if found is not None:
            certificates.append(found)
            write(certificates)
            spent = time.process_time() - began
            print(f"{size}: mu {found.mu}, largest at {found.position}, {spent:.0f} CPU seconds", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
