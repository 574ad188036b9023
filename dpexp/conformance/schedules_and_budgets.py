"""What every schedule and every law of budgets must do: numbers within their ends that depend on no way of asking.

Step sizes are positive and finite, and budgets are drawn between the ends and with the moments that their law states.
Of both the same bits come out however the steps, or the users, are cut into segments.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from dpexp.conformance.check import Check, Failed, NotTried, Subject, ToyExperiments
from dpexp.conformance.settings import examples

Kind = Subject[type[Any]]
STEPS = 5000
"""more than one segment of 4096 steps, in which the compiled kernels ask for them"""
USERS = 20_000


def _members_of_schedule(subject: Kind, toys: ToyExperiments) -> str:
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


def _positive(subject: Kind, toys: ToyExperiments) -> str:
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


def _segments(subject: Kind, toys: ToyExperiments) -> str:
    value = _settled(subject)
    whole = value.step_sizes(1, STEPS)
    # Cut after one step, where a compiled segment ends, and unevenly.
    for edges in ((0, 1, STEPS), (0, 4096, STEPS), (0, 7, 8, 1000, 4097, STEPS)):
        parts = [value.step_sizes(a + 1, b) for a, b in itertools.pairwise(edges)]
        if not np.array_equal(np.concatenate(parts), whole):
            raise Failed(f"cut after steps {edges[1:-1]} the step sizes are others", subject.value.step_sizes)
    return f"{STEPS} steps whole, and cut in three ways: the same bits"


SCHEDULE_CHECKS: tuple[Check[type[Any]], ...] = (
    Check("members", "Every required member is there.", _members_of_schedule),
    Check("positive", "Step sizes are positive and finite.", _positive),
    Check("segments", "Step sizes have the same bits however the steps are cut into segments.", _segments),
)


def _tried(subject: Kind) -> list[Any]:
    """A few budgets of this law, among them the first that differ in their label."""
    found: dict[str, Any] = {}
    for value in examples(subject.value):
        # Two budgets of one label are one law wherever results are shown.
        found.setdefault(value.label, value)
        if len(found) == 3:
            break
    if not found:
        raise Failed("no values for its fields were found: give them defaults", subject.value)
    return list(found.values())


def _members_of_budget(subject: Kind, toys: ToyExperiments) -> str:
    kind = subject.value
    wanted = ("kind", "label", "constant", "largest", "smallest", "mean_inverse_square", "draw")
    if lacking := [name for name in wanted if not hasattr(kind, name)]:
        raise Failed(f"lacks {', '.join(lacking)}; dpexp.privacy.budgets.Budget is its base", kind)
    if kind.kind != subject.name:
        raise Failed(f"is registered as '{subject.name}', but its kind is '{kind.kind}'", kind)
    values = _tried(subject)
    if not all(isinstance(value.label, str) and value.label for value in values):
        raise Failed("its label is not a word", kind)
    return f"{len(wanted)} members; " + "; ".join(value.label for value in values)


def _within(subject: Kind, toys: ToyExperiments) -> str:
    for value in _tried(subject):
        # The last of these is 1, at which the quantile function of an unbounded law is infinite.
        u = (np.arange(USERS) + 1.0) / USERS
        drawn = np.asarray(value.draw(u, 1))
        if drawn.shape != u.shape:
            raise Failed(f"{value.label}: draws {drawn.shape} for {u.shape} users", subject.value.draw)
        low, high = float(drawn.min()), float(drawn.max())
        # Other code sizes noise by these two ends, so that only rounding may pass them.
        if not 0 < value.smallest * (1 - 1e-12) <= low <= high <= value.largest * (1 + 1e-12):
            ends = f"[{value.smallest:g}, {value.largest:g}]"
            raise Failed(f"{value.label}: draws from {low:g} to {high:g}, stated {ends}", subject.value.draw)
        if value.constant is not None and not low == high == value.constant:
            raise Failed(f"{value.label}: says that it is constant, and draws others", subject.value.draw)
    return f"{USERS:,} users between smallest and largest"


def _moments(subject: Kind, toys: ToyExperiments) -> str:
    shown = []
    for value in _tried(subject):
        # Evenly spread numbers, in place of random ones, give the mean of 1 / mu^2 to an error of order 1 / users.
        u = (np.arange(USERS) + 0.5) / USERS
        found = float(np.mean(np.asarray(value.draw(u, 1)) ** -2.0))
        if not math.isclose(found, value.mean_inverse_square, rel_tol=2e-3, abs_tol=1e-12):
            message = f"{value.label}: E 1/mu^2 is {found:.6g}, stated {value.mean_inverse_square:.6g}"
            raise Failed(message, subject.value)
        shown.append(f"{found:.4g}")
    return f"E 1/mu^2 = {', '.join(shown)} as stated"


def _one_by_one(subject: Kind, toys: ToyExperiments) -> str:
    """A user's budget depends on its own uniform number and place only: segments and replicates do not matter."""
    u = np.random.default_rng(5).random((60, 3)) * 0.999 + 0.0005
    for value in _tried(subject):
        whole = np.asarray(value.draw(u, 1))
        # Kernels ask for segments, whose edges depend on the checkpoints of a run.
        parts = np.concatenate([np.asarray(value.draw(u[a:b], a + 1)) for a, b in ((0, 1), (1, 17), (17, 60))])
        alone = np.stack([np.asarray(value.draw(u[:, r], 1)) for r in range(3)], axis=1)
        if not (np.array_equal(whole, parts) and np.array_equal(whole, alone)):
            raise Failed(f"{value.label}: draws others when asked in parts", subject.value.draw)
    return "60 users whole, in three segments and in three replicates: the same bits"


BUDGET_CHECKS: tuple[Check[type[Any]], ...] = (
    Check("members", "Every required member is there.", _members_of_budget),
    Check("ends", "Budgets are drawn between the smallest and the largest.", _within),
    Check("mean inverse square", "The mean of 1 / mu^2 is the stated one.", _moments),
    Check("order", "A user's budget does not depend on how users are cut into segments.", _one_by_one),
)
