"""Which settings of Algorithm 2 of `momentum` are accounted for by their iterates: computed on the spot, or stored.

(a) A certificate says that the iterates are mu-GDP for given deviations of the nodes, over every position of a record.
(b) It holds for other deviations too: more noise in any stream only adds noise to what is released, and the same factor
on all four divides mu. So mu is at most the certificate's times the largest ratio of its deviations to those in use.

Stored certificates are in `iterates.json` beside this file, with their hash, so that an edit by hand is noticed. Runs
of at most MOST_STEPS steps and MOST_VISITS epochs without one are computed when they are asked for (seconds). Where
there is none the release of all nodes is accounted for, which is always valid. `python -m tools.momentum_certificates`
computes what is missing from the shipped settings, and with `recheck` examines random positions of what is stored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpexp.core.digests import digest
from dpexp.privacy.momentum.tree_streams import unit_split

if TYPE_CHECKING:
    from dpexp.privacy.momentum.iterates import Certified

    Certify = Callable[[int, int, float, float, np.ndarray, float, float], Certified]

STORE = Path(__file__).with_name("iterates.json")
MOST_STEPS, MOST_VISITS = 2_000, 40
SAME = 1e-9
"""relative difference up to which two settings are one, for sizes that went through a config"""


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
        # (b); a stream that has no noise in the certificate asks for none
        own, other = np.array(self.stds), np.asarray(stds, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(own == 0, 0.0, own / other)
        return self.mu * float(ratios.max())


@lru_cache(maxsize=256)
def certificate(setting: Setting) -> Certificate | None:
    """The certificate for the split of `unit_split`: a stored one, else computed for small settings, else None."""
    n, steps = setting.n, setting.steps
    # ratios and rates are compared as numbers that went through a config, whose last digits may differ
    for held in stored():
        if all(math.isclose(a, b, rel_tol=SAME) for a, b in zip(held.setting, setting, strict=True)):
            return held
    if min(n, steps) < 1 or (steps <= MOST_STEPS and steps / n <= MOST_VISITS):
        return computed(setting)
    return None


def computed(setting: Setting, certify: Certify | None = None) -> Certificate | None:
    """The certificate, from scratch; None where the method does not apply.

    By dense algebra, unless another program that certifies is given.
    """
    from dpexp.privacy.momentum import iterates
    from dpexp.privacy.momentum.iterates import refusal

    n, steps, alpha, gamma, ratio = setting
    if min(n, steps) < 1 or refusal(n, alpha, 1.0):
        return None
    stds = unit_split(*setting)
    if refusal(n, alpha, stds[3]):
        return None
    found = (certify or iterates.certify)(n, steps, alpha, gamma, np.array(stds), 1.0, ratio)
    weights = tuple(tuple(map(float, some)) for some in found.weights)
    return Certificate(setting, stds, found.mu, found.lower, found.position, weights, False)


@lru_cache(maxsize=1)
def stored() -> tuple[Certificate, ...]:
    """All stored certificates. Raises ValueError if the file was changed by hand."""
    if not STORE.exists():
        return ()
    document = json.loads(STORE.read_text())
    if digest(document["entries"], 64) != document["sha256"]:
        raise ValueError(f"{STORE.name} does not match its hash: compute the certificates again")
    return tuple(_read(entry) for entry in document["entries"])


def _read(entry: dict[str, Any]) -> Certificate:
    setting = Setting(*(entry[name] for name in Setting._fields))
    weights = tuple(tuple(some) for some in entry["weights"])
    return Certificate(setting, tuple(entry["stds"]), entry["mu"], entry["lower"], entry["position"], weights, True)
