"""`dpexp.accounting.Accountant`: the interfaces that programs call, random event trees beside dp_accounting, refusals."""

import math
import random
from types import SimpleNamespace

import pytest

from dpexp.accounting import Accountant
from dpexp.core.errors import UsageError
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.privacy.mechanisms.sum_samplers import TruncatedPoisson
from tests.conftest import ROOT, share
from tools.accountants import ROWS, SUMMARY


def tree(name, *fields):
    return ["dp_accounting.dp_event", f"{name}DpEvent", *fields]


def gaussian(z=1.0):
    return tree("Gaussian", z)


def poisson(q=0.01, z=1.0):
    return tree("PoissonSampled", q, gaussian(z))


def test_steps_of_a_training_loop_are_the_statement():
    accountant = Accountant()
    for _ in range(1000):
        accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    assert len(accountant) == 1000
    assert accountant.history == [(1.0, 0.01, 1000)]
    assert accountant.get_epsilon(delta=1e-5) == pytest.approx(1.8283, abs=1e-4)
    assert accountant.get_mu(1e-5) == pytest.approx(0.46276, abs=1e-4)
    assert accountant.get_delta(accountant.get_epsilon(1e-5)) <= 1e-5 * (1 + 1e-9)


def test_the_state_is_kept_and_that_of_opacus_is_understood():
    whole = Accountant("replace-one").compose(tree("SampledWithoutReplacement", 1000, 50, gaussian(1.3)), 40)
    again = Accountant()
    again.load_state_dict(whole.state_dict())
    assert again.state_dict() == whole.state_dict()
    assert again.get_epsilon(1e-6) == whole.get_epsilon(1e-6)
    again = Accountant()
    again.load_state_dict({"history": [(1.0, 0.01, 400), (1.0, 0.01, 600)], "mechanism": "rdp"})
    assert again.history == [(1.0, 0.01, 1000)]


def test_a_step_hook_counts_what_is_accumulated():
    accountant = Accountant()
    hook = accountant.get_optimizer_hook_fn(0.01)
    for accumulated in (1, 2, 1):
        hook(SimpleNamespace(noise_multiplier=2.0, accumulated_iterations=accumulated))
    assert accountant.history == [(2.0, 0.01, 2), (2.0, 0.02, 1)]


def test_two_looks_at_one_batch_are_not_two_batches():
    one = Accountant().compose(tree("PoissonSampled", 0.1, tree("SelfComposed", gaussian(2.0), 4)), 10)
    assert one.history == [(1.0, 0.1, 10)]
    mixed = Accountant().compose(tree("PoissonSampled", 0.1, tree("Composed", [gaussian(2.0), gaussian(1.0)])))
    assert mixed.history[0][0] == pytest.approx(1 / math.sqrt(1.25))


SAMPLED = {"noise_multiplier": 0.8, "sampling_probability": 0.02, "steps": 500}
EVENTS = [
    ("add-remove", poisson(0.02, 0.8), {}),
    ("replace-one", poisson(0.02, 0.8), {}),
    ("replace-one", tree("SampledWithoutReplacement", 100, 2, gaussian(0.8)), {"sampling": "fixed-size"}),
    ("replace-one", gaussian(30.0), {"noise_multiplier": 30.0, "sampling_probability": 1, "sampling": "full-batch"}),
    ("add-remove", tree("TruncatedSubsampledGaussian", 100, 0.05, 8, 1.5),
     {"n": 100, "sampling_probability": 0.05, "cap": 8, "noise_multiplier": 1.5}),
]  # fmt: skip


@pytest.mark.parametrize(("relation", "event", "values"), EVENTS)
def test_every_kind_of_step_is_what_the_mechanism_states(relation, event, values):
    accountant = Accountant(relation).compose(event, 500)
    kind = TruncatedPoisson if "cap" in values else SampledGaussian
    mechanism = kind(**SAMPLED | {"neighboring_relation": relation} | values)
    stated = min(a.eps(1e-6) for a in mechanism.upper_bounds() if a.valid)
    assert accountant.get_epsilon(1e-6) == pytest.approx(stated, rel=1e-6)


REFUSED = {
    "a mechanism that is not Gaussian": tree("Laplace", 1.0),
    "something in a composition": tree("Composed", [poisson(), tree("RandomizedResponse", 0.1, 4)]),
    "a sampled event in a sampled one": tree("PoissonSampled", 0.1, poisson()),
    "no event": 3,
    "a share above 1": poisson(1.5),
    "noise that is no number": poisson(0.1, math.nan),
    "noise that is a word": poisson(0.1, "x"),
    "no fields": tree("PoissonSampled"),
    "fields that are missing": tree("TruncatedSubsampledGaussian", 10, 0.1),
    "parts that are no list": tree("Composed", 3),
    "batches of no records": tree("SampledWithoutReplacement", 0, 1, gaussian()),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_accounted_is_refused_whole(what):
    accountant = Accountant().compose(poisson(), 3)
    assert not accountant.supports(REFUSED[what])
    with pytest.raises(UsageError):
        accountant.compose(REFUSED[what])
    assert len(accountant) == 3


def test_batches_that_the_relation_does_not_define_are_refused():
    assert not Accountant().supports(tree("SampledWithoutReplacement", 100, 5, gaussian()))
    assert not Accountant("replace-one").supports(tree("TruncatedSubsampledGaussian", 100, 0.1, 20, 1.0))
    with pytest.raises(UsageError, match="relation"):
        Accountant("zero-out")
    for delta in (-1, 2, math.nan):
        with pytest.raises(UsageError, match="delta"):
            Accountant().get_epsilon(delta)


def test_nothing_costs_nothing_and_no_noise_has_no_guarantee():
    assert Accountant().get_epsilon(1e-5) == 0
    assert Accountant().compose(poisson(), 0).get_epsilon(1e-5) == 0
    bare = Accountant().compose(poisson(0.1, 0.0))
    assert bare.get_epsilon(1e-5) == math.inf
    assert bare.get_delta(3.0) == 1


def random_tree(rng, depth=0):
    kind = rng.choice(["one", "one", "self", "all"]) if depth < 2 else "one"
    if kind == "self":
        return tree("SelfComposed", random_tree(rng, depth + 1), rng.randint(1, 6))
    if kind == "all":
        return tree("Composed", [random_tree(rng, depth + 1) for _ in range(rng.randint(1, 3))])
    noise = gaussian(round(rng.uniform(0.8, 5), 2))
    return rng.choice([noise, tree("PoissonSampled", round(rng.uniform(0.01, 0.3), 3), noise), tree("NoOp")])


@pytest.mark.parametrize("seed", share(range(300), 100))
def test_random_trees_beside_dp_accounting(seed):
    """Its loss distributions at its default grid, which agree at delta = 1e-5; and its own reading of each tree."""
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    rng = random.Random(seed)
    event = Accountant().compose(random_tree(rng)).ledger
    ours, theirs = Accountant(), PLDAccountant()
    assert ours.supports(event) == theirs.supports(event) is True
    times = rng.randint(1, 5)
    found, beside = ours.compose(event, times).get_epsilon(1e-5), theirs.compose(event, times).get_epsilon(1e-5)
    assert found == pytest.approx(beside, rel=3e-3, abs=1e-4)
    assert Accountant().compose(ours.ledger).get_epsilon(1e-5) == pytest.approx(found, rel=1e-6)


@pytest.mark.slow
def test_their_calibration_takes_it():
    dp = pytest.importorskip("dp_accounting")

    def event(z):
        return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(z)), 1000)

    z = dp.calibrate_dp_mechanism(Accountant, event, 1.0, 1e-5)
    assert 0.999 < Accountant().compose(event(z)).get_epsilon(1e-5) <= 1.0


def test_the_page_says_what_its_numbers_say():
    lines = (ROOT / "docs" / "accountants.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.count("|") == 9][2:]
    assert len(rows) == len(ROWS)
    for program, _, _, *numbers, word in rows:
        said, event, *ends = (float(number) for number in numbers if number)
        low = min([event, *ends[:1]])
        assert ends == [] if program == SUMMARY else event <= ends[1] * (1 + 1e-4)
        assert word == ("**below**" if said < low * (1 - 1e-4) else "agrees")
