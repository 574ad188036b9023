"""`dpexp privacy --mechanism` and `dpexp calibrate`: statements, edges, errors, and targets that are never overspent."""

import math

import numpy as np
import pytest

from dpexp.accounting.gaussian import mu_of
from dpexp.accounting.search import Unreachable
from dpexp.commands.mechanism_arguments import mechanism_of
from dpexp.core.errors import UsageError
from dpexp.privacy.analyses.analysis import ALL, guarantee
from dpexp.privacy.calibration import calibrate
from dpexp.privacy.mechanisms import ANALYSES, MECHANISMS, every_analysis
from dpexp.privacy.momentum.left_nodes import left_sensitivities
from dpexp.privacy.momentum.trees import fixed_order, printed_count
from dpexp.privacy.samplings import share_and_steps
from dpexp.reporting.statement import statement_of_mechanism
from tests.conftest import AT_LENGTH, at_length, share

NOISY = {
    "n": 10_000, "batch_size": 100, "step_size": 0.01, "noise_std": 1.0, "lipschitz": 1.0, "diameter": 1.0,
    "smoothness": 1.0, "steps": 10_000_000,
}  # fmt: skip
EXAMPLES = {
    "local-gaussian": {"mu": 1.0},
    "shuffled-messages": {"n": 100, "message": "any", "pure_eps": 2.0},
    "sampled-gaussian": {"noise_multiplier": 1.1, "sampling_probability": 0.01, "steps": 300},
    "epoch-gaussian": {"noise_multiplier": 1.1, "batches": 20, "epochs": 3},
    "truncated-poisson": {"n": 1000, "sampling_probability": 0.05, "cap": 60, "noise_multiplier": 1.1, "steps": 100},
    "shown-sizes": {"n": 300, "sampling_probability": 0.05, "noise_multiplier": 2.2, "steps": 100},
    "k-of-t": {"noise_multiplier": 1.1, "steps_per_epoch": 20, "selected": 3, "epochs": 3},
    "cap-sampling": {"pure_eps": 1.0, "dimension": 7},
    "private-selection": {"noise_multiplier": 1.1, "sampling_probability": 0.01, "steps": 300, "runs": 5.0, "shape": 1.0},
    "noisy-sgd": NOISY,
    "clipped-noisy-sgd": {"n": 1000, "batch_size": 1, "step_size": 0.5, "clip": 1.0, "diameter": 1.0, "noise_std": 1.0, "steps": 1000},
    "langevin": {"n": 1000, "batch_size": 100, "step_size": 0.5, "sigma": 0.3, "lipschitz": 1.0, "strong_convexity": 0.1, "smoothness": 1.0, "steps": 5000},
    "tree-momentum": {"n": 100, "steps": 1000, "momentum": 0.01, "lipschitz": 1.0, "sigma": 2.0},
    "reduced-momentum": {"n": 100, "steps": 1000, "momentum": 0.01, "step_size": 0.003, "lipschitz": 1.0, "smoothness": 1.0, "sigma": 2.0},
    "gradient-recursion": {"n": 100, "steps": 50, "step_size": 0.05, "weight": 0.1, "lipschitz": 1.0, "smoothness": 1.0, "sigma": 2.0},
}  # fmt: skip


def of(name, **changes):
    return MECHANISMS[name](**{**EXAMPLES[name], **changes})


def analysis(mechanism, name):
    (found,) = [a for a in mechanism.upper_bounds() if a.name == name]
    return found


def best(mechanism, delta=1e-5):
    return min(a.eps(delta) for a in mechanism.upper_bounds() if a.valid)


def test_every_mechanism_has_an_example():
    assert set(EXAMPLES) == set(MECHANISMS)


@pytest.mark.slow
@pytest.mark.parametrize("name", share(sorted(MECHANISMS if AT_LENGTH else MECHANISMS.keys() - {"noisy-sgd", "clipped-noisy-sgd", "langevin", "shuffled-messages"})))  # fmt: skip
def test_the_mu_of_a_statement_covers_its_epsilons_and_no_smaller_one_does(name):
    """delta(eps) <= max(delta_mu(eps), floor): at deltas between those of the search, and nearly attained at one."""
    statement = statement_of_mechanism(name, of(name), [1e-5])
    document = statement.document()["best"]
    for kind, analysis in statement.parts[0].best.items():
        mu, floor = document[kind]["gdp"]["mu"], document[kind]["gdp"]["floor"]
        most = analysis.advantage * (1 - 1e-9)
        asked = most * ((floor or 1e-15) / most) ** np.linspace(0, 1, 33)
        places = [(analysis.eps(delta), delta) for delta in asked]
        # an analysis may know less of epsilon at a delta than of delta at that epsilon
        places = [(eps, delta if mu_of(eps, delta) <= mu else analysis.delta(eps)) for eps, delta in places]
        needed = max(mu_of(*place) for place in [(0.0, analysis.advantage), *places])
        assert needed * (1 - 1e-12) <= mu <= 1.02 * needed


def test_golden_epsilons_of_noisy_sgd():
    mechanism = of("noisy-sgd")
    for name, eps in (("iteration-literal", 1.1581146), ("iteration-symmetrised", 1.1651436)):
        assert analysis(mechanism, name).eps(1e-5) == pytest.approx(eps, rel=2e-5)
    assert not analysis(mechanism, "iteration-literal").valid
    assert analysis(mechanism, "iteration-symmetrised").valid


CALIBRATED = {"clipped-noisy-sgd": {"n": 100, "batch_size": 10, "steps": 100}, "noisy-sgd": {"steps": 100_000}}
"""sizes of what is calibrated, where they differ from the examples: a search evaluates every analysis some forty times, and
the hybrid bound, which is the best here as there, takes time in proportion to the steps"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "eps"), [
    ("local-gaussian", 0.3), ("noisy-sgd", 0.3), ("langevin", 2.0), ("tree-momentum", 0.3), ("clipped-noisy-sgd", 2.0),
    pytest.param("noisy-sgd", 2.0, marks=at_length), pytest.param("langevin", 0.3, marks=at_length),
])  # fmt: skip
def test_calibration_meets_the_target_and_wastes_nothing(name, eps):
    kind = MECHANISMS[name]

    def at(value):
        return of(name, **{**CALIBRATED.get(name, {}), kind.noise_field: value})

    found = calibrate(at, kind, lambda a: a.eps(1e-5), eps, "last-iterate")
    assert found.spent <= eps
    less = found.value * (0.999 if kind.more_noise_is_larger else 1.001)
    assert analysis(at(less), found.analysis).eps(1e-5) > eps
    assert best(at(found.value)) == pytest.approx(found.spent, rel=1e-3)


def test_a_gdp_target_is_met_only_by_analyses_that_state_gdp():
    """An epsilon at one delta is no mu: Renyi and privacy-loss analyses are not used."""

    def by_mu(a):
        return math.inf if a.mu is None else a.mu

    tree = (lambda v: of("tree-momentum", sigma=v), MECHANISMS["tree-momentum"], by_mu, 0.5, "all-iterates")
    found, exact = calibrate(*tree, "tree-composition"), calibrate(*tree)
    assert found.value == pytest.approx(2.0, rel=1e-7)
    held = left_sensitivities(fixed_order(100, 1000), 0.01).max() / printed_count(100, 1000)
    assert exact.analysis == "exact-sensitivities"
    assert exact.value == pytest.approx(
        math.sqrt(held), rel=1e-7
    )  # 1 / sigma would be 2; the printed noise is 2 sqrt(V)
    for name, field, more, words in (
        ("clipped-noisy-sgd", "noise_std", {}, "no noise"),
        ("reduced-momentum", "sigma", {"order": "reshuffled"}, "no valid analysis"),
    ):
        with pytest.raises(Unreachable, match=words):
            calibrate(lambda v, name=name, f=field, more=more: of(name, **{f: v}, **more), MECHANISMS[name], by_mu, 0.5, "last-iterate")  # fmt: skip


def test_sizes_and_epochs_stand_for_shares_and_steps():
    sizes = {"n": 60_000, "batch_size": 256, "noise_multiplier": 1.1}
    assert mechanism_of("sampled-gaussian", {**sizes, "epochs": 60}) == mechanism_of(
        "sampled-gaussian", {"sampling_probability": 256 / 60_000, "steps": 14_100, "noise_multiplier": 1.1}
    )
    assert mechanism_of("shown-sizes", {**sizes, "steps": 9}).n == 60_000
    cut = mechanism_of("epoch-gaussian", {**sizes, "epochs": 60, "sampling": "reshuffled"})
    # 234 whole batches; at most 61 epochs of them, and 96 records of 60,000 in none
    assert (cut.batches, cut.epochs, cut.unfinished, cut.left_out) == (234, 60, 60, pytest.approx(96 / 60_000))
    assert mechanism_of("epoch-gaussian", {"noise_multiplier": 1.0, "batches": 10, "epochs": 2}).left_out == 0
    full = mechanism_of("sampled-gaussian", {"sampling": "full-batch", "steps": 5, "noise_multiplier": 1.0})
    assert full.sampling_probability == 1
    every = {"selected": 4, "steps_per_epoch": 4, "epochs": 3}
    assert share_and_steps(every) == {"sampling_probability": 1, "steps": 12}
    for wrong in (
        {"steps": 9, "epochs": 60},
        {"sampling_probability": 0.1, "steps": 9},
        {"batch_size": 10**6, "steps": 9},
    ):
        with pytest.raises(UsageError):
            mechanism_of("sampled-gaussian", {**sizes, **wrong})


@pytest.mark.parametrize("value", [math.nan, -1.0, None])
def test_an_analysis_of_a_plug_in_states_a_number_or_is_an_error_at_its_line(value):
    mine = guarantee("mine", "", ALL, lambda delta: value, (), direct=lambda eps: value)
    ANALYSES.add("local-gaussian/mine", lambda mechanism: mine, "mine.py:3")
    try:
        for ask in ("eps", "delta"):
            with pytest.raises(UsageError, match=r"mine\.py:3"):
                getattr(every_analysis(MECHANISMS["local-gaussian"](mu=1.0))[-1], ask)(1e-5)
    finally:
        ANALYSES.remove("local-gaussian/mine")
