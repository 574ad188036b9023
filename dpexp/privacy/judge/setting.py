"""What a bound speaks of: a run of noisy SGD, and epsilon, a Renyi divergence, delta or a trade-off curve.

A point of the unit cube is a run. A trade-off curve limits the power 1 - beta of a test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from pydantic import model_validator

from dpexp.accounting.curve import Curve
from dpexp.accounting.pairs import ONCE_AN_EPOCH, Relation, Sampling
from dpexp.core.parameters import Parameters
from dpexp.privacy.analyses.analysis import Released
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd

DIMENSIONS = 9
"""batches, batch size, steps, noise, width, both curvatures, and the two scales that no divergence depends on"""
NAMES = ("n", "batch_size", "steps", "step_size", "noise_std", "lipschitz", "diameter", "smoothness",
         "strong_convexity")  # fmt: skip
"""parameters of a run, beside its sampling and its neighbours"""


class Assumes(Parameters):
    """What a bound declares: it is compared only with runs for which this is true."""

    sampling: Sampling
    relation: Relation
    released: Released
    convex: bool = False
    smooth: bool = False
    strongly_convex: bool = False
    clipped: bool = False
    bounded: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> Assumes:
        if self.strongly_convex and not self.convex:
            raise ValueError("strongly convex losses are convex: say convex: True")
        if self.sampling == "fixed-size" and self.relation == "add-remove":
            raise ValueError("batches of fixed size are defined for replace-one neighbours")
        return self

    def run(self, **values: Any) -> NoisySgd:
        """The run of these parameters. Raises ValidationError."""
        return NoisySgd(**values, sampling=self.sampling, neighboring_relation=self.relation)


PLAIN = ("n", "batch_size", "sampling_probability", "steps", "step_size", "noise_std", "parameter_noise_std",
         "noise_multiplier", "lipschitz")  # fmt: skip
NEEDS = {
    **dict.fromkeys(PLAIN, ""), "batches": "partition", "epochs": "partition", "clip": "clipped", "diameter": "bounded",
    "smoothness": "smooth", "strong_convexity": "strongly_convex", "contraction": "smooth",
}  # fmt: skip
"""every parameter that a bound can take, with what it has to declare for that"""


def allowed(assumes: Assumes) -> list[str]:
    """Names of the parameters that a bound with these assumptions can take."""
    declared = assumes.model_dump() | {"": True, "partition": assumes.sampling in ONCE_AN_EPOCH}
    return [name for name, needed in NEEDS.items() if declared[needed]]


def numbers_of(run: NoisySgd) -> dict[str, Any]:
    """Every parameter that a bound can take, of a run."""
    batches = run.n // run.batch_size
    return run.model_dump() | {
        "clip": run.lipschitz,
        "sampling_probability": run.batch_size / run.n,
        "batches": batches,
        "epochs": math.ceil(run.steps / batches),
        "noise_multiplier": run.multiplier,
        "parameter_noise_std": run.step_size * run.noise_std,
        "contraction": None if run.smoothness is None else run.step_factor(1.0),
    }


def from_cube(x: Sequence[float] | np.ndarray, assumes: Assumes) -> NoisySgd:
    """A run from `DIMENSIONS` numbers in [0, 1]; sizes are log-uniform."""
    x = [float(v) for v in x]
    poisson = assumes.sampling == "poisson"
    # every size that a step of Poisson sampling mixes is a map of its own, which costs time
    batches = round(_log(x[0], 1, {"full-batch": 1, "shuffled": 12, "reshuffled": 48}.get(assumes.sampling, 1000)))
    batch_size = round(_log(x[1], 1, 3 if poisson else 100))
    # neighbours need a record beside the one in question
    if batches * batch_size < 2:
        batches, batch_size = (1, 2) if assumes.sampling == "full-batch" else (2, batch_size)
    steps = round(_log(x[2], 1, 1e4 if assumes.released == "all-iterates" else 1e5))
    multiplier, width = _log(x[3], 0.25, 30), _log(x[4], 0.4, 12 if poisson else 30)
    # a gradient of at most L on the set: strong_convexity diameter / 2 <= L
    most_flat = min(1.0, 2 * batch_size / multiplier / width) if assumes.bounded else 1.0
    flat = max(1e-3, x[5]) * most_flat if assumes.strongly_convex else 0.0
    # eta M <= 2: a step does not expand
    steep = flat + x[6] * (2 - flat)
    lipschitz, step_size = _log(x[7], 0.1, 10), _log(x[8], 0.01, 3)
    noise_std = multiplier * lipschitz / batch_size
    return assumes.run(
        n=batches * batch_size,
        batch_size=batch_size,
        steps=max(1, steps),
        step_size=step_size,
        noise_std=noise_std,
        lipschitz=lipschitz,
        diameter=width * step_size * noise_std if assumes.bounded else math.inf,
        smoothness=steep / step_size if assumes.smooth else None,
        strong_convexity=flat / step_size,
    )


def _log(x: float, low: float, high: float) -> float:
    return float(low * (high / low) ** min(1.0, max(0.0, x)))


LEAST_DELTA, MOST_DELTA = 1e-14, 0.3


class AttainedLaw(Protocol):
    """What a pair attains, rounded down, with about the largest delta at which it attains anything."""

    def eps(self, delta: float) -> float: ...
    def renyi(self, order: float) -> float: ...
    @property
    def variation(self) -> float: ...


class BoundKind(NamedTuple):
    """One way to state a bound."""

    function: str
    """its name in the file"""
    argument: str
    measured: str
    """what a pair attains more of, in words"""
    largest: float = math.inf
    """largest value that the function may return; inf says nothing"""


KINDS = {
    kind.function: kind
    for kind in (
        BoundKind("eps", "delta", "epsilon"),
        BoundKind("rdp", "order", "Renyi divergence"),
        BoundKind("delta", "eps", "delta", 1.0),
        BoundKind("beta", "alpha", "power of a test, 1 - beta,", 1.0),
    )
}


def level(kind: BoundKind, x: float, variation: float) -> float:
    """An order between 1.03 and 200, or a delta or rate between 1e-14 and .9 of the least at which epsilon is 0, or .3.

    The exponent of delta falls with the square of 1 - x, so that large deltas, where little is proved, are half of all.
    """
    if kind.function == "rdp":
        return float(1 + 10 ** (-1.5 + 3.8 * x))
    top = min(MOST_DELTA, 0.9 * variation)
    return float(top * (LEAST_DELTA / top) ** ((1 - x) ** 2)) if top > LEAST_DELTA else LEAST_DELTA


def attained(exact: AttainedLaw, kind: BoundKind, at: float) -> float:
    """What the pair attains at that argument, rounded down."""
    if kind.function == "rdp":
        return exact.renyi(at)
    curve = Curve(exact.eps, "below")
    if kind.function == "beta":
        return 1 - curve.beta(at)
    return curve.delta(at) if kind.function == "delta" else curve.eps(at)
