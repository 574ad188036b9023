"""Guarantees beside what pairs of neighbours attain, for random mechanisms of every kind; `make soak` draws thousands."""

from collections import Counter
from dataclasses import replace

import pytest

from dpexp.core.errors import DpexpError
from dpexp.privacy.analyses.analysis import attained, gaussian_analysis
from dpexp.privacy.lower_bounds import refuted
from dpexp.privacy.mechanisms import ANALYSES, MECHANISMS
from dpexp.reporting.mechanism_statement import MechanismStatement
from dpexp.reporting.statement import ConfigStatement
from tests.campaigns import statements
from tests.campaigns.statements import Draw, Drawn, false, faults
from tests.conftest import AT_LENGTH

SAMPLED = MECHANISMS["sampled-gaussian"](noise_multiplier=1.0, sampling_probability=0.1, steps=100)
EVERY_KIND = range(13) if AT_LENGTH else (1, 2, 8, 9, 11)
"""seeds whose draws are of every kind of mechanism between them, and take seconds; some others take a minute"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", EVERY_KIND)
def test_no_statement_contradicts_itself(seed):
    draw, seen = Draw(seed), Counter()
    while seen.total() < 8:
        drawn = draw.drawn()
        seen[drawn.name] += 1
        try:
            assert list(faults(drawn)) == [], str(drawn)
        except DpexpError:  # refused with a word
            seen["refused"] += 1
    assert seen["refused"] < 3


def test_the_seeds_draw_every_kind_of_mechanism():
    drawn = {draw.drawn().name for draw in map(Draw, EVERY_KIND) for _ in range(8)}
    assert drawn == set(MECHANISMS)


# drawn by the campaign or typed by somebody, and refuted by a line of their own table before; the first takes 5 s
CONTRADICTED = [
    ("sampled-gaussian", {"sampling_probability": 1e-7, "steps": 1e8, "noise_multiplier": 1.025}, 1e-5),
    ("epoch-gaussian", {"batches": 195, "epochs": 1, "noise_multiplier": 1.05, "neighboring_relation": "replace-one"}, 6e-3),
    ("epoch-gaussian", {"batches": 8, "epochs": 1, "noise_multiplier": 1.26, "unfinished": 1}, 5.8e-20),
    ("tree-momentum", {"n": 1000, "steps": 1, "momentum": 0.01, "lipschitz": 1, "sigma": 1}, 1e-5),
    ("tree-momentum", {"n": 219, "steps": 5, "momentum": 0.5, "lipschitz": 7.3, "sigma": 0.5}, 1e-14),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "values", "delta"), CONTRADICTED if AT_LENGTH else CONTRADICTED[1:])
def test_lines_that_contradicted_each_other_do_not(name, values, delta):
    assert list(faults(Drawn(name, MECHANISMS[name](**values), delta))) == []


def test_numbers_that_cannot_be_right_are_seen(monkeypatch):
    assert list(false(SAMPLED, 1e-5)) == []
    eps = SAMPLED.lower_bounds()[0].eps(1e-5)
    bounds = [attained(f"{share:g}", "all-iterates", "", lambda delta, s=share: s * eps) for share in (0.999, 1.01)]
    bounds.append(attained("below nothing", "last-iterate", "", lambda delta: -0.1))
    monkeypatch.setattr(statements, "with_last_iterate", lambda *_: bounds)
    found = list(false(SAMPLED, 1e-5))
    assert [fault.split(" attains")[0] for fault in found] == ["1.01", "below nothing"]


@pytest.fixture
def false_analysis(monkeypatch):
    """A plug-in's analysis of sampled-gaussian that promises too much."""
    added = {
        "sampled-gaussian/hopeful": lambda m: gaussian_analysis("hopeful", "a plug-in", "all-iterates", 0.1, ("-",))
    }
    for name, analysis in added.items():
        monkeypatch.setitem(ANALYSES, name, analysis)
        monkeypatch.setitem(ANALYSES.sources, name, "hopeful.py")


def test_a_guarantee_that_a_pair_refutes_is_refused_and_not_the_best(false_analysis):
    found = MechanismStatement("sampled-gaussian", SAMPLED, (1e-5, 1e-6))
    (hopeful,) = (a for a in found.analyses if a.name == "hopeful")
    assert not hopeful.valid
    assert "hopeful promises" in hopeful.refused
    assert "exact-composition attains" in hopeful.refused
    assert {a.name for a in found.best.values()} == {"pld-composition"}
    assert "error of dpexp" in found.text()


def test_a_config_whose_guarantee_a_pair_refutes_has_no_statement():
    class Loud(type(SAMPLED)):
        def lower_bounds(self):
            (bound, *_) = super().lower_bounds()
            return [replace(bound, eps=lambda delta: 1.01 * self.upper_bounds()[-1].eps(delta))]

    with pytest.raises(DpexpError, match=r"one run: an error of dpexp.*pld-composition promises.*attains"):
        ConfigStatement({"one run": Loud(**SAMPLED.model_dump())}, (1e-5,)).document()


def test_what_is_attained_of_all_iterates_refutes_no_promise_on_the_last_one_or_on_what_stays_secret():
    loud = attained("loud", "all-iterates", "", lambda _: 10.0)
    promise = gaussian_analysis("quiet", "", "all-iterates", 0.1, ())
    assert list(refuted([promise], [loud], (1e-5,))) == ["quiet"]
    assert not refuted([replace(promise, secret="nodes")], [loud], (1e-5,))
    assert not refuted([replace(promise, released="last-iterate")], [loud], (1e-5,))
    assert refuted([replace(promise, released="last-iterate")], [replace(loud, released="last-iterate")], (1e-5,))


def test_a_row_takes_what_other_deltas_imply():
    rising = {1e-5: 3.0, 1e-6: 2.0, 1e-7: 4.0}
    promise = replace(gaussian_analysis("slack", "", "all-iterates", 1.0, ()), eps=rising.__getitem__)
    assert promise.at(list(rising)) == [2.0, 2.0, 4.0]
    assert attained("slack", "all-iterates", "", rising.__getitem__).at(list(rising)) == [3.0, 3.0, 4.0]
