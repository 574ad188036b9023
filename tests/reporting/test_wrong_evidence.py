"""A share of the campaign of wrong evidence, and proofs that it would see what is wrong: thresholds are known here."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from dpexp.engine.result import CellData
from dpexp.papers.momentum import momentum_runs
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence, Run
from tests.campaigns import wrong_evidence
from tests.campaigns.altered_runs import FAMILIES, AlteredEvidence, Stored, read_from, scaled, through, tilted

STEPS = np.array([10, 100, 1000])


def run(budget="1", alpha=0.5, level=1.0):
    """A run that falls like 1 / n, of which nothing but rows and numbers is asked."""
    rng = np.random.default_rng(3)
    values = level / STEPS[None, :, None, None] * np.exp(0.1 * rng.standard_normal((2, 3, 2, 30)))
    data = CellData(STEPS, ("sgd", "asgd"), ("param_distance_sq", "loss_gap"), values)
    cell = SimpleNamespace(problem=SimpleNamespace(), algorithm=SimpleNamespace(name="ldp-sgd"))
    return Run(cell, {"alpha": alpha, "budget": budget, "mu": float(budget), "gdp_mu": float(budget)}, data)


@pytest.fixture
def stored(tmp_path):
    found = Stored(tmp_path)
    found._runs["toy"] = [run(), run("2", level=0.5)]
    return found


def claim(check, name="toy/claim"):
    def checked(evidence: Evidence) -> Outcome:
        return Outcome("reproduced" if check(evidence.runs("toy")) else "contradicted", "", "", "", {})

    return Claim(name, "", "", "upper", ("toy",), checked, "", "reproduced", "")


def below(limit):
    """A claim that the last mean loss gap of every run is below a limit times 1e-3."""
    return claim(lambda runs: all(r.values("sgd", "loss_gap")[-1].mean() < limit * 1e-3 for r in runs))


def test_the_smallest_factor_is_found(stored):
    mean = stored.runs("toy")[0].values("sgd", "loss_gap")[-1].mean() * 1e3
    family, fine = FAMILIES[0], wrong_evidence.asked(below(1e9), AlteredEvidence(stored))
    assert family.words == "the loss gap"
    for limit in (1.3, 7.0):
        found = wrong_evidence.smallest(below(limit), stored, family, fine)
        assert limit / mean <= found <= 1.05 * limit / mean
    assert wrong_evidence.smallest(below(7.0), stored, family, fine, limit=2.0) is None
    assert wrong_evidence.smallest(below(1e9), stored, family, fine) is None
    above = claim(lambda runs: runs[0].values("sgd", "loss_gap")[-1].mean() * 1e3 > mean / 2)
    assert 0.48 < wrong_evidence.smallest(above, stored, family, fine) <= 0.5
    slope = claim(
        lambda runs: np.polyfit(np.log(STEPS), np.log(runs[0].values("sgd", "loss_gap").mean(-1)), 1)[0] < -0.8
    )
    (tilt,) = [f for f in FAMILIES if f.words == "all errors" and f.tilt]
    assert wrong_evidence.smallest(slope, stored, tilt, fine) == pytest.approx(0.2, abs=0.04)


def test_the_sentence_of_a_claim(stored):
    words = wrong_evidence.sentence(below(1.3), stored)
    size = re.fullmatch(r"would notice a factor (1\.\d+) in the loss gap", words)
    assert size
    assert 1.2 < float(size[1]) < 1.4
    deaf = wrong_evidence.sentence(claim(lambda runs: runs[0].values("sgd", "loss_gap")[0, 0] != 0), stored)
    assert deaf == "would notice none of the corruptions with a size"
    closed = wrong_evidence.sentence(claim(lambda runs: runs[0].row["mu"] == 1), stored)
    assert closed.startswith("reads no measured number")


def test_alterations_do_what_they_say_and_leave_the_stored_alone(stored):
    before = [r.data.values.copy() for r in stored.runs("toy")]
    for family in FAMILIES:
        for one in AlteredEvidence(stored, family.make(0.1 if family.tilt else 1.5)).runs("toy"):
            assert one.values("sgd", "loss_gap").shape == (3, 30)
    for old, r in zip(before, stored.runs("toy"), strict=True):
        np.testing.assert_array_equal(old, r.data.values)
    half = AlteredEvidence(stored, through(scaled(0.5, ("loss_gap",)))).runs("toy")[0]
    np.testing.assert_allclose(half.values("asgd", "loss_gap"), before[0][1, :, 1] / 2)
    np.testing.assert_array_equal(half.values("asgd", "param_distance"), np.sqrt(before[0][1, :, 0]))
    bent = AlteredEvidence(stored, through(tilted(0.5))).runs("toy")[0].values("sgd", "loss_gap")
    np.testing.assert_allclose(bent / before[0][0, :, 1], [[0.1], [10**-0.5], [1.0]] * np.ones(30))


def test_a_check_that_raises_has_refused_what_it_was_given(stored):
    refusing = claim(lambda runs: 1 / 0)
    assert wrong_evidence.asked(refusing, AlteredEvidence(stored)).verdict == "refused: ZeroDivisionError"


def test_summaries_are_those_of_the_altered_runs(stored, monkeypatch):
    for r in stored.runs("toy"):
        r.cell.run = SimpleNamespace(diverged_above=1e6)
        r.row["cell_id"] = r.budget
    plain = momentum_runs.load_summary
    evidence = AlteredEvidence(stored, through(scaled(3.0, ("loss_gap",))))
    with read_from(evidence):
        frame = momentum_runs.load_summary(stored.results, "toy")
    assert momentum_runs.load_summary is plain
    (last,) = frame[
        (frame.metric == "loss_gap") & (frame.step == 1000) & (frame.estimator == "asgd") & (frame.budget == "2")
    ].to_dict("records")
    numbers = 3 * stored.runs("toy")[1].data.values[1, -1, 1]
    assert last["mean"] == pytest.approx(numbers.mean())
    assert last["sd"] == pytest.approx(numbers.std(ddof=1))
