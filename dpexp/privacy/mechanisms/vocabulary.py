"""n, batch_size and epochs, where a mechanism or a card has a sampling probability and a number of steps instead."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from dpexp.privacy.analyses.composition import batches_above, batches_of, divides


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
        elif isinstance(size, int) and isinstance(n, int) and min(size, n) > 0:
            if size > n:
                raise ValueError(f"batch_size = {size} is larger than n = {n}")
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


def epochs_of(steps: int, q: float, cut: bool) -> dict[str, Any]:
    """The fields of `epoch-gaussian` for so many steps on batches of the share q, which may not divide the records.

    `cut`: batches are cut from an order of the records, so that those of a short last batch may be in none. Bins of
    such a share are one more or one less.
    """
    batches = batches_of(q)
    epochs, rest = divmod(steps, batches)
    found: dict[str, Any] = {"batches": batches, "epochs": epochs, "unfinished": rest or None}
    if not divides(q):
        found["left_out"] = max(0.0, 1 - batches * q) if cut else 1 / batches_above(q)
    return found


def own_fields(fields: Container[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a mechanism with such fields, from those of another vocabulary. Raises ValueError."""
    of_epochs = "batches" in fields
    if not ("sampling_probability" in fields or "batch_size" in fields) or (of_epochs and "batch_size" not in given):
        return dict(given)
    found = share_and_steps(given)
    if of_epochs and {"steps", "sampling_probability"} <= {**given, **found}.keys():
        both = {**given, **found}
        cut = both.get("sampling") in ("shuffled", "reshuffled")
        found = epochs_of(both["steps"], both["sampling_probability"], cut)
        given = {
            name: value for name, value in given.items() if name not in ("steps", "sampling_probability", "epochs")
        }
    known = {name: value for name, value in found.items() if name in fields and name not in given}
    # n, batch_size and epochs have been used where they are no fields
    used = ("n", "batch_size", "epochs") if found else ()
    return {name: value for name, value in given.items() if name in fields or name not in used} | known
