"""Event trees of dp_accounting as parts of a composition; the library is not needed.

An event is an object of that library, what its `to_named_tuple()` gives, or the same as nested lists: `[module, class,
fields...]`, the fields in the order of the class. Nothing of an event is left out: what cannot be accounted is refused
by its name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple


class StepKind(NamedTuple):
    """Gaussian steps of one kind: what is shown of each, and how many there are."""

    sampler: str  # poisson, fixed-size, truncated-poisson, full-batch; or an event that has no batches
    noise_multiplier: float
    sampling_probability: float
    steps: int
    records: int | None = None  # of batches of fixed size and of those that are cut
    cap: int | None = None  # largest batch, of those that are cut

    @property
    def empty(self) -> bool:
        """Whether nothing of a record is released."""
        return self.steps == 0 or self.sampling_probability == 0


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


def tree_of(event: Any) -> Any:
    """An event as nested tuples of plain values."""
    event = _with_fields(event)
    if isinstance(event, list | tuple):
        return tuple(tree_of(each) for each in event)
    if isinstance(event, Integral):
        return int(event)
    return float(event) if isinstance(event, Real) else event


def _with_fields(event: Any) -> Any:
    """An event of the library, which writes its events with attrs, as the tuple of its class and its fields."""
    attributes = getattr(type(event), "__attrs_attrs__", None)
    if attributes is None:
        return event
    return "dp_accounting.dp_event", type(event).__name__, *(getattr(event, each.name) for each in attributes)


def kinds_of(event: Any) -> list[StepKind]:
    """The Gaussian steps of an event that has batches and nothing else, in its order. Raises NotAccounted."""
    kinds = parts_of(event)
    for kind in kinds:
        if kind.sampler.endswith("Event"):
            raise NotAccounted(kind.sampler, event)
    return kinds


def parts_of(event: Any, times: int = 1) -> list[StepKind]:
    """The parts of an event that is composed so often, in its order. Raises NotAccounted."""
    tree = _with_fields(event)
    if not is_event(tree):
        raise NotAccounted("something that is no event", event)
    try:
        return _parts(event, tree[1], tree[2:], times)
    except NotAccounted:
        raise
    except (IndexError, TypeError, ValueError, ArithmeticError):  # fields that are missing, or no numbers of such steps
        raise NotAccounted(f"{tree[1]} with such fields", event) from None


def _parts(event: Any, name: str, fields: Sequence[Any], times: int) -> list[StepKind]:
    match name:
        case "NoOpDpEvent":
            return []
        case "NonPrivateDpEvent":
            return [StepKind(name, 0.0, 1.0, times)]
        case "ComposedDpEvent":
            return [part for each in fields[0] for part in parts_of(each, times)]
        case "SelfComposedDpEvent":
            return parts_of(fields[0], times * int(fields[1]))
        case "GaussianDpEvent":
            return [StepKind("full-batch", float(fields[0]), 1.0, times)]
        case "PoissonSampledDpEvent":
            return [StepKind("poisson", _noise_on_a_batch(fields[1]), float(fields[0]), times)]
        case "SampledWithoutReplacementDpEvent":
            records, batch = int(fields[0]), int(fields[1])
            return [StepKind("fixed-size", _noise_on_a_batch(fields[2]), batch / records, times, records)]
        case "TruncatedSubsampledGaussianDpEvent":
            records, q, cap, z = fields
            return [StepKind("truncated-poisson", float(z), float(q), times, int(records), int(cap))]
        case "SingleEpochTreeAggregationDpEvent":
            # of n >= 1 steps floor(log2 n) + 1 nodes hold the first one: one Gaussian release with as many unit moves
            steps = int(max(fields[1]) if isinstance(fields[1], Sequence) else fields[1])
            return [StepKind(name, float(fields[0]) / math.sqrt(max(steps, 0).bit_length()), 1.0, times)]
    raise NotAccounted(name, event)


def _noise_on_a_batch(event: Any) -> float:
    """The noise multiplier of Gaussian releases on one draw of a batch: of k with noise z it is z / sqrt(k)."""
    parts = parts_of(event)
    if not parts or any(part.sampler != "full-batch" for part in parts):
        raise NotAccounted("a sampled event that is not of Gaussian ones", event)
    if any(part.noise_multiplier == 0 for part in parts):
        return 0.0
    squares = math.fsum(part.steps / part.noise_multiplier**2 for part in parts)
    return 1 / math.sqrt(squares) if squares else math.inf
