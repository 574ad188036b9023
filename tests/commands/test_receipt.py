"""`dpexp receipt`: three programs whose numbers are known, what is refused, and what other programs keep."""

import json
import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

import dpexp
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.loss_steps import truncated
from dpexp.commands.mechanism_arguments import mechanism_of
from dpexp.core.errors import DpexpError
from dpexp.privacy.mechanisms import MECHANISMS
from tests.conftest import call, share

CARD = """card: 1
records: 60000
records_public: true
relation: add-remove
sampler: poisson
accounted_as: poisson
phases: [{noise_multiplier: 1.0, sampling_probability: 0.01, steps: 1000}]
normaliser: public
dimension: 26010
releases: last
batch_sizes_logged: false
tuning_runs: 0
stated: [{eps: 1.83, delta: 1.0e-5}]
delta: [1.0e-5]
"""


@pytest.fixture
def card(tmp_path):
    path = tmp_path / "card.yaml"
    path.write_text(CARD)
    return path


def document(*arguments, code=0):
    return json.loads(call("receipt", *arguments, "--json", code=code).stdout)


def only(found):
    (reading,) = found["readings"]
    return reading, reading["eps"][0], found["stated"][0]


def test_poisson_batches_that_were_accounted_as_such(card):
    reading, row, stated = only(document(card, "releases=all"))
    assert row["eps"] == pytest.approx(1.8283, abs=1e-4)
    assert row["attained"] == pytest.approx(1.8281, abs=1e-4)
    assert stated["verdict"] == "holds"
    assert reading["gdp"]["mu"] == pytest.approx(0.46276, abs=1e-5)
    assert reading["gdp"]["floor"] == 1e-5
    assert reading["advantage"] == pytest.approx([0.16103, 0.16102], abs=2e-5)
    assert reading["tpr"][0][1] == pytest.approx(0.02914, abs=1e-5)


@pytest.mark.slow
def test_of_an_attacker_what_is_released_attains(card):
    """The last iterate of linear losses is one normal, moved by as many of its deviations as batches have the record."""
    reading, *_ = only(document(card, "steps=10"))
    law = binom.pmf(visits := np.arange(11), 10, 0.01)
    exact = max(law @ (ndtr(visits / math.sqrt(10) - x) - ndtr(-x)) for x in np.linspace(-1, 2, 601))
    assert reading["advantage"] == pytest.approx([0.015093, exact], abs=1e-6)
    (rate, _, attained), _ = reading["tpr"]
    assert attained == pytest.approx(law @ ndtr(visits / math.sqrt(10) - ndtri(1 - rate)), rel=1e-3)
    assert only(document(card, "steps=10", "releases=average"))[0]["advantage"][1] is None


def test_shuffled_batches_of_replaced_records(card):
    found = document(card, "sampler=reshuffled", "batch_size=600", "relation=replace-one", code=1)
    reading, row, stated = only(found)
    assert row["eps"] == pytest.approx(46.212, abs=1e-3)
    assert row["attained"] == pytest.approx(12.046, abs=1e-3)
    assert stated["verdict"] == "refuted"
    assert "poisson batches" in stated["reason"]
    assert row["attained_last"] == pytest.approx(2.5943, abs=1e-4)
    # ten epochs move the sum of 1,000 noises by 2 each
    assert reading["advantage"][1] == pytest.approx(0.24817, abs=1e-5)  # 2 Phi(10 / sqrt 1000) - 1


@pytest.mark.slow
def test_no_pair_is_that_of_a_program_which_it_does_not_fit(card):
    """Where the last epoch of k of t ends early, or a run was not released, nothing is attained."""
    every = ("releases=all", "eps=9")  # of the last iterate error rates take seconds
    for steps_per_epoch, some in ((100, True), (300, False)):  # of 1,000 steps: the last epoch ends early
        given = ["sampler=k-of-t", f"steps_per_epoch={steps_per_epoch}", f"selected={steps_per_epoch // 100}"]
        assert (only(document(card, *given, *every))[1]["attained"] > 0) == some
    _, row, stated = only(document(card, "tuning_runs=1", every[0], code=3))
    assert stated["word"] == "selection-not-charged"
    twice = MECHANISMS["sampled-gaussian"](noise_multiplier=1.0, sampling_probability=0.01, steps=2000)
    assert row["eps"] == pytest.approx(twice.upper_bounds()[1].eps(1e-5))  # and the tuning run is
    assert row["attained"] == pytest.approx(1.8281, abs=1e-4)


def test_microbatches_turn_around(card):
    """By enumeration: one microbatch of 30 records at -C or fewer, which a record turns to C wherever it is drawn."""
    given = ["clipping=microbatch", "microbatch_size=30", "steps=1", "sampling_probability=0.5", "records=30"]
    _, row, stated = only(document(card, *given, "eps=3", code=3))
    assert (stated["verdict"], row["attained"]) == ("unsupported", 0)  # the record may be alone in its microbatch
    # the others' vector is -1 but where none of them is drawn, and the record makes it 1
    x = np.linspace(-12, 12, 200_001)
    normal = np.exp(-((x[:, None] - [-1, 0, 1]) ** 2) / 2) / math.sqrt(2 * math.pi)
    without = normal @ [1 - 0.5**30, 0.5**30, 0]
    present = 0.5 * without + 0.5 * normal[:, 2]
    delta = np.maximum(present - math.exp(row["eps"]) * without, 0).sum() * (x[1] - x[0])
    assert 0.999e-5 < delta <= 1e-5 * (1 + 1e-9)
    every = ("sampler=full-batch", "sampling_probability=1", "records=60", "releases=all", "eps=3")
    _, row, stated = only(document(card, *given[:3], *every, code=1))
    assert (stated["verdict"], row["attained"]) == ("refuted", pytest.approx(eps_of(2, 1e-5)))
    assert only(document(card, "clipping=microbatch", "microbatch_size=2", "sampler=full-batch",
                         "relation=replace-one", "sampling_probability=1", code=1))[1]["eps"] == pytest.approx(
        eps_of(2 * math.sqrt(1000), 1e-5))  # fmt: skip


@pytest.mark.parametrize("steps", share([2800, 2900, 3000], 2))
@pytest.mark.parametrize("releases", ["all", "last"])
def test_an_epoch_that_ends_early_refutes_what_whole_ones_refute(steps, releases):
    given = ("sampler=reshuffled", "relation=replace-one", "batch_size=250", "n=50000", "noise_multiplier=1.1")
    _, row, stated = only(document(*given, f"steps={steps}", f"releases={releases}", "eps=1.26", code=1))
    assert stated["verdict"] == "refuted"
    assert row["attained"] == pytest.approx(7.687 if steps < 3000 else 7.9085, abs=1e-4)
    # the sums of 14 whole epochs, with the noise of all steps
    assert row["attained_last"] == pytest.approx(eps_of(2 * (steps // 200) / (1.1 * math.sqrt(steps)), 1e-5))
    # beside the law itself: one visit more with the share of the last epoch that is run
    x, noise, whole, more = np.linspace(-300, 600, 2001), 1.1 * math.sqrt(steps), steps // 200, steps % 200 / 200
    p, q = (sum(w * ndtr((sign * (whole + k) - x) / noise) for k, w in ((0, 1 - more), (1, more))) for sign in (1, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        assert row["attained_last"] <= np.nanmax(np.log((p - 1e-5) / q)) + 1e-3


def test_what_is_released_decides_what_refutes():
    given = ("sampler=shuffled", "batch_size=250", "records=50000", "noise_multiplier=1.1", "steps=3000", "eps=1.26")
    assert only(document(*given, code=1))[2]["verdict"] == "refuted"
    _, row, _ = only(document(*given, "releases=last", code=3))
    assert row["attained"] > 15 > 1.26 > row["attained_last"]


def test_shuffled_batches_of_added_records_are_not_called_refuted(card):
    _, row, stated = only(document(card, "sampler=reshuffled", code=3))
    assert (stated["verdict"], stated["word"]) == ("unsupported", "sampler")
    assert row["attained"] < 1.83 < row["eps"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("normaliser=expected", "records_public=false"), "private-n"),
        (("batch_sizes_logged=true", "sampler=fixed-size", "relation=replace-one"), "normaliser"),
        (("releases=best-of-k",), "selection-not-charged"),
        (("releases=best-of-k", "eps=0.1"), "unsupported"),  # the last iterate's pair is not that of the best
        (("clipping=none",), "unsupported"),
        (("sampler=fixed-size",), "unsupported"),
    ],
)
def test_what_no_analysis_covers_is_named(card, change, word):
    stated = document(card, *change, code=3)["stated"][0]
    assert stated["word"] == word


def test_one_vocabulary(card):
    of_sizes = document("n=60000", "batch_size=600", "epochs=10", "noise_multiplier=1", "sampling=poisson", "neighboring_relation=add-remove", "eps=1.83")  # fmt: skip
    assert only(of_sizes)[1]["eps"] == pytest.approx(1.8283, abs=1e-4)  # as of the card
    given = ("noise_multiplier=50", "steps=60", "eps=2")  # what is typed replaces what the file says
    typed = document(card, "sampler=full-batch", "sampling_probability=1", *given)
    for full in (document("sampling=full-batch", *given), typed):
        assert only(full)[1]["eps"] == pytest.approx(eps_of(math.sqrt(60) / 50, 1e-5))


def test_events_become_what_they_account():
    accounting = pytest.importorskip("dp_accounting")
    step = accounting.PoissonSampledDpEvent(0.01, accounting.GaussianDpEvent(1))
    found = dpexp.receipt(accounting.SelfComposedDpEvent(step, 1000), sampler="poisson")
    assert found.document()["readings"][0]["eps"][0]["eps"] == pytest.approx(1.8283, abs=1e-4)
    looks = accounting.PoissonSampledDpEvent(0.01, accounting.SelfComposedDpEvent(accounting.GaussianDpEvent(2.0), 4))
    assert dpexp.receipt(looks).card.phases[0].noise_multiplier == 1.0  # one draw, four looks: not four steps
    for event in (accounting.LaplaceDpEvent(1.0), accounting.ZCDpEvent(1.0), accounting.NonPrivateDpEvent()):
        with pytest.raises(Exception, match=type(event).__name__):
            dpexp.receipt(accounting.ComposedDpEvent([step, event]))


def test_caps_of_an_event_that_differ_are_no_card():
    """Twenty steps with caps of 20 and 60 were accounted as if all had the last one: 2.22 for 3.97."""
    accountant = dpexp.accounting.Accountant()
    for cap in (20, 60):
        step = ["dp_accounting.dp_event", "TruncatedSubsampledGaussianDpEvent", 100, 0.2, cap, 2.0]
        accountant.compose(step, 10)
    with pytest.raises(DpexpError, match="several cap"):
        dpexp.receipt(accountant.state_dict(), sampler="truncated-poisson")
    # all records, cut to all but one: no full batch, of which 4.38 would hold
    (cut,) = dpexp.receipt(
        {"events": [["dp_accounting.dp_event", "TruncatedSubsampledGaussianDpEvent", 100, 1.0, 99, 1.0]]}
    ).readings
    assert cut.mechanism is None


def test_an_epoch_that_ends_early_has_visited_some_records_in_every_run():
    """Two runs of 150 steps on 100 batches in turn visit the first record four times; as one of 300 it has three."""
    card = {"sampler": "cyclic", "noise_multiplier": 1.0, "sampling_probability": 0.01, "steps": 150, "tuning_runs": 1}
    receipt = dpexp.receipt(card, eps=9.0)
    assert best(receipt.document()) == pytest.approx(eps_of(2, 1e-5), rel=1e-9)
    assert receipt.exit_code == 3


def test_phases_in_lists_have_the_probability_within_a_group():
    """By batches, by the probability, in lists or in rows: 100 steps of 10 groups are 10 visits."""
    given = {"sampler": "cyclic-poisson", "groups": 10, "n": 6400}
    row, lists = {"noise_multiplier": 3.5, "steps": 50}, {"noise_multiplier": [3.5, 3.5], "steps": [50, 50]}
    cards = (
        {"batch_size": 256, **lists},
        {"sampling_probability": [0.4, 0.4], **lists},
        {"batch_size": 256, "phases": [row, row]},
        {"phases": [row | {"sampling_probability": 0.4}] * 2},
        {"batch_size": 256, "noise_multiplier": 3.5, "epochs": 4},
    )
    parameters = {"sampling": "cyclic-poisson", "batches": 10, "noise_multiplier": 3.5}
    doors = (
        {"epochs": 10, "sampling_probability": 0.4},
        {"n": 6400, "batch_size": 256, "steps": 100},
        {"n": 6400, "batch_size": 256, "epochs": 4},
    )
    stated = [mechanism_of("epoch-gaussian", parameters | door).upper_bounds() for door in doors]
    eps = [min(a.eps(1e-5) for a in analyses) for analyses in stated]
    answers = [best(dpexp.receipt({**given, **card}).document()) for card in cards]
    assert eps + answers == pytest.approx([eps[0]] * 8, rel=1e-9)


def test_the_records_of_a_card_are_those_of_either_neighbour():
    """One record more, too: a cap of 1 on one record or two, and a size of 1 record or 0."""
    (reading,) = dpexp.receipt(
        sampler="truncated-poisson", n=1, cap=1, noise_multiplier=1.401, sampling_probability=0.636, steps=1
    ).readings
    # with a second record at 1, which the first at -1 displaces in half of the steps that draw both
    x = np.linspace(-12, 12, 100_001)
    normal = np.exp(-((x[:, None] - np.array([-1, 0, 1]) / 1.401) ** 2) / 2) / math.sqrt(2 * math.pi)
    alone, drawn = normal @ [0, 0.364, 0.636], 0.636 * 0.364 + 0.636**2 / 2
    both = normal @ [drawn, 0.364**2, drawn]

    def delta(eps):
        return np.maximum(both - math.exp(eps) * alone, 0).sum() * (x[1] - x[0])

    of_one_record_or_none = truncated(1, 0.636, 1, 1.401).times(1).eps(1e-3)
    assert delta(reading.best(1e-3)[0]) <= 1e-3 < delta(of_one_record_or_none)
    logged = {"sampler": "poisson", "noise_multiplier": 1.0, "sampling_probability": 0.01, "steps": 1, "n": 1}
    assert dpexp.receipt(logged, batch_sizes_logged=True).readings[0].mechanism is None


def best(receipt):
    """The guaranteed epsilon of a receipt with one reading."""
    (reading,) = receipt["readings"]
    return reading["eps"][0]["eps"]


def test_the_state_of_our_own_accountant_is_a_card(tmp_path):
    accountant = dpexp.accounting.Accountant()
    for _ in range(100):
        accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    (tmp_path / "own.json").write_text(json.dumps(accountant.state_dict()))
    receipts = (
        document(tmp_path / "own.json", "sampler=poisson"),
        dpexp.receipt(accountant.state_dict(), sampler="poisson").document(),
    )
    for receipt in receipts:
        assert best(receipt) == pytest.approx(accountant.get_epsilon(1e-5), rel=1e-6)
