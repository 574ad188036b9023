"""An accountant with the methods of those that programs already call, and certified loss distributions behind them.

    from dpexp.accounting import Accountant

    accountant = Accountant()
    accountant.step(noise_multiplier=1.1, sample_rate=0.004)  # as of Opacus
    accountant.compose(event, 1000)                           # as of dp_accounting
    accountant.get_epsilon(1e-5)

Epsilon and delta are rounded up, whatever delta is. All steps are released. An accountant is told how batches were
drawn and cannot see it: `dpexp receipt` asks what the program did. The import needs numpy and pydantic alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dpexp.core.errors import UsageError
from dpexp.privacy.accounting.gaussian_events import Kind, NotAccounted, kinds_of
from dpexp.privacy.accounting.tradeoff import Profile, profile_of_steps
from dpexp.privacy.analyses.analysis import Relation

if TYPE_CHECKING:
    from dpexp.privacy.accounting.loss_distributions import StepLoss
    from dpexp.privacy.analyses.composition import Sampling


class Accountant:
    """What Gaussian steps on random batches give away of one record.

    `neighboring_relation`: with add-remove a step may be on a Poisson batch, one that is cut to a largest size, or all
    records; with replace-one on a Poisson batch, one of fixed size, or all records, and a record moves the sum by up to
    two norms. Noise multipliers are noise over one record's largest norm.
    """

    def __init__(self, neighboring_relation: Relation = "add-remove") -> None:
        if neighboring_relation not in ("add-remove", "replace-one"):
            raise UsageError(f"neighboring_relation is add-remove or replace-one, not {neighboring_relation!r}")
        self.neighboring_relation = neighboring_relation
        self._kinds: list[Kind] = []

    def compose(self, event: Any, count: int = 1) -> Accountant:
        """Account an event of dp_accounting, or its tree, `count` times.

        Raises UsageError where it is not supported.
        """
        if count < 0:
            raise UsageError(f"an event is composed 0 or more times, not {count}")
        try:
            self._take(kinds_of(_tree(event), count))
        except NotAccounted as error:
            raise UsageError(f"cannot account {error}: nothing of an event is left out") from None
        return self

    def supports(self, event: Any) -> bool:
        """Whether `compose` takes it."""
        try:
            Accountant(self.neighboring_relation).compose(event)
        except UsageError:
            return False
        return True

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Account one step on a Poisson batch of that share of the records."""
        self._take([Kind("poisson", float(noise_multiplier), float(sample_rate), 1)])

    def get_epsilon(self, delta: float) -> float:
        """The least epsilon that is certified at delta; 0 where nothing is composed.

        Raises UsageError unless 0 < delta < 1.
        """
        if not 0 < delta < 1:
            raise UsageError(f"delta is between 0 and 1, not {delta!r}")
        return self.profile.eps(delta)

    def get_delta(self, epsilon: float) -> float:
        """The least delta that is certified at epsilon >= 0."""
        if not epsilon >= 0:
            raise UsageError(f"epsilon is 0 or more, not {epsilon!r}")
        return self.profile.delta(epsilon) if self._kinds else 0.0

    def get_mu(self, floor: float) -> float:
        """mu of Gaussian differential privacy, rounded up: no delta above the floor is larger than that of mu."""
        from dpexp.privacy.accounting.gdp_summary import mu_up_to

        return mu_up_to(self.profile, floor) if self._kinds else 0.0

    @cached_property
    def profile(self) -> Profile:
        """Trade-offs of what is composed so far: delta at epsilon, advantage, rates, Bayes error."""
        from dpexp.privacy.accounting.gdp import eps_of
        from dpexp.privacy.analyses.composition import distance

        kinds = tuple(kind for kind in self._kinds if math.isfinite(kind.noise_multiplier))
        if any(kind.noise_multiplier == 0 for kind in kinds):
            return Profile(lambda delta: math.inf, direct=lambda eps: 1.0)
        if all(kind.sampling_probability == 1 and kind.sampler != "truncated-poisson" for kind in kinds):
            each = math.fsum(kind.steps / kind.noise_multiplier**2 for kind in kinds)
            mu = math.sqrt(each) * distance(self.neighboring_relation)
            return Profile(lambda delta: eps_of(mu, delta), mu=mu)
        steps = tuple((self._loss(kind), kind.steps) for kind in kinds)
        return profile_of_steps(steps)

    @property
    def history(self) -> list[tuple[float, float, int]]:
        """(noise multiplier, sampling probability, steps) of all that is composed."""
        return [(kind.noise_multiplier, kind.sampling_probability, kind.steps) for kind in self._kinds]

    @property
    def ledger(self) -> Any:
        """What is composed, as an event of dp_accounting, which has to be installed."""
        import dp_accounting as dp

        def event(kind: Kind) -> Any:
            noise, q = dp.GaussianDpEvent(kind.noise_multiplier), kind.sampling_probability
            if kind.sampler == "full-batch":
                return noise
            if kind.sampler == "poisson":
                return dp.PoissonSampledDpEvent(q, noise)
            if kind.sampler == "fixed-size":
                return dp.SampledWithoutReplacementDpEvent(kind.records, round(q * (kind.records or 0)), noise)
            return dp.TruncatedSubsampledGaussianDpEvent(kind.records, q, kind.cap, kind.noise_multiplier)

        parts = [dp.SelfComposedDpEvent(event(kind), kind.steps) for kind in self._kinds]
        return dp.ComposedDpEvent(parts) if parts else dp.NoOpDpEvent()

    def __len__(self) -> int:
        """Steps that are accounted."""
        return sum(kind.steps for kind in self._kinds)

    @classmethod
    def mechanism(cls) -> str:
        """The name of this way to account, for programs that store it."""
        return "dpexp"

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes, of plain values."""
        kinds = [list(kind) for kind in self._kinds]
        return {"history": self.history, "kinds": kinds, "mechanism": "dpexp", "relation": self.neighboring_relation}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Account what another accountant has: one of these, or one of Opacus, whose steps are on Poisson batches."""
        if "kinds" not in state and "history" not in state:
            raise UsageError("a state has a history: [(noise multiplier, sample rate, steps), ...]")
        given = state["kinds"] if "kinds" in state else [("poisson", *entry) for entry in state["history"]]
        other = Accountant(state.get("relation", self.neighboring_relation))
        other._take([Kind(*kind) for kind in given])
        vars(self).clear()
        vars(self).update(vars(other))

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """A function that accounts a step of an Opacus optimizer: `optimizer.attach_step_hook(...)`."""

        def hook(optimizer: Any) -> None:
            rate = sample_rate * optimizer.accumulated_iterations
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=rate)

        return hook

    def _take(self, kinds: list[Kind]) -> None:
        """Account kinds of steps, all of them or none; those that are there already are counted up."""
        for kind in kinds:
            self._check(kind)
        vars(self).pop("profile", None)
        for kind in kinds:
            if kind.steps == 0 or kind.sampling_probability == 0:
                continue
            alike = [k for k, own in enumerate(self._kinds) if own._replace(steps=kind.steps) == kind]
            if alike:
                self._kinds[alike[0]] = kind._replace(steps=self._kinds[alike[0]].steps + kind.steps)
            else:
                self._kinds.append(kind)

    def _check(self, kind: Kind) -> None:
        """Raises UsageError for numbers that make no step, and for batches that the relation does not define."""
        if not (kind.noise_multiplier >= 0 and 0 <= kind.sampling_probability <= 1 and kind.steps >= 0):
            given = f"noise {kind.noise_multiplier} and share {kind.sampling_probability}, {kind.steps} times"
            raise UsageError(f"a step has noise of 0 or more and a share of records of 0 to 1, not {given}")
        only = {"fixed-size": "replace-one", "truncated-poisson": "add-remove"}.get(kind.sampler)
        if only not in (None, self.neighboring_relation):
            raise UsageError(f"{kind.sampler} batches are accounted for {only} neighbours alone")

    def _loss(self, kind: Kind) -> StepLoss:
        from dpexp.privacy.accounting.loss_distributions import step_loss
        from dpexp.privacy.accounting.mixed_steps import truncated
        from dpexp.privacy.analyses.composition import random_step

        if kind.sampler == "truncated-poisson":
            assert kind.records is not None
            assert kind.cap is not None
            return truncated(kind.records, kind.sampling_probability, kind.cap, kind.noise_multiplier)
        sampling: Sampling = "fixed-size" if kind.sampler == "fixed-size" else "poisson"  # of all records if q is 1
        return step_loss(
            *random_step(kind.sampling_probability, kind.noise_multiplier, sampling, self.neighboring_relation)
        )


def _tree(event: Any) -> Any:
    """The tree of an event that can say it, and any other value as it is."""
    named = getattr(event, "to_named_tuple", None)
    return event if named is None else named()
