"""n, batch_size and epochs, where a mechanism or a card has a sampling probability and a number of steps instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpexp.privacy.analyses.composition import batches_above


def share_and_steps(given: Mapping[str, Any]) -> dict[str, Any]:
    """`sampling_probability` and `steps` as far as they follow from other fields and are not given.

    A batch has batch_size of n records, or all of them if `sampling` is full-batch. An epoch may end with a short
    batch, which is a step. Raises ValueError where epochs and steps disagree, and where epochs have no steps.
    """
    found: dict[str, Any] = {}
    size, n, epochs = (given.get(name) for name in ("batch_size", "n", "epochs"))
    if "sampling_probability" not in given:
        if given.get("sampling") == "full-batch":
            found["sampling_probability"] = 1.0
        elif isinstance(size, int) and isinstance(n, int) and 0 < size <= n:
            found["sampling_probability"] = size / n
    if epochs is None:
        return found
    share = {**given, **found}.get("sampling_probability")
    if not (isinstance(epochs, int) and isinstance(share, int | float) and epochs > 0 and 0 < share <= 1):
        raise ValueError("epochs is a whole number, with one sampling_probability, or with batch_size and n")
    steps = epochs * batches_above(share)
    if given.get("steps", steps) != steps:
        raise ValueError(f"{epochs:,} epochs are {steps:,} steps, not {given['steps']}")
    return found | {"steps": steps}
