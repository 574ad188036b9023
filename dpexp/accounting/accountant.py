"""An accountant with the methods of those of Opacus and dp_accounting, and certified loss distributions behind them.

Epsilon and delta are rounded up, whatever delta is. All steps are released. An accountant cannot check how batches were
drawn: `dpexp receipt` compares that with what the program does.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import cache, cached_property
from typing import Any

from dpexp.accounting.curve import Curve, larger, mu_up_to
from dpexp.accounting.events import NotAccounted, StepKind, is_event, parts_of, tree_of
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.loss_steps import Steps, truncated
from dpexp.accounting.pairs import Relation, Sampling, distance
from dpexp.core.errors import UsageError


class Accountant:
    """The privacy loss of one record in Gaussian steps on random batches.

    `neighboring_relation`: with add-remove a step may be on a Poisson batch, one that is cut to a largest size, or all
    records; with replace-one on a Poisson batch, one of fixed size, or all records, and a record moves the sum by up to
    two norms. Noise multipliers are noise over one record's largest norm. A tree over the steps of one epoch is for a
    record that leaves all others at their steps.
    """

    def __init__(self, neighboring_relation: Relation = "add-remove") -> None:
        if neighboring_relation not in ("add-remove", "replace-one"):
            raise UsageError(f"neighboring_relation is add-remove or replace-one, not {neighboring_relation!r}")
        self.neighboring_relation = neighboring_relation
        self._events: Counter[tuple[Any, ...]] = Counter()  # trees of events, and how many of each

    def compose(self, event: Any, count: int = 1) -> Accountant:
        """Account an event of dp_accounting, or its tree, `count` times.

        Raises UsageError where it is not supported; in a program that has loaded dp_accounting it is an
        UnsupportedEventError as well.
        """
        if count < 0:
            raise UsageError(f"an event is composed 0 or more times, not {count}")
        fault = self._fault(event)
        if isinstance(fault, NotAccounted):
            text = f"cannot account {fault}: nothing of an event is left out; caused by subevent {fault.event}"
            raise _refusal("dp_accounting" in sys.modules)(text)
        if fault:
            raise fault
        tree = tree_of(event)
        if not all(kind.empty for kind in parts_of(tree, count)):
            vars(self).pop("profile", None)
            self._events[tree] += count
        return self

    def supports(self, event: Any) -> bool:
        """Whether `compose` takes it."""
        return self._fault(event) is None

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        """As dp_accounting's PrivacyAccountant: None, or the part of an event that is not accounted, and why."""
        from dp_accounting import PrivacyAccountant

        fault = self._fault(event)
        if fault:
            return PrivacyAccountant.CompositionErrorDetails(getattr(fault, "event", event), f"cannot account {fault}")
        if do_compose:
            self.compose(event, count)
        return None

    def _fault(self, event: Any) -> NotAccounted | UsageError | None:
        """Why an event is not accounted: it is another one, or its numbers or batches make no step."""
        try:
            kinds = parts_of(event)
        except NotAccounted as fault:
            return fault
        for kind in kinds:
            if not (kind.noise_multiplier >= 0 and 0 <= kind.sampling_probability <= 1 and kind.steps >= 0):
                values = f"noise {kind.noise_multiplier} and share {kind.sampling_probability}, {kind.steps} times"
                return UsageError(f"a step has noise of 0 or more and a share of records of 0 to 1, not {values}")
            only = {"fixed-size": "replace-one", "truncated-poisson": "add-remove"}.get(kind.sampler)
            if only not in (None, self.neighboring_relation):
                return UsageError(f"{kind.sampler} batches are accounted for {only} neighbours alone")
        return None

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Account one step on a Poisson batch of that share of the records."""
        self.compose(_poisson_step(noise_multiplier, sample_rate))

    def get_epsilon(
        self, delta: float | None = None, *, target_delta: float | None = None, alphas: Sequence[float] | None = None,
        eps_error: float | None = None, delta_error: float | None = None,
    ) -> float:  # fmt: skip
        """The least epsilon that is certified at delta; 0 for an empty composition, inf without noise.

        `target_delta` is its name in dp_accounting; `alphas`, `eps_error` and `delta_error` are settings of Opacus,
        which change nothing here. Raises UsageError unless 0 <= delta <= 1.
        """
        delta = _number("delta", delta, target_delta)
        if not 0 <= delta <= 1:
            raise UsageError(f"delta is between 0 and 1, not {delta!r}")
        return self.profile.eps(delta)

    def get_delta(self, epsilon: float | None = None, *, target_epsilon: float | None = None) -> float:
        """The least delta that is certified at epsilon >= 0; `target_epsilon` is its name in dp_accounting."""
        epsilon = _number("epsilon", epsilon, target_epsilon)
        if not epsilon >= 0:
            raise UsageError(f"epsilon is 0 or more, not {epsilon!r}")
        return self.profile.delta(epsilon)

    def get_mu(self, floor: float) -> float:
        """mu of Gaussian differential privacy, rounded up: no delta above the floor is larger than that of mu."""
        return mu_up_to(self.profile, floor)

    @cached_property
    def profile(self) -> Curve:
        """Trade-offs of what is composed so far: delta at epsilon, advantage, rates, Bayes error."""
        kinds = [kind for kind in self._kinds if math.isfinite(kind.noise_multiplier)]
        if any(kind.noise_multiplier == 0 for kind in kinds):
            return Curve(lambda delta: math.inf, direct=lambda eps: 1.0)
        if all(kind.sampling_probability == 1 and kind.sampler != "truncated-poisson" for kind in kinds):
            each = math.fsum(kind.steps / kind.noise_multiplier**2 for kind in kinds)
            mu = math.sqrt(each) * distance(self.neighboring_relation)
            return Curve(lambda delta: eps_of(mu, delta), mu=mu)
        # the other data set has one record fewer, or one more, which only batches that are cut depend on
        return larger([Steps(part for kind in kinds for part in self._steps(kind, added)).curve for added in (0, 1)])

    def _steps(self, kind: StepKind, added: int) -> Steps:
        q, noise, count = kind.sampling_probability, kind.noise_multiplier, kind.steps
        if kind.records is not None and kind.cap is not None:
            return truncated(kind.records + added, q, kind.cap, noise).times(count)
        sampling: Sampling = "fixed-size" if kind.sampler == "fixed-size" else "poisson"  # of all records if q is 1
        return Steps.sampled(noise, q, count, sampling, self.neighboring_relation)

    @property
    def _kinds(self) -> list[StepKind]:
        """Each kind of step once, with its number."""
        counts: Counter[StepKind] = Counter()
        for tree, count in self._events.items():
            for kind in parts_of(tree, count):
                counts[kind._replace(steps=0)] += kind.steps
        return [kind for alike, steps in counts.items() if not (kind := alike._replace(steps=steps)).empty]

    @property
    def history(self) -> list[tuple[float, float, int]]:
        """(noise multiplier, sampling probability, steps) of all that is composed.

        What is assigned are steps on Poisson batches, in place of all that was composed.
        """
        return [(kind.noise_multiplier, kind.sampling_probability, kind.steps) for kind in self._kinds]

    @history.setter
    def history(self, entries: Sequence[tuple[float, float, int]]) -> None:
        self.load_state_dict({"history": entries})

    @property
    def ledger(self) -> Any:
        """What is composed, as an event of dp_accounting, which has to be installed."""
        import dp_accounting

        def event(tree: Any) -> Any:
            if is_event(tree):
                return getattr(dp_accounting.dp_event, tree[1])(*map(event, tree[2:]))
            return [event(each) for each in tree] if isinstance(tree, tuple) else tree

        events = [dp_accounting.SelfComposedDpEvent(event(tree), count) for tree, count in self._events.items()]
        return dp_accounting.ComposedDpEvent(events) if events else dp_accounting.NoOpDpEvent()

    def __len__(self) -> int:
        """Steps that are accounted."""
        return sum(kind.steps for kind in self._kinds)

    @classmethod
    def mechanism(cls) -> str:
        """The name of this way to account, for programs that store it."""
        return "dpexp"

    def state_dict(self, destination: MutableMapping[str, Any] | None = None) -> MutableMapping[str, Any]:
        """What `load_state_dict` takes, of plain values; written into `destination` where one is given."""
        state: MutableMapping[str, Any] = {} if destination is None else destination
        events = [("", "SelfComposedDpEvent", tree, count) for tree, count in self._events.items()]
        state.update(history=self.history, events=events)
        state.update(mechanism=self.mechanism(), relation=self.neighboring_relation)
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Account what another accountant has: one of these, or one of Opacus, whose steps are on Poisson batches."""
        if not {"events", "history"} & set(state_dict):
            raise UsageError("a state has a history: [(noise multiplier, sample rate, steps), ...]")
        other = Accountant(state_dict.get("relation", self.neighboring_relation))
        for event in state_dict.get("events", ()):
            other.compose(event[2], int(event[3]))
        for noise, rate, steps in () if "events" in state_dict else state_dict["history"]:
            other.compose(_poisson_step(noise, rate), int(steps))
        vars(self).clear()
        vars(self).update(vars(other))

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """A function that accounts a step of an Opacus optimizer: `optimizer.attach_step_hook(...)`."""

        def hook(optimizer: Any) -> None:
            rate = sample_rate * optimizer.accumulated_iterations
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=rate)

        return hook


def _poisson_step(noise_multiplier: float, sample_rate: float) -> tuple[Any, ...]:
    return "", "PoissonSampledDpEvent", float(sample_rate), ("", "GaussianDpEvent", float(noise_multiplier))


def _number(name: str, *values: float | None) -> float:
    """The one of two names of a number that is used."""
    present = [value for value in values if value is not None]
    if len(present) != 1:
        raise TypeError(f"give {name}, once")
    return float(present[0])


@cache
def _refusal(loaded: bool) -> type[UsageError]:
    """The error of an event that is not accounted: that of dp_accounting too, once a program has loaded it."""
    if not loaded:
        return UsageError
    from dp_accounting import UnsupportedEventError

    return type("Unsupported", (UsageError, UnsupportedEventError), {})
