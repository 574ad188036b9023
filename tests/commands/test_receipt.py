"""`dpexp receipt`: three programs whose numbers are known, what is refused, and what other programs keep."""

import json

import pytest

import dpexp
from dpexp.privacy.mechanisms import MECHANISMS
from tests.conftest import at_length, call

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
    reading, row, stated = only(document(card))
    assert row["eps"] == pytest.approx(1.8283, abs=1e-4)
    assert row["attained"] == pytest.approx(1.8281, abs=1e-4)
    assert stated["verdict"] == "holds"
    assert reading["gdp"]["mu"] == pytest.approx(0.46276, abs=1e-5)
    assert reading["gdp"]["floor"] == 1e-5
    assert reading["advantage"] == pytest.approx([0.16103, 0.16101], abs=2e-5)
    assert reading["tpr"][0][1] == pytest.approx(0.02914, abs=1e-5)


def test_shuffled_batches_of_replaced_records(card):
    found = document(card, "sampler=reshuffled", "batch_size=600", "relation=replace-one", code=1)
    reading, row, stated = only(found)
    assert row["eps"] == pytest.approx(46.212, abs=1e-3)
    assert row["attained"] == pytest.approx(12.046, abs=1e-3)
    assert stated["verdict"] == "refuted"
    assert "poisson batches" in stated["reason"]
    assert row["attained_last"] == pytest.approx(2.5943, abs=1e-4)
    assert "2.5943 at delta 1e-05 by the last iterate alone" in stated["reason"]
    assert reading["advantage"][1] == pytest.approx(0.57145, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (("batch_sizes_logged=true",), "refuted"),
        pytest.param(("normaliser=drawn", "batch_sizes_logged=true", "releases=all"), "refuted", marks=at_length),
        # of the last mean alone, and of a divisor that nobody sees, no pair is known that attains it
        pytest.param(("normaliser=drawn", "batch_sizes_logged=true"), "unsupported", marks=at_length),
        pytest.param(("normaliser=drawn",), "unsupported", marks=at_length),
    ],
)
def test_drawn_sizes_that_divide_or_are_shown(card, change, verdict):
    _, row, stated = only(document(card, *change, code=1 if verdict == "refuted" else 3))
    assert row["eps"] == pytest.approx(13.371, abs=2e-3)
    assert stated["verdict"] == verdict


@pytest.mark.slow
def test_no_pair_is_that_of_a_program_which_it_does_not_fit(card):
    """Where batches are not cut evenly, gradients are clipped in groups or a run was not released, nothing is attained."""
    for change in (
        ["sampler=reshuffled", "phases=", "sampling_probability=0.011"],
        ["clipping=microbatch", "microbatch_size=2"],
    ):
        given = [one for one in change if one != "phases="]
        if "phases=" in change:
            card.write_text("".join(line for line in CARD.splitlines(True) if "phases" not in line))
            given += ["noise_multiplier=1", "steps=1000"]
        _, row, _ = only(document(card, *given, code=3))
        assert row["attained"] == 0
        card.write_text(CARD)
    for steps_per_epoch, some in ((100, True), (300, False)):  # of 1,000 steps: the last epoch ends early
        given = ["sampler=k-of-t", f"steps_per_epoch={steps_per_epoch}", "selected=1"]
        assert (only(document(card, *given))[1]["attained"] > 0) == some
    _, row, stated = only(document(card, "tuning_runs=1", code=3))
    assert stated["word"] == "selection-not-charged"
    twice = MECHANISMS["sampled-gaussian"](noise_multiplier=1.0, sampling_probability=0.01, steps=2000)
    assert row["eps"] == pytest.approx(twice.analyses()[1].eps(1e-5))  # and the tuning run is
    assert row["attained"] == pytest.approx(1.8281, abs=1e-4)


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
        (("clipping=none",), "unsupported"),
        (("sampler=fixed-size",), "unsupported"),
    ],
)
def test_what_no_analysis_covers_is_named(card, change, word):
    stated = document(card, *change, code=3)["stated"][0]
    assert stated["word"] == word


def test_a_history_leaves_the_sampler_open(tmp_path):
    path = tmp_path / "history.json"
    path.write_text(json.dumps({"history": [[1.0, 0.01, 400], [1.0, 0.01, 600]], "mechanism": "gdp"}))
    found = document(path, "eps=1.83", code=3)
    assert len(found["card"]["phases"]) == 1
    assert [one["condition"][:2] for one in found["readings"]] == ["if", "if"]
    text = call("receipt", path, "eps=1.83", code=3).stdout
    assert "central limit theorem" in text
    assert not [line for line in text.splitlines() if "holds" in line and "if" not in line]


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


def test_a_wrong_card_is_said_at_its_places(tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text(CARD.replace("sampler: poisson", "sampler: poison").replace("delta: [1.0e-5]", "dleta: [1.0e-5]"))
    said = call("receipt", path, code=2).stderr
    assert f"{path}:14:1" in said
    assert "delta" in said
    path.write_text(CARD.replace("sampler: poisson", "sampler: poison"))
    assert f"{path}:5:10" in call("receipt", path, code=2).stderr
    assert "batch_size" in call("receipt", path, "sampler=poisson", "batch_size=500", code=2).stderr
    call("receipt", code=2)
    call("receipt", tmp_path / "none.yaml", code=2)


def test_the_blank_card_is_a_card(tmp_path):
    path = tmp_path / "card.yaml"
    call("init", "--card", "--out", path)
    assert document(path)["assumed"] == []
    schema = json.loads(call("schema", "--card").stdout)
    assert {"sampler", "relation", "phases"} <= schema["properties"].keys()
    for form in ("md", "tex"):
        assert "1.8283" in call("receipt", path, "--format", form).stdout


def test_all_that_is_wrong_with_a_card_is_said_at_once_by_the_names_of_its_fields(tmp_path):
    path = tmp_path / "card.yaml"
    path.write_text(
        "card: 1\nrecords: sixty\nrelation: swap\nphases: [{noise_multiplier: 0, sampling_probability: 2}]\nstated: [{eps: 1}]\n"
    )
    said = call("receipt", path, code=2).stderr
    for at, words in (
        ("2:10", "'records' must be a whole number, got 'sixty'"),
        ("3:11", "'relation' must be 'add-remove', 'replace-one' or 'zero-out', got 'swap'"),
        ("4:29", "'phases.noise_multiplier' must be greater than 0, got 0"),
        ("4:54", "'phases.sampling_probability' must be at most 1, got 2"),
        ("4:10", "'phases' needs 'steps'"),
        ("5:10", "'stated' is wrong: state eps with delta, or mu"),
    ):
        assert f"card.yaml:{at}: {words}" in said
