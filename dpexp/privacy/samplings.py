"""How records meet the steps: the sampling schemes in words, the batches of an epoch, and what sizes go together.

A mechanism or a card has a sampling probability and a number of steps; n, batch_size and epochs are another vocabulary
for them.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from typing import Any, Literal, NamedTuple

from dpexp.accounting.pairs import ONCE_AN_EPOCH, Relation, Sampling

BatchSampling = Literal["poisson", "fixed-size", "shuffled", "balls-in-bins", "cyclic-poisson"]
"""what a config calls the sampling schemes of algorithms on batches"""
RELATIONS: dict[BatchSampling, Relation] = {
    "poisson": "add-remove",
    "fixed-size": "replace-one",
    "shuffled": "replace-one",
    "balls-in-bins": "add-remove",
    "cyclic-poisson": "add-remove",
}
"""sampling scheme of a config -> the neighbours for which its privacy is stated"""

SAMPLING = {
    "fixed-size": "a fresh uniform subset of fixed size in every step",
    "poisson": "every record independently in every step",
    "cyclic": "a fixed partition into batches, in the same order in every epoch",
    "shuffled": "a random partition into batches, drawn once and repeated in every epoch",
    "reshuffled": "a new random order of the records in every epoch, cut into batches",
    "full-batch": "all records in every step",
}
PARTITIONS = ("cyclic", "shuffled")
"""the same batches in every epoch"""


class Epochs(NamedTuple):
    """Steps that go round."""

    batches: int
    """steps of an epoch: bins, or public groups"""
    share: float = 1.0
    """of cyclic-poisson: the probability of a record of the group whose turn it is"""


def divides(q: float) -> bool:
    """Whether batches of the share q cut the records evenly: 1 / q is whole, to the digits in which q is typed.

    A share of seven digits or more is recognised: 1 / q may be off by a millionth of itself, and by 0.001 at most.
    """
    return abs(round(1 / q) - 1 / q) <= min(1e-3, 1e-6 / q)


def batches_of(q: float) -> int:
    """Batches in an epoch of batches of the share q, and the whole number below where q does not cut evenly.

    Fewer batches are more visits: the number covers a last batch that is short, and one that is left out.
    """
    return max(1, round(1 / q) if divides(q) else math.floor(1 / q))


def batches_above(q: float) -> int:
    """The same with a short last batch counted."""
    return round(1 / q) if divides(q) else math.ceil(1 / q)


def visits(steps: int, q: float) -> int:
    """How often a record that is used once an epoch is used at most in `steps` steps."""
    return math.ceil(steps / batches_of(q))


def partition_complaint(q: float, sampling: Sampling) -> str:
    """Why batches of the share q are no partition of the records; empty where they are, or need not be one."""
    if sampling not in ONCE_AN_EPOCH:
        return ""
    if q == 0:
        return f"{sampling} batches need a sampling_probability above 0"
    if sampling in PARTITIONS and not divides(q):
        return (
            f"a partition needs 1 / sampling_probability to be whole, not 1 / {q:.9g}: "
            f"write it as a fraction, for instance sampling_probability=1/{max(1, round(1 / q))}"
        )
    return ""


def batch_complaint(n: int, batch_size: int, sampling: Sampling, records: str = "") -> str:
    """Why n records give no batches of that size; empty where they do. `records` is what the n records are called."""
    called = records or f"n = {n}"
    if batch_size > n:
        return f"batch_size = {batch_size} is larger than {called}"
    if sampling == "full-batch" and batch_size != n:
        return f"a full batch has batch_size = {called}, not {batch_size}"
    if sampling in PARTITIONS and n % batch_size:
        near = [m for m in range(max(1, batch_size // 2), min(n, 2 * batch_size) + 1) if n % m == 0]
        nearest = ", ".join(str(m) for m in sorted(near, key=lambda m: abs(m - batch_size))[:3])
        hint = f" (near: {nearest})" if nearest else ""
        return f"batch_size = {batch_size} must divide {called} evenly{hint}"
    return ""


def epoch_text(q: float) -> str:
    """How many batches an epoch has, for a statement."""
    uneven = (
        "" if divides(q) else f" are counted, rounded down from {1 / q:.6g}: a short or missing last batch is covered"
    )
    return f"{batches_of(q)} batches an epoch{uneven}"


def share_and_steps(values: Mapping[str, Any], groups: int = 1) -> dict[str, Any]:
    """`sampling_probability` and `steps` as far as they follow from other fields and are not given.

    A batch has batch_size of n records, all of them if `sampling` is full-batch, and a record is in `selected` of
    `steps_per_epoch` steps. Where batches are drawn from so many groups in turn, the probability is within a group. An
    epoch may end with a short batch, which is a step. Raises ValueError where fields contradict each other, and where
    epochs have no steps.
    """
    fields: dict[str, Any] = {}
    size, n, epochs, selected, per_epoch, share = (
        values.get(key) for key in ("batch_size", "n", "epochs", "selected", "steps_per_epoch", "sampling_probability")
    )
    sized = 0.0  # the share of batch_size and n
    if isinstance(size, int) and isinstance(n, int) and min(size, n) > 0:
        sized = groups * size / n
        if sized > 1:
            of = f"n = {n}" if groups == 1 else f"a group of {n} / {groups} records"
            raise ValueError(f"batch_size = {size} is larger than {of}")
    if share is None:
        share = sized or None
        if values.get("sampling") == "full-batch":
            share = 1.0
        elif isinstance(selected, int) and isinstance(per_epoch, int) and 0 < selected <= per_epoch:
            share = selected / per_epoch
        fields |= {} if share is None else {"sampling_probability": share}
    for q in share if isinstance(share, list | tuple) else (share,):
        if not isinstance(q, int | float):
            continue
        # a batch size is rounded, by less than a record
        if size and sized and abs(q / sized - 1) * size > max(1 - 1e-6, 1e-6 * size):
            raise ValueError(f"batch_size = {size} is not sampling_probability times n = {q / sized * size:g}")
        if selected and per_epoch and not math.isclose(q, selected / per_epoch, rel_tol=1e-6):
            raise ValueError(
                f"sampling_probability is selected / steps_per_epoch = {selected / per_epoch:g}, not {q:g}"
            )
    if epochs is None:
        return fields
    if not (isinstance(epochs, int) and isinstance(share, int | float) and epochs > 0 and 0 < share <= 1):
        raise ValueError("epochs is a whole number, with one sampling_probability, or with batch_size and n")
    steps = epochs * (per_epoch if isinstance(per_epoch, int) else batches_above(share / groups))
    if values.get("steps", steps) != steps:
        raise ValueError(f"{epochs:,} epochs are {steps:,} steps, not {values['steps']}")
    return fields | {"steps": steps}


def epochs_of(steps: int, q: float, cut: bool) -> dict[str, Any]:
    """The fields of `epoch-gaussian` for so many steps on batches of the share q, which may not divide the records.

    `cut`: batches are cut from an order of the records, so that those of a short last batch may be in none. Bins of
    such a share are one more or one less.
    """
    batches = batches_of(q)
    epochs, rest = divmod(steps, batches)
    fields: dict[str, Any] = {"batches": batches, "epochs": epochs, "unfinished": rest or None}
    if not divides(q):
        fields["left_out"] = max(0.0, 1 - batches * q) if cut else 1 / batches_above(q)
    return fields


def own_fields(fields: Container[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a mechanism with such fields, from those of another vocabulary. Raises ValueError."""
    of_epochs = "batches" in fields
    if not ("sampling_probability" in fields or "batch_size" in fields) or (of_epochs and "batch_size" not in values):
        return dict(values)
    sampling = values.get("sampling")
    in_turn = of_epochs and sampling == "cyclic-poisson"
    groups = values.get("batches") if in_turn else 1
    if not isinstance(groups, int) or groups < 1:
        raise ValueError("cyclic-poisson needs batches, the number of its groups")
    derived = share_and_steps(values, groups)
    own = {name: value for name, value in values.items() if name in fields or name not in ("n", "batch_size", "epochs")}
    both = {**values, **derived}
    if not of_epochs or not {"steps", "sampling_probability"} <= both.keys():
        return own | {name: value for name, value in derived.items() if name in fields}
    q, steps = both["sampling_probability"], both["steps"]
    if in_turn:
        derived = epochs_of(steps, 1 / groups, cut=False) | {"sampling_probability": q}
    else:
        derived = epochs_of(steps, q, sampling in ("shuffled", "reshuffled"))
    for name, value in derived.items():
        if name != "epochs" and name in own and own[name] != value:
            raise ValueError(f"{name} = {own[name]} contradicts {steps:,} steps of batches of the share {q:g}: {value}")
    return {name: value for name, value in own.items() if name not in ("steps", "sampling_probability")} | derived
