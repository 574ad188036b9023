"""Stored certificates: which settings of Algorithm 2 of `momentum` are accounted for by their iterates alone.

(a) A certificate states that the iterates are mu-GDP for given deviations of the nodes, over every position of a
record.
(b) It holds for other deviations too: more noise in any stream only adds noise to what is released, and the same factor
on all four divides mu. So mu is at most the certificate's times the largest ratio of its deviations to those in use.

They are in `iterates.json` in the folder of this file, with their hash, so that an edit by hand is noticed. Where there
is none the release of all nodes is accounted for, which is always valid. `python -m tools.momentum_certificates`
computes what is missing (the theorem and its proof are in `tools/momentum_iterates.py`), and with `recheck` examines
random positions of what is stored.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpexp.core.files import digest

STORE = Path(__file__).with_name("iterates.json")
SAME = 1e-9
"""relative difference up to which two settings are one, for sizes that went through a config"""


class MomentumSetting(NamedTuple):
    """What mu depends on."""

    n: int
    steps: int
    alpha: float
    gamma: float
    ratio: float
    """L eta N / G"""


class Certificate(NamedTuple):
    """A bound on mu of the iterates over all positions of a record in the order."""

    setting: MomentumSetting
    stds: tuple[float, ...]
    """deviations of the nodes, in units of G, without alpha"""
    mu: float
    lower: float
    position: int
    weights: tuple[tuple[float, ...], ...]
    """dual weights that prove it, of `tools.momentum_iterates`"""

    def mu_of(self, stds: np.ndarray) -> float:
        """mu for other deviations [4]; inf if a stream of the certificate has no noise there."""
        # (b); a stream that has no noise in the certificate asks for none
        own, other = np.array(self.stds), np.asarray(stds, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(own == 0, 0.0, own / other)
        return self.mu * float(ratios.max())


@lru_cache(maxsize=256)
def certificate(setting: MomentumSetting) -> Certificate | None:
    """The stored certificate for the split of `unit_split`, or None."""
    # ratios and rates are compared as numbers that went through a config, whose last digits may differ
    for entry in stored():
        if all(math.isclose(a, b, rel_tol=SAME) for a, b in zip(entry.setting, setting, strict=True)):
            return entry
    return None


@lru_cache(maxsize=1)
def stored() -> tuple[Certificate, ...]:
    """All stored certificates. Raises ValueError if the file was changed by hand."""
    document = json.loads(STORE.read_text())
    if digest(document["entries"], 64) != document["sha256"]:
        raise ValueError(f"{STORE.name} does not match its hash: compute the certificates again")
    certificates = []
    for entry in document["entries"]:
        setting = MomentumSetting(*(entry.pop(name) for name in MomentumSetting._fields))
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
        certificates.append(Certificate(setting, **values))
    return tuple(certificates)
