"""What every schedule must do: positive, finite step sizes that do not depend on how they are asked for."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dpexp.conformance.check import Check, Subject
from dpexp.conformance.experiments import Failed, NotTried, ToyExperiments
from dpexp.conformance.settings import examples

Kind = Subject[type[Any]]
STEPS = 5000
"""more than one segment of 4096 steps, in which the compiled kernels ask for them"""


def members(subject: Kind, toys: ToyExperiments) -> str:
    kind = subject.value
    lacking = [name for name in ("step_sizes", "for_losses") if not callable(getattr(kind, name, None))]
    if lacking:
        raise Failed(f"lacks {', '.join(lacking)}; dpexp.algorithms.schedules.Schedule is its base", kind)
    value = next(examples(kind), None)
    if value is None:
        raise Failed("no values for its fields were found: give them defaults", kind)
    if value.name != subject.name:
        raise Failed(f"is registered as '{subject.name}', but its name is '{value.name}'", kind)
    return "step_sizes, for_losses, and its name"


def _settled(subject: Kind) -> Any:
    """The schedule with its step sizes known, for losses of smoothness 1 and strong convexity 0.1."""
    # A schedule may ask for these two numbers of a loss, which the problem would give it.
    value = next(examples(subject.value)).for_losses(1.0, 0.1)
    try:
        value.step_sizes(1, 1)
    except NotImplementedError:
        raise NotTried("its step sizes are settled by the algorithm") from None
    return value


def positive(subject: Kind, toys: ToyExperiments) -> str:
    sizes = np.asarray(_settled(subject).step_sizes(1, STEPS))
    if sizes.shape != (STEPS,) or sizes.dtype != np.float64:
        raise Failed(
            f"step_sizes(1, {STEPS}) is {sizes.dtype} {sizes.shape}, not float64 ({STEPS},)", subject.value.step_sizes
        )
    if not (np.isfinite(sizes).all() and (sizes > 0).all()):
        # The first bad step is the one to look at.
        k = int(np.flatnonzero(~(np.isfinite(sizes) & (sizes > 0)))[0])
        raise Failed(f"the step size of step {k + 1} is {sizes[k]}", subject.value.step_sizes)
    return f"{STEPS} steps from {sizes[0]:.3g} to {sizes[-1]:.3g}"


def segments(subject: Kind, toys: ToyExperiments) -> str:
    value = _settled(subject)
    whole = value.step_sizes(1, STEPS)
    # Cut after one step, where a compiled segment ends, and unevenly.
    for edges in ((0, 1, STEPS), (0, 4096, STEPS), (0, 7, 8, 1000, 4097, STEPS)):
        parts = [value.step_sizes(a + 1, b) for a, b in itertools.pairwise(edges)]
        if not np.array_equal(np.concatenate(parts), whole):
            raise Failed(f"cut after steps {edges[1:-1]} the step sizes are others", subject.value.step_sizes)
    return f"{STEPS} steps whole, and cut in three ways: the same bits"


CHECKS: tuple[Check[type[Any]], ...] = (
    Check("members", "Every required member is there.", members),
    Check("positive", "Step sizes are positive and finite.", positive),
    Check("segments", "Step sizes have the same bits however the steps are cut into segments.", segments),
)
