"""Mechanisms as events of dp_accounting: serialisation, its calibration with our accountant, what is refused."""

import math

import pytest

from dpexp.privacy.mechanisms import MECHANISMS
from tests.privacy.test_mechanisms import EXAMPLES, of

dp_accounting = pytest.importorskip("dp_accounting")
events = pytest.importorskip("dpexp.privacy.accounting.events")


@pytest.mark.parametrize("name", MECHANISMS)
def test_events_survive_serialisation(name):
    mechanism = of(name)
    event = events.event_of(mechanism)
    again = dp_accounting.DpEvent.from_named_tuple(event.to_named_tuple())
    assert again == event
    assert events.mechanism_of(again) == mechanism
    other = {MECHANISMS[name].noise_field: EXAMPLES[name][MECHANISMS[name].noise_field] * 2}
    assert events.event_of(of(name, **other)) != event


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "released", "relation", "start"),
    [
        ("clipped-noisy-sgd", "last-iterate", "replace-one", 1.0),
        ("tree-momentum", "all-iterates", "replace-one", 1.0),
        ("sampled-gaussian", "all-iterates", "add-remove", 1.0),
    ],
)
def test_their_calibration_with_our_accountant_never_overspends(name, released, relation, start):
    field = MECHANISMS[name].noise_field
    shorter = {"steps": 20} if name == "clipped-noisy-sgd" else {}

    def build(noise):
        return of(name, **shorter, **{field: float(noise)})

    found = dp_accounting.calibrate_dp_mechanism(
        lambda: events.MechanismAccountant(released, relation),
        lambda noise: events.event_of(build(noise)),
        target_epsilon=1.5,
        target_delta=1e-5,
        bracket_interval=dp_accounting.ExplicitBracketInterval(0.3, 5.0),
        tol=1e-3,
    )

    def spent(noise):
        accountant = events.MechanismAccountant(released, relation)
        return accountant.compose(events.event_of(build(noise))).get_epsilon(1e-5)

    assert spent(found) <= 1.5
    assert spent(found - 0.01) > 1.5


def test_the_accountant_states_what_the_mechanism_states():
    mechanism = of("tree-momentum", calibration="exact")
    accountant = events.MechanismAccountant("all-iterates")
    assert accountant.get_epsilon(1e-5) == 0
    accountant.compose(events.event_of(mechanism))
    (stated,) = mechanism.analyses()
    assert accountant.get_epsilon(1e-5) == stated.eps(1e-5)
    delta = accountant.get_delta(1.0)
    assert accountant.get_epsilon(delta) <= 1.0
    assert accountant.get_epsilon(delta * 0.999) > 1.0
    twice = events.MechanismAccountant("all-iterates").compose(
        dp_accounting.SelfComposedDpEvent(events.event_of(mechanism), 2)
    )
    one_by_one = events.MechanismAccountant("all-iterates").compose(
        dp_accounting.ComposedDpEvent([events.event_of(mechanism)] * 2)
    )
    assert twice.get_epsilon(1e-5) == pytest.approx(one_by_one.get_epsilon(1e-5), rel=1e-12)
    assert twice.get_epsilon(1e-5) > stated.eps(1e-5)
    exact = of("tree-momentum", calibration="exact", sigma=EXAMPLES["tree-momentum"]["sigma"] / math.sqrt(2))
    exact = exact.analyses()[0].eps(1e-5)
    assert exact <= twice.get_epsilon(1e-5) <= 1.2 * exact  # Renyi composition is above the Gaussian one


def test_events_that_are_not_covered_are_refused():
    accountant = events.MechanismAccountant("last-iterate")
    gaussian = dp_accounting.GaussianDpEvent(1.0)
    assert not accountant.supports(gaussian)
    with pytest.raises(dp_accounting.UnsupportedEventError, match="no mechanism of dpexp"):
        accountant.compose(gaussian)
    mixed = dp_accounting.ComposedDpEvent([events.event_of(of("tree-momentum")), gaussian])
    assert not accountant.supports(mixed)
    assert not accountant.supports(events.event_of(of("sampled-gaussian")))  # neighbours differ
    assert not accountant.supports(events.event_of(of("sampled-gaussian", sampling="fixed-size")))
    assert accountant.supports(dp_accounting.NoOpDpEvent())
    assert accountant.get_epsilon(1e-5) == 0
