"""Mechanisms as events of dp_accounting, and our analyses as one of its accountants.

    accountant = MechanismAccountant("last-iterate")
    calibrate_dp_mechanism(lambda: MechanismAccountant("last-iterate"), lambda s: event_of(NoisySgd(noise_std=s, ...)),
                           target_epsilon, target_delta)

Importing this module imports dp_accounting, which the extra `dp-accounting` installs; nothing else of dpexp needs it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dpexp.core.bisection import narrow
from dpexp.privacy.accounting.conversions import eps_of_curve
from dpexp.privacy.accounting.tradeoff import Profile
from dpexp.privacy.analyses.analysis import Analysis, Released
from dpexp.privacy.mechanisms import MECHANISMS, Mechanism

try:  # its classes are bases of those below, so that they cannot be imported later
    import attr
    from dp_accounting import (
        ComposedDpEvent,
        DpEvent,
        NeighboringRelation,
        NoOpDpEvent,
        PrivacyAccountant,
        SelfComposedDpEvent,
    )
except ImportError as error:
    raise ImportError(
        f"dpexp.privacy.accounting.events needs dp_accounting ({error}): pip install 'dpexp[dp-accounting]'"
    ) from None

RELATIONS = {
    "replace-one": NeighboringRelation.REPLACE_ONE,
    "add-remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
}


@attr.s(frozen=True, auto_attribs=True)
class MechanismEvent(DpEvent):
    """A mechanism of dpexp; converts to and from named tuples like every event."""

    parameters: Mapping[str, Any]
    """its parameters, and under "mechanism" its name (a field of its own would be converted to a list of letters)"""


def event_of(mechanism: Mechanism) -> MechanismEvent:
    """The event of a mechanism. Raises KeyError for a mechanism that has no name."""
    names = {kind: name for name, kind in MECHANISMS.items()}
    return MechanismEvent({"mechanism": names[type(mechanism)], **mechanism.model_dump()})


def mechanism_of(event: MechanismEvent) -> Mechanism:
    """The mechanism of an event. Raises KeyError or ValueError where it is none."""
    parameters = dict(event.parameters)
    return MECHANISMS[parameters.pop("mechanism")](**parameters)


class MechanismAccountant(PrivacyAccountant):
    """The best valid analysis of what is released: one mechanism, or several composed by their Renyi curves.

    Several mechanisms in a row are covered with all iterates released, and with last iterates released one after the
    other on the same data: their divergences add. Neighbours are those of the relation; an event of another is refused.
    """

    def __init__(self, released: Released, neighboring_relation: str = "replace-one") -> None:
        super().__init__(RELATIONS[neighboring_relation])
        self._released, self._relation = released, neighboring_relation
        self._parts: list[tuple[list[Analysis], int]] = []

    def _maybe_compose(
        self, event: DpEvent, count: int, do_compose: bool
    ) -> PrivacyAccountant.CompositionErrorDetails | None:
        if isinstance(event, NoOpDpEvent):
            return None
        if isinstance(event, SelfComposedDpEvent):
            return self._maybe_compose(event.event, event.count * count, do_compose)
        if isinstance(event, ComposedDpEvent):
            failures = (self._maybe_compose(part, count, do_compose) for part in event.events)
            return next((failure for failure in failures if failure is not None), None)
        if not isinstance(event, MechanismEvent):
            return self.CompositionErrorDetails(event, f"{type(event).__name__} is no mechanism of dpexp")
        mechanism = mechanism_of(event)
        if mechanism.neighboring_relation != self._relation:
            return self.CompositionErrorDetails(event, f"the neighbours are {mechanism.neighboring_relation}")
        analyses = [a for a in mechanism.analyses() if a.valid and self._covers(a)]
        if not analyses:
            return self.CompositionErrorDetails(event, f"no valid analysis covers its {self._released}")
        if do_compose:
            self._parts.append((analyses, count))
        return None

    def _covers(self, analysis: Analysis) -> bool:
        return self._released == "last-iterate" or analysis.released == "all-iterates"

    def get_epsilon(self, target_delta: float) -> float:
        """The smallest epsilon of the valid analyses at delta; 0 where nothing has been composed."""
        if not self._parts:
            return 0.0
        if len(self._parts) == 1 and self._parts[0][1] == 1:
            return min(a.eps(target_delta) for a in self._parts[0][0])
        return eps_of_curve(self._rdp, target_delta)[0]

    def get_delta(self, target_epsilon: float) -> float:
        """The smallest delta, rounded up, at which epsilon is met; it falls as epsilon grows."""
        safe, unsafe = 0.0, math.log(1e300)  # -log delta: the first meets epsilon, the second does not
        if self.get_epsilon(math.exp(-unsafe)) <= target_epsilon:
            return 0.0
        found = narrow(lambda x: self.get_epsilon(math.exp(-x)) <= target_epsilon, unsafe, safe, absolute=1e-9)
        return math.exp(-found.above)

    @property
    def profile(self) -> Profile:
        """Trade-offs of what is composed: delta at epsilon, advantage, rates, Bayes error, groups."""
        return Profile(self.get_epsilon)

    def _rdp(self, order: float) -> float:
        """Sum over the mechanisms of the least Renyi divergence that one of their analyses states."""
        total = 0.0
        for analyses, count in self._parts:
            total += count * min((a.rdp(order) for a in analyses if a.rdp is not None), default=math.inf)
        return total
