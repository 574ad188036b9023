"""An accountant with the methods of those of Opacus and dp_accounting, and certified loss distributions behind them.

Epsilon and delta are rounded up, whatever delta is. All steps are released. An accountant cannot check how batches were
drawn: `dpexp receipt` compares that with what the program does.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import cache, cached_property
from typing import Any

from dpexp.accounting import renyi
from dpexp.accounting.curve import Curve, larger
from dpexp.accounting.events import BestOfRuns, NotAccounted, Part, StepKind, ZeroConcentrated, parts_of, tree_of
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.loss_steps import StepLoss, Steps, step_loss
from dpexp.accounting.mixed import truncated
from dpexp.accounting.one_mu import mu_up_to
from dpexp.accounting.private_choice import best_of
from dpexp.accounting.sampling import Relation, Sampling, distance, random_step
from dpexp.core.errors import UsageError


class Accountant:
    """The privacy loss of one record in Gaussian steps on random batches.

    `neighboring_relation`: with add-remove a step may be on a Poisson batch, one that is cut to a largest size, or all
    records; with replace-one on a Poisson batch, one of fixed size, or all records, and a record moves the sum by up to
    two norms. Noise multipliers are noise over one record's largest norm. A tree over the steps of one epoch is for a
    record that leaves all others at their steps. Where a part is zCDP or the best of several runs, Renyi divergences
    are all that is known of it, and those of all parts are added.
    """

    def __init__(self, neighboring_relation: Relation = "add-remove") -> None:
        if neighboring_relation not in ("add-remove", "replace-one"):
            raise UsageError(f"neighboring_relation is add-remove or replace-one, not {neighboring_relation!r}")
        self.neighboring_relation = neighboring_relation
        self._composed: list[Part] = []

    def compose(self, event: Any, count: int = 1) -> Accountant:
        """Account an event of dp_accounting, or its tree, `count` times.

        Raises UsageError where it is not supported; in a program that has loaded dp_accounting it is an
        UnsupportedEventError as well.
        """
        if count < 0:
            raise UsageError(f"an event is composed 0 or more times, not {count}")
        try:
            self._take(parts_of(event, count))
        except NotAccounted as error:
            text = f"cannot account {error}: nothing of an event is left out; caused by subevent {error.event}"
            raise _refusal("dp_accounting" in sys.modules)(text) from None
        return self

    def supports(self, event: Any) -> bool:
        """Whether `compose` takes it."""
        try:
            return Accountant(self.neighboring_relation).compose(event) is not None
        except UsageError:
            return False

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        """As dp_accounting's PrivacyAccountant: None, or the part of an event that is not accounted, and why."""
        from dp_accounting import PrivacyAccountant

        try:
            (self if do_compose else Accountant(self.neighboring_relation))._take(parts_of(event, count))
        except (NotAccounted, UsageError) as error:
            part = error.event if isinstance(error, NotAccounted) else event
            return PrivacyAccountant.CompositionErrorDetails(part, f"cannot account {error}")
        return None

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Account one step on a Poisson batch of that share of the records."""
        self._take([StepKind("poisson", float(noise_multiplier), float(sample_rate), 1)])

    def get_epsilon(
        self,
        delta: float | None = None,
        *,
        target_delta: float | None = None,
        alphas: Sequence[float] | None = None,
        eps_error: float | None = None,
        delta_error: float | None = None,
    ) -> float:
        """The least epsilon that is certified at delta; 0 for an empty composition, inf without noise.

        `target_delta` is its name in dp_accounting; `alphas`, `eps_error` and `delta_error` are settings of Opacus,
        which change nothing here. Raises UsageError unless 0 <= delta <= 1.
        """
        delta = _one_of("delta", delta, target_delta)
        if not 0 <= delta <= 1:
            raise UsageError(f"delta is between 0 and 1, not {delta!r}")
        return self.profile.eps(delta)

    def get_delta(self, epsilon: float | None = None, *, target_epsilon: float | None = None) -> float:
        """The least delta that is certified at epsilon >= 0; `target_epsilon` is its name in dp_accounting."""
        epsilon = _one_of("epsilon", epsilon, target_epsilon)
        if not epsilon >= 0:
            raise UsageError(f"epsilon is 0 or more, not {epsilon!r}")
        if math.isinf(epsilon):
            return 1.0 if any(map(_without_noise, self._composed)) else 0.0
        return self.profile.delta(epsilon) if self._composed else 0.0

    def get_mu(self, floor: float) -> float:
        """mu of Gaussian differential privacy, rounded up: no delta above the floor is larger than that of mu."""
        return mu_up_to(self.profile, floor) if self._composed else 0.0

    @cached_property
    def profile(self) -> Curve:
        """Trade-offs of what is composed so far: delta at epsilon, advantage, rates, Bayes error."""
        if any(_without_noise(part) for part in self._composed):
            return Curve(lambda delta: math.inf, direct=lambda eps: 1.0)
        kinds = [part for part in self._composed if isinstance(part, StepKind) and math.isfinite(part.noise_multiplier)]
        others = [part for part in self._composed if not isinstance(part, StepKind)]
        if others:
            return self._by_renyi([*kinds, *others])
        if all(kind.sampling_probability == 1 and kind.sampler != "truncated-poisson" for kind in kinds):
            each = math.fsum(kind.steps / kind.noise_multiplier**2 for kind in kinds)
            mu = math.sqrt(each) * distance(self.neighboring_relation)
            return Curve(lambda delta: eps_of(mu, delta), mu=mu)
        # the other data set has one record fewer, or one more
        more = (0, 1) if any(kind.sampler == "truncated-poisson" for kind in kinds) else (0,)
        curves = [Steps((self._loss(kind, added), kind.steps) for kind in kinds).curve for added in more]
        return curves[0] if len(curves) == 1 else larger(curves)

    def _by_renyi(self, parts: Sequence[Part]) -> Curve:
        """The profile of parts that are known by Renyi curves, at least in part."""
        rdp, straight = self._rdp(parts), all(isinstance(part, ZeroConcentrated) for part in parts)

        def eps(delta: float) -> float:
            if not 0 < delta < 1:
                return 0.0 if delta else math.inf
            return renyi.eps_of_curve(rdp, delta, wide=straight)[0]

        direct = (lambda eps: renyi.delta_of_curve(rdp, eps, wide=True)) if straight else None
        return Curve(eps, direct=direct)

    def _rdp(self, parts: Sequence[Part]) -> Callable[[float], float]:
        """The sum of the Renyi divergences of parts at an order."""

        def of(part: Part) -> Callable[[float], float]:
            if isinstance(part, ZeroConcentrated):
                return lambda order: part.xi + part.rho * order
            if isinstance(part, StepKind):
                nothing = part.sampling_probability == 0 or math.isinf(part.noise_multiplier)
                return (lambda order: 0.0) if nothing else self._loss(part).rdp
            run = Accountant(self.neighboring_relation)
            run._take(part.run)
            return cache(best_of(self._rdp(part.run), run.profile.delta, part.mean, part.shape))

        curves = [(of(part), part.steps) for part in parts]
        return cache(lambda order: math.fsum(steps * curve(order) for curve, steps in curves))

    @property
    def history(self) -> list[tuple[float, float, int]]:
        """(noise multiplier, sampling probability, steps) of all that is composed, which has to be Gaussian steps.

        What is assigned are steps on Poisson batches, in place of all that was composed.
        """
        kinds = [part for part in self._composed if isinstance(part, StepKind)]
        if len(kinds) < len(self._composed):
            raise UsageError("a history is one of Gaussian steps: this accountant has other events", "use ledger")
        return [(kind.noise_multiplier, kind.sampling_probability, kind.steps) for kind in kinds]

    @history.setter
    def history(self, entries: Sequence[tuple[float, float, int]]) -> None:
        other = Accountant(self.neighboring_relation)
        other._take([StepKind("poisson", float(noise), float(rate), int(steps)) for noise, rate, steps in entries])
        self._replace(other)

    @property
    def ledger(self) -> Any:
        """What is composed, as an event of dp_accounting, which has to be installed."""
        import dp_accounting

        def event(tree: Any) -> Any:
            if not isinstance(tree, list):
                return tree
            if tree and tree[0] == "dp_accounting.dp_event":
                return getattr(dp_accounting.dp_event, tree[1])(*map(event, tree[2:]))
            return [event(each) for each in tree]

        parts = [event(tree_of(part)) for part in self._composed]
        return dp_accounting.ComposedDpEvent(parts) if parts else dp_accounting.NoOpDpEvent()

    def __len__(self) -> int:
        """Steps that are accounted."""
        return sum(part.steps for part in self._composed)

    @classmethod
    def mechanism(cls) -> str:
        """The name of this way to account, for programs that store it."""
        return "dpexp"

    def state_dict(self, destination: MutableMapping[str, Any] | None = None) -> MutableMapping[str, Any]:
        """What `load_state_dict` takes, of plain values; written into `destination` where one is given."""
        state: MutableMapping[str, Any] = {} if destination is None else destination
        if all(isinstance(part, StepKind) for part in self._composed):
            state["history"] = self.history
        state["events"] = [tree_of(part) for part in self._composed]
        state["mechanism"], state["relation"] = self.mechanism(), self.neighboring_relation
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Account what another accountant has: one of these, or one of Opacus, whose steps are on Poisson batches."""
        other = Accountant(state_dict.get("relation", self.neighboring_relation))
        if "events" in state_dict:
            for tree in state_dict["events"]:
                other.compose(tree)
        elif "history" in state_dict:
            other.history = state_dict["history"]
        else:
            raise UsageError("a state has a history: [(noise multiplier, sample rate, steps), ...]")
        self._replace(other)

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """A function that accounts a step of an Opacus optimizer: `optimizer.attach_step_hook(...)`."""

        def hook(optimizer: Any) -> None:
            rate = sample_rate * optimizer.accumulated_iterations
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=rate)

        return hook

    def _replace(self, other: Accountant) -> None:
        """Account what another one does, and nothing else."""
        vars(self).clear()
        vars(self).update(vars(other))

    def _take(self, parts: Sequence[Part]) -> None:
        """Account parts, all of them or none; those that are there already are counted up."""
        for part in parts:
            self._check(part)
        vars(self).pop("profile", None)
        for part in parts:
            if _releases_nothing(part):
                continue
            alike = [k for k, own in enumerate(self._composed) if own._replace(steps=part.steps) == part]
            if alike:
                self._composed[alike[0]] = part._replace(steps=self._composed[alike[0]].steps + part.steps)
            else:
                self._composed.append(part)

    def _check(self, kind: Part) -> None:
        """Raises UsageError for numbers that make no step, and for batches that the relation does not define."""
        if not isinstance(kind, StepKind):
            for part in kind.run if isinstance(kind, BestOfRuns) else ():
                self._check(part)
            return
        if not (kind.noise_multiplier >= 0 and 0 <= kind.sampling_probability <= 1 and kind.steps >= 0):
            values = f"noise {kind.noise_multiplier} and share {kind.sampling_probability}, {kind.steps} times"
            raise UsageError(f"a step has noise of 0 or more and a share of records of 0 to 1, not {values}")
        only = {"fixed-size": "replace-one", "truncated-poisson": "add-remove"}.get(kind.sampler)
        if only not in (None, self.neighboring_relation):
            raise UsageError(f"{kind.sampler} batches are accounted for {only} neighbours alone")

    def _loss(self, kind: StepKind, added: int = 0) -> StepLoss:
        if kind.sampler == "truncated-poisson":
            assert kind.records is not None and kind.cap is not None  # noqa: PT018
            return truncated(kind.records + added, kind.sampling_probability, kind.cap, kind.noise_multiplier)
        sampling: Sampling = "fixed-size" if kind.sampler == "fixed-size" else "poisson"  # of all records if q is 1
        q, noise = kind.sampling_probability, kind.noise_multiplier
        return step_loss(*random_step(q, noise, sampling, self.neighboring_relation))


def _releases_nothing(part: Part) -> bool:
    if isinstance(part, BestOfRuns) and all(map(_releases_nothing, part.run)):
        return True
    if isinstance(part, ZeroConcentrated) and part.rho == part.xi == 0:
        return True
    return part.steps == 0 or (isinstance(part, StepKind) and part.sampling_probability == 0)


def _without_noise(part: Part) -> bool:
    if isinstance(part, BestOfRuns):
        return any(map(_without_noise, part.run))
    return isinstance(part, StepKind) and part.noise_multiplier == 0


def _one_of(name: str, *given: float | None) -> float:
    """The one of two names of a number that is given."""
    values = [value for value in given if value is not None]
    if len(values) != 1:
        raise TypeError(f"give {name}, once")
    return float(values[0])


@cache
def _refusal(loaded: bool) -> type[UsageError]:
    """The error of an event that is not accounted: that of dp_accounting too, once a program has loaded it."""
    if not loaded:
        return UsageError
    from dp_accounting import UnsupportedEventError

    class Unsupported(UsageError, UnsupportedEventError):  # type: ignore[misc]
        """An event that is not accounted."""

    return Unsupported
