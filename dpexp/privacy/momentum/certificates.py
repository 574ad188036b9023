"""Which settings of Algorithm 2 of `momentum` are accounted for by their iterates: computed on the spot, or stored.

A certificate says that the iterates are mu-GDP for given deviations of the nodes, over every position of a record. It
holds for other deviations too: more noise in any stream only adds noise to what is released, and the same factor on
all four divides mu. So mu is at most the certificate's times the largest ratio of its deviations to those in use.

Runs of at most MOST_STEPS steps and MOST_VISITS epochs are computed when they are asked for (seconds). Longer ones need
a stored certificate, in `iterates.json` beside this file, whose hash is in `iterates_hash`, so that cells whose noise
rests on it become stale with it. Where there is none the release of all nodes is accounted for, which is always valid.
`python -m dpexp.privacy.momentum.certificates` computes what is missing from the shipped settings (seconds to minutes
each); `python -m dpexp.privacy.momentum.certificates recheck` examines random positions of what is stored.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpexp.privacy.momentum.difference_bound import certified, largest_form
from dpexp.privacy.momentum.iterates_hash import SHA256
from dpexp.privacy.momentum.tree_split import unit_split

STORE, HASH = Path(__file__).with_name("iterates.json"), Path(__file__).with_name("iterates_hash.py")
MOST_STEPS, MOST_VISITS = 2_000, 40
CLOSE = 1e-4
"""relative residual of the solves that examine a certificate: 1e-3 would lose more than rounding to four digits does"""
ROOM = 8e9
"""bytes: certificates are examined sparingly where the forms of eight places would take more"""
SAME = 1e-9
"""relative difference up to which two settings are one, for sizes that went through a config"""

SETTINGS = [
    *((500, epochs, length / 0.75) for epochs in (10, 30, 60, 120) for length in (3, 6)),
    *((2000, epochs, length / 0.75) for epochs in (10, 30, 60) for length in (3, 6)),
    *((8000, epochs, length / 0.75) for epochs in (10, 30, 60) for length in (3, 6)),
    *((1000, epochs, 2.2) for epochs in (3, 4, 6, 8, 12, 16)),
    *((2000, epochs, length / 0.75) for epochs in (120, 160) for length in (3, 6)),
    *((8000, epochs, length / 0.75) for epochs, length in ((120, 3), (120, 6), (160, 3))),
]
"""(N, epochs, path length in units of G / L) of the shipped experiments; alpha = 1 / N and gamma as left out"""

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


class Setting(NamedTuple):
    """What mu depends on."""

    n: int
    steps: int
    alpha: float
    gamma: float
    ratio: float
    """L eta N / G"""


class Certificate(NamedTuple):
    """A bound over all positions; see `dpexp.privacy.momentum.iterates.Certified`."""

    setting: Setting
    stds: tuple[float, ...]
    """deviations of the nodes, in units of G, without alpha"""
    mu: float
    lower: float
    position: int
    weights: tuple[tuple[float, ...], ...]
    stored: bool

    def mu_of(self, stds: np.ndarray) -> float:
        """mu for other deviations [4]; inf if a stream of the certificate has no noise there."""
        own, other = np.array(self.stds), np.asarray(stds, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(own == 0, 0.0, own / other)
        return self.mu * float(ratios.max())


def default_setting(n: int, epochs: int, length: float, times: float = 1) -> Setting:
    """alpha = `times` / N, gamma = min(1/2, L eta N / G), and a path of `length` G / L over the epochs."""
    ratio = length / epochs
    return Setting(n, n * epochs, times / n, min(0.5, ratio), ratio)


@lru_cache(maxsize=256)
def certificate(setting: Setting) -> Certificate | None:
    """The certificate for the split of `unit_split`: computed for small settings, else the stored one, else None."""
    n, steps = setting.n, setting.steps
    if min(n, steps) < 1 or (steps <= MOST_STEPS and steps / n <= MOST_VISITS):
        return computed(setting)
    for held in stored():
        if all(math.isclose(a, b, rel_tol=SAME) for a, b in zip(held.setting, setting, strict=True)):
            return held
    return None


def computed(setting: Setting, all_at_once: bool = False) -> Certificate | None:
    """The certificate, from scratch; None where the method does not apply.

    By conjugate gradients, place by place, or for all places at once by `dpexp.privacy.momentum.places`, which is exact
    up to rounding and much faster for long runs.
    """
    from dpexp.privacy.momentum.iterates import certify, refusal

    n, steps, alpha, gamma, ratio = setting
    if min(n, steps) < 1 or refusal(n, alpha, 1.0):
        return None
    stds = unit_split(*setting)
    if refusal(n, alpha, stds[3]):
        return None
    if all_at_once:
        from dpexp.privacy.momentum.places import certify_all

        found = certify_all(n, steps, alpha, gamma, np.array(stds), 1.0, ratio)
    else:
        found = certify(n, steps, alpha, gamma, np.array(stds), 1.0, ratio)
    weights = tuple(tuple(map(float, some)) for some in found.weights)
    return Certificate(setting, stds, found.mu, found.lower, found.position, weights, False)


def recheck(held: Certificate, positions: np.ndarray) -> float:
    """The largest bound on mu over some positions, by the stored weights; solved closely where these say more."""
    from dpexp.privacy.momentum.iterates import LONG, grams, visits

    n, steps, alpha, gamma, ratio = held.setting
    stds, worst = np.array(held.stds), 0.0
    for count in {len(visits(n, steps, int(i))) for i in positions}:
        group = np.array([i for i in positions if len(visits(n, steps, int(i))) == count])
        coarse = grams(n, steps, alpha, gamma, stds, group, LONG.coarse)
        sets = [np.array(w) for w in held.weights if len(w) == 2 * count - 1]
        bounds = np.min([certified(coarse, w, 2.0, 2 * ratio) for w in sets], axis=0)
        close = np.flatnonzero(np.sqrt(bounds) > held.mu)
        if len(close):
            solved = grams(n, steps, alpha, gamma, stds, group[close], CLOSE, whole=True)
            bounds[close] = [largest_form(gram, 2.0, 2 * ratio).upper for gram in solved]
        worst = max(worst, float(bounds.max()))
    return math.sqrt(worst)


def too_large(setting: Setting) -> bool:
    """Whether the forms of eight places take more than ROOM."""
    return 3 * setting.steps / setting.n * setting.steps * 8 * 8 > ROOM


def recheck_sparingly(held: Certificate, positions: np.ndarray) -> np.ndarray:
    """What the stored weights prove about mu [P] at some places, for runs of whole epochs that are `too_large`.

    A bound above the certified mu says nothing, since the weights were chosen for other places. At the place where mu
    is largest they prove it, neither less nor more.
    """
    from dpexp.privacy.momentum.eigenvalues import proved

    n, steps, alpha, gamma, ratio = held.setting
    sets = [np.array(w) for w in held.weights if len(w) == 2 * (steps // n) - 1]
    found = [proved(n, steps, alpha, gamma, np.array(held.stds), 1.0, ratio, w, positions) for w in sets]
    return np.asarray(np.min(found, axis=0))


@lru_cache(maxsize=1)
def stored() -> tuple[Certificate, ...]:
    """All stored certificates. Raises ValueError if the file was changed by hand."""
    if not STORE.exists():
        return ()
    document = json.loads(STORE.read_text())
    if _hash(document) != SHA256:
        raise ValueError(f"{STORE.name} does not match its hash: compute the certificates again")
    return tuple(_read(entry) for entry in document)


def write(certificates: list[Certificate]) -> None:
    """Replaces the file."""
    entries = [_entry(c) for c in sorted(certificates, key=lambda c: c.setting)]
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    STORE.write_text(f"[\n{lines}\n]\n")
    HASH.write_text(f'"""The hash of the stored certificates, written with them."""\n\nSHA256 = "{_hash(entries)}"\n')


def _entry(c: Certificate) -> dict[str, Any]:
    return {**c.setting._asdict(), "stds": list(c.stds), "mu": c.mu, "lower": c.lower, "position": c.position,
            "weights": [[float(f"{x:.6g}") for x in some] for some in c.weights]}  # fmt: skip


def _read(entry: dict[str, Any]) -> Certificate:
    setting = Setting(*(entry[name] for name in Setting._fields))
    weights = tuple(tuple(some) for some in entry["weights"])
    return Certificate(setting, tuple(entry["stds"]), entry["mu"], entry["lower"], entry["position"], weights, True)


def _hash(entries: list[dict[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


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
        found = computed(setting, all_at_once=True)
        if found is not None:
            certificates.append(found)
            write(certificates)
            spent = time.process_time() - began
            print(f"{size}: mu {found.mu}, largest at {found.position}, {spent:.0f} CPU seconds", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
