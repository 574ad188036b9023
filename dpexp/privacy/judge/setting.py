"""What a bound speaks of: a run's parameters, and epsilon, a Renyi divergence, delta or a trade-off curve.

A point of the unit cube is a run. A trade-off curve limits the power 1 - beta of a test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, get_args

import numpy as np

from dpexp.accounting.curve import Curve
from dpexp.accounting.sampling import ONCE_AN_EPOCH, Sampling

DIMENSIONS = 9
"""batches, batch size, steps, noise, width, both curvatures, and the two scales that no divergence depends on"""
RELATIONS = ("replace-one", "add-remove")
RELEASED = ("last-iterate", "all-iterates")
SAMPLINGS: tuple[str, ...] = get_args(Sampling)


@dataclass(frozen=True)
class Assumes:
    """What a bound declares: it is compared only with runs for which this is true."""

    sampling: Sampling
    relation: str
    released: str
    convex: bool = False
    smooth: bool = False
    strongly_convex: bool = False
    clipped: bool = False
    bounded: bool = False


@dataclass(frozen=True)
class Setting:
    """w <- Proj(w - step_size (sum of the batch's gradients / batch_size + noise_std N(0, 1))), `steps` times."""

    n: int
    batch_size: int
    steps: int
    step_size: float
    noise_std: float
    """standard deviation of the noise on the averaged gradient"""
    lipschitz: float
    """largest norm of a record's gradient: Lipschitz constant, or clip"""
    diameter: float = math.inf
    smoothness: float = math.inf
    strong_convexity: float = 0.0

    @property
    def sampling_probability(self) -> float:
        return self.batch_size / self.n

    @property
    def batches(self) -> int:
        return self.n // self.batch_size

    @property
    def epochs(self) -> int:
        """Those that are begun."""
        return math.ceil(self.steps / self.batches)

    @property
    def noise_multiplier(self) -> float:
        """Noise over one record's largest share of the averaged gradient."""
        return self.batch_size * self.noise_std / self.lipschitz

    @property
    def parameter_noise_std(self) -> float:
        return self.step_size * self.noise_std

    @property
    def width(self) -> float:
        """Diameter in noise units."""
        return self.diameter / self.parameter_noise_std

    @property
    def largest_drift(self) -> float:
        """What a batch of largest gradients moves the parameter by, in noise units."""
        return self.batch_size / self.noise_multiplier

    @property
    def curvatures(self) -> tuple[float, float]:
        """step_size times strong_convexity, and times smoothness."""
        return self.step_size * self.strong_convexity, self.step_size * self.smoothness

    @property
    def contraction(self) -> float:
        """Lipschitz constant of a step with the average of a full batch: max(|1 - eta m|, |1 - eta M|)."""
        return max(abs(1 - curvature) for curvature in self.curvatures)

    q, multiplier, clip = sampling_probability, noise_multiplier, property(lambda self: self.lipschitz)


PLAIN = ("n", "batch_size", "sampling_probability", "steps", "step_size", "noise_std", "parameter_noise_std",
         "noise_multiplier", "lipschitz")  # fmt: skip
NEEDS = {
    **dict.fromkeys(PLAIN, ""), "batches": "partition", "epochs": "partition", "clip": "clipped", "diameter": "bounded",
    "smoothness": "smooth", "strong_convexity": "strongly_convex", "contraction": "smooth",
}  # fmt: skip
"""every parameter that a bound can take, with what it has to declare for that"""


def allowed(assumes: Assumes) -> list[str]:
    """Names of the parameters that a bound with these assumptions can take."""
    declared = vars(assumes) | {"": True, "partition": assumes.sampling in ONCE_AN_EPOCH}
    return [name for name, needed in NEEDS.items() if declared[needed]]


def from_cube(x: Sequence[float] | np.ndarray, assumes: Assumes) -> Setting:
    """A setting from `DIMENSIONS` numbers in [0, 1]; sizes are log-uniform."""
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
    return Setting(
        n=batches * batch_size,
        batch_size=batch_size,
        steps=max(1, steps),
        step_size=step_size,
        noise_std=noise_std,
        lipschitz=lipschitz,
        diameter=width * step_size * noise_std if assumes.bounded else math.inf,
        smoothness=steep / step_size if assumes.smooth else math.inf,
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
