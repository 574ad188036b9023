"""How much noise (1, 1e-5) needs under each way to draw batches: a bracket of the noise multiplier for each scheme.

The upper end is the least noise with which an analysis of exactly this scheme and these neighbours states the target.
The lower end is the largest noise with which a pair of neighbours still attains more than the target: with less noise
than that the target is missed, whatever is proved some day. Both come from the mechanism's own lines, so that no scheme
gets another one's number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from dpexp.privacy.accounting.calibration import least_noise
from dpexp.privacy.analyses.analysis import ALL, Relation
from dpexp.privacy.mechanisms import EpochGaussian, Mechanism, SampledGaussian

EPS, DELTA = 1.0, 1e-5
SETTINGS = ((16, 1), (16, 10), (128, 10))
"""batches of an epoch, epochs: every record is used once in an epoch, or once on average"""
GROUPS = 5
"""public groups of cyclic Poisson sampling; batches are as large as those of the others on average"""
TOLERANCE = 1e-4
"""of the noise, relative"""
Made = Callable[[float], Mechanism]
"""the mechanism with this noise multiplier"""


class Scheme(NamedTuple):
    """A way to draw batches, and the neighbours for which it is stated."""

    name: str
    words: str
    relation: Relation
    of: Callable[[int, int], Made]
    """of so many batches and epochs"""


class Needed(NamedTuple):
    """The noise multiplier that one scheme needs."""

    scheme: Scheme
    batches: int
    epochs: int
    low: float
    """with less than this the target is missed"""
    high: float
    """with this it is met"""


def _sampled(sampling: str, relation: Relation) -> Callable[[int, int], Made]:
    def of(batches: int, epochs: int) -> Made:
        return lambda z: SampledGaussian.model_validate(
            {
                "noise_multiplier": z, "sampling_probability": 1 / batches, "steps": batches * epochs,
                "sampling": sampling, "neighboring_relation": relation,
            }
        )  # fmt: skip

    return of


def _by_epochs(sampling: str, relation: Relation) -> Callable[[int, int], Made]:
    def of(batches: int, epochs: int) -> Made:
        return lambda z: EpochGaussian.model_validate(
            {
                "noise_multiplier": z, "batches": batches, "epochs": epochs, "sampling": sampling,
                "neighboring_relation": relation,
            }
        )  # fmt: skip

    return of


def _in_turn(relation: Relation) -> Callable[[int, int], Made]:
    """A group has its turn in every GROUPS-th step, so that its records are drawn GROUPS times as often then."""

    def of(batches: int, epochs: int) -> Made:
        cycles, unfinished = divmod(batches * epochs, GROUPS)
        return lambda z: EpochGaussian(
            noise_multiplier=z, batches=GROUPS, epochs=cycles, unfinished=unfinished or None,
            sampling="cyclic-poisson", sampling_probability=GROUPS / batches, neighboring_relation=relation,
        )  # fmt: skip

    return of


SCHEMES = (
    Scheme("balls-in-bins", "balls in bins", "add-remove", _by_epochs("balls-in-bins", "add-remove")),
    Scheme("balls-in-bins", "balls in bins", "replace-one", _by_epochs("balls-in-bins", "replace-one")),
    Scheme("reshuffled", "a new order in every epoch", "add-remove", _by_epochs("reshuffled", "add-remove")),
    Scheme("reshuffled", "a new order in every epoch", "replace-one", _by_epochs("reshuffled", "replace-one")),
    Scheme("secret-bins", "one secret bin for all epochs", "add-remove", _by_epochs("secret-bins", "add-remove")),
    Scheme("shuffled", "one order for all epochs", "add-remove", _by_epochs("shuffled", "add-remove")),
    Scheme("shuffled", "one order for all epochs", "replace-one", _by_epochs("shuffled", "replace-one")),
    Scheme("poisson", "Poisson", "add-remove", _sampled("poisson", "add-remove")),
    Scheme("poisson", "Poisson", "replace-one", _sampled("poisson", "replace-one")),
    Scheme("cyclic-poisson", f"cyclic Poisson, {GROUPS} groups", "add-remove", _in_turn("add-remove")),
    Scheme("fixed-size", "fixed size", "replace-one", _sampled("fixed-size", "replace-one")),
)
"""schemes with the same law from below stand together, so that it is computed once"""


@cache
def needed() -> tuple[Needed, ...]:
    """The bracket of every scheme in every setting."""
    return tuple(
        Needed(scheme, batches, epochs, *bracket(scheme.of(batches, epochs), unit(scheme)))
        for batches, epochs in SETTINGS
        for scheme in SCHEMES
    )


def unit(scheme: Scheme) -> float:
    """In what unit noise is sought: 2 where a replaced record of an order attains what a removed one does at half."""
    return 2.0 if scheme.relation == "replace-one" and scheme.name in ("reshuffled", "shuffled") else 1.0


def bracket(made: Made, unit: float = 1.0, eps: float = EPS, delta: float = DELTA) -> tuple[float, float]:
    """(low, high) of the noise multiplier for epsilon at delta, of all iterates.

    The unit changes which multipliers are tried, and nothing else: laws that were asked before are kept.
    """

    def states(z: float) -> float:
        return min(a.eps(delta) for a in made(z).analyses() if a.valid and a.released == ALL)

    def attains(z: float) -> float:
        return max(b.eps(delta) for b in made(z).lower_bounds())

    high = unit * least_noise(lambda z: states(unit * z), eps, TOLERANCE)
    low = unit * least_noise(lambda z: attains(unit * z), eps, TOLERANCE)
    return min(high, low * (1 - 2 * TOLERANCE)), high
