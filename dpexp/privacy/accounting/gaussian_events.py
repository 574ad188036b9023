"""Event trees of dp_accounting as kinds of Gaussian steps; the library is not needed.

A tree is what `event.to_named_tuple()` gives, or the same as nested lists: `[module, class, fields...]`, the fields in
the order of the class. Nothing of a tree is left out: what cannot be accounted is refused by its name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """Steps of one kind: what is shown of each, and how many there are."""

    sampler: str
    """poisson, fixed-size, truncated-poisson or full-batch"""
    noise_multiplier: float
    sampling_probability: float
    steps: int
    records: int | None = None
    """of batches of fixed size and of those that are cut"""
    cap: int | None = None
    """largest batch, of those that are cut"""


class NotAccounted(ValueError):
    """An event that is no composition of Gaussian steps here; its text is the event's name."""


def is_event(value: object) -> bool:
    """Whether a value has the shape of an event's tree."""
    if not isinstance(value, list | tuple) or len(value) < 2:
        return False
    return isinstance(value[0], str) and isinstance(value[1], str) and value[1].endswith("Event")


def kinds_of(tree: Any, times: int = 1) -> list[Kind]:
    """The steps of a tree that is composed so often, in its order. Raises NotAccounted."""
    try:
        return _kinds(tree, times)
    except NotAccounted:
        raise
    except (IndexError, TypeError, ValueError, ArithmeticError):  # fields that are missing, or no numbers of such steps
        raise NotAccounted(f"{tree[1]} with such fields") from None


def _kinds(tree: Any, times: int) -> list[Kind]:
    if not is_event(tree):
        raise NotAccounted("something that is no event")
    name, fields = tree[1], tree[2:]
    if name == "NoOpDpEvent":
        return []
    if name == "ComposedDpEvent":
        return [kind for part in fields[0] for kind in kinds_of(part, times)]
    if name == "SelfComposedDpEvent":
        return kinds_of(fields[0], times * int(fields[1]))
    if name == "GaussianDpEvent":
        return [Kind("full-batch", float(fields[0]), 1.0, times)]
    if name == "PoissonSampledDpEvent":
        return [Kind("poisson", _one_look(fields[1]), float(fields[0]), times)]
    if name == "SampledWithoutReplacementDpEvent":
        records, batch = int(fields[0]), int(fields[1])
        return [Kind("fixed-size", _one_look(fields[2]), batch / records, times, records)]
    if name == "TruncatedSubsampledGaussianDpEvent":
        records, q, cap, z = fields
        return [Kind("truncated-poisson", float(z), float(q), times, int(records), int(cap))]
    raise NotAccounted(name)


def _one_look(tree: Any) -> float:
    """The noise multiplier of Gaussian releases on one draw of a batch: k looks at it are one of z / sqrt(k)."""
    looks: Sequence[Kind] = kinds_of(tree)
    if not looks or any(look.sampler != "full-batch" for look in looks):
        raise NotAccounted("a sampled event that is not of Gaussian ones")
    if any(look.noise_multiplier == 0 for look in looks):
        return 0.0
    told = math.fsum(look.steps / look.noise_multiplier**2 for look in looks)
    return 1 / math.sqrt(told) if told else math.inf
