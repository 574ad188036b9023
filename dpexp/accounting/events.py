"""Event trees of dp_accounting as parts of a composition; the library is not needed.

An event is an object of that library, what its `to_named_tuple()` gives, or the same as nested lists: `[module, class,
fields...]`, the fields in the order of the class. Nothing of an event is left out: what cannot be accounted is refused
by its name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple


class StepKind(NamedTuple):
    """Gaussian steps of one kind: what is shown of each, and how many there are."""

    sampler: str
    """poisson, fixed-size, truncated-poisson, full-batch, tree (the nodes that hold one record), or non-private"""
    noise_multiplier: float
    sampling_probability: float
    steps: int
    records: int | None = None
    """of batches of fixed size and of those that are cut"""
    cap: int | None = None
    """largest batch, of those that are cut"""


class ZeroConcentrated(NamedTuple):
    """Mechanisms that are known to be (xi, rho)-zCDP alone: Renyi divergence at most xi + rho order."""

    rho: float
    xi: float
    steps: int


class BestOfRuns(NamedTuple):
    """The best of a random number of runs, each made of these parts."""

    run: tuple[Part, ...]
    mean: float
    """of the number of runs"""
    shape: float
    """of its truncated negative binomial law; inf is Poisson"""
    steps: int


Part = StepKind | ZeroConcentrated | BestOfRuns


class NotAccounted(ValueError):
    """An event that is accounted nowhere here; its text is the event's name."""

    def __init__(self, name: str, event: Any) -> None:
        super().__init__(name)
        self.event = event


def is_event(value: object) -> bool:
    """Whether a value has the shape of an event's tree."""
    if not isinstance(value, list | tuple) or len(value) < 2:
        return False
    return isinstance(value[0], str) and isinstance(value[1], str) and value[1].endswith("Event")


def kinds_of(event: Any) -> list[StepKind]:
    """The Gaussian steps of an event that has batches and nothing else, in its order. Raises NotAccounted."""
    kinds = []
    for part in parts_of(event):
        if not isinstance(part, StepKind) or part.sampler in ("tree", "non-private"):
            raise NotAccounted(tree_of(part)[2][1], event)
        kinds.append(part)
    return kinds


def parts_of(event: Any, times: int = 1) -> list[Part]:
    """The parts of an event that is composed so often, in its order. Raises NotAccounted."""
    name, fields = _named(event)
    try:
        return _parts(event, name, fields, times)
    except NotAccounted:
        raise
    except (IndexError, TypeError, ValueError, ArithmeticError):  # fields that are missing, or no numbers of such steps
        raise NotAccounted(f"{name} with such fields", event) from None


def tree_of(part: Part) -> list[Any]:
    """A part as the tree of an event, which `parts_of` reads."""

    def tree(name: str, *fields: Any) -> list[Any]:
        return ["dp_accounting.dp_event", f"{name}DpEvent", *fields]

    if isinstance(part, ZeroConcentrated):
        event = tree("ZC", part.rho, part.xi)
    elif isinstance(part, BestOfRuns):
        run = tree("Composed", [tree_of(each) for each in part.run])
        event = tree("RepeatAndSelect", run, part.mean, part.shape)
    elif part.sampler == "truncated-poisson":
        q, cap = part.sampling_probability, part.cap
        event = tree("TruncatedSubsampledGaussian", part.records, q, cap, part.noise_multiplier)
    elif part.sampler == "tree":
        event = tree("SingleEpochTreeAggregation", part.noise_multiplier, 1)
    elif part.sampler == "non-private":
        event = tree("NonPrivate")
    else:
        event = tree("Gaussian", part.noise_multiplier)
        if part.sampler == "poisson":
            event = tree("PoissonSampled", part.sampling_probability, event)
        if part.sampler == "fixed-size":
            batch = round(part.sampling_probability * (part.records or 0))
            event = tree("SampledWithoutReplacement", part.records, batch, event)
    return tree("SelfComposed", event, part.steps)


def _named(event: Any) -> tuple[str, Sequence[Any]]:
    """The class and the fields of an event."""
    if is_event(event):
        return event[1], event[2:]
    attributes = getattr(type(event), "__attrs_attrs__", None)  # the library writes its events with attrs
    if attributes is None:
        raise NotAccounted("something that is no event", event)
    return type(event).__name__, [getattr(event, attribute.name) for attribute in attributes]


def _parts(event: Any, name: str, fields: Sequence[Any], times: int) -> list[Part]:
    if name == "NoOpDpEvent":
        return []
    if name == "NonPrivateDpEvent":
        return [StepKind("non-private", 0.0, 1.0, times)]
    if name == "ComposedDpEvent":
        return [part for each in fields[0] for part in parts_of(each, times)]
    if name == "SelfComposedDpEvent":
        return parts_of(fields[0], times * int(fields[1]))
    if name == "GaussianDpEvent":
        return [StepKind("full-batch", float(fields[0]), 1.0, times)]
    if name == "PoissonSampledDpEvent":
        return [StepKind("poisson", _noise_of_looks(fields[1]), float(fields[0]), times)]
    if name == "SampledWithoutReplacementDpEvent":
        records, batch = int(fields[0]), int(fields[1])
        return [StepKind("fixed-size", _noise_of_looks(fields[2]), batch / records, times, records)]
    if name == "TruncatedSubsampledGaussianDpEvent":
        records, q, cap, z = fields
        return [StepKind("truncated-poisson", float(z), float(q), times, int(records), int(cap))]
    if name == "SingleEpochTreeAggregationDpEvent":
        # of n steps floor(log2 n) + 1 nodes hold the first one: one Gaussian release with as many unit moves
        steps = max(fields[1]) if isinstance(fields[1], Sequence) else fields[1]
        levels = int(_within(steps, 1)).bit_length()
        return [StepKind("tree", float(fields[0]) / math.sqrt(levels), 1.0, times)]
    if name == "ZCDpEvent":
        rho, xi = (_within(float(number), 0) for number in (*fields, 0.0)[:2])
        return [ZeroConcentrated(rho, xi, times)]
    if name == "RepeatAndSelectDpEvent":
        run, mean, shape = fields
        return [BestOfRuns(tuple(parts_of(run)), _within(float(mean), 1), _within(float(shape), 0, math.inf), times)]
    raise NotAccounted(name, event)


def _within(number: float, low: float, high: float = 1e300) -> float:
    if not low <= number <= high:
        raise ValueError
    return number


def _noise_of_looks(event: Any) -> float:
    """The noise multiplier of Gaussian releases on one draw of a batch: k looks at it are one of z / sqrt(k)."""
    looks = [look for look in parts_of(event) if isinstance(look, StepKind) and look.sampler == "full-batch"]
    if not looks or len(looks) < len(parts_of(event)):
        raise NotAccounted("a sampled event that is not of Gaussian ones", event)
    if any(look.noise_multiplier == 0 for look in looks):
        return 0.0
    squares = math.fsum(look.steps / look.noise_multiplier**2 for look in looks)
    return 1 / math.sqrt(squares) if squares else math.inf
