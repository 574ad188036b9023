"""*What to know* rests on rows: on their verdicts, and each of its numbers on their words and numbers."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from dpexp.papers import our_papers
from dpexp.reporting.ledger import verdicts
from dpexp.reporting.ledger.pages import contradicted, page
from dpexp.reporting.paper import ToKnow
from tests.conftest import ROOT

RESULTS = ROOT / "results"
TELLING = [paper for paper in our_papers().values() if paper.what_to_know]
NUMBER = re.compile(r"10\^-?\d+(?:\.\d+)?|\d+(?:,\d{3})+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+")
COUNTS = {"Three": 3, "Seven": 7, "Thirteen": 13}


def judgements(paper):
    """The rows of a paper, each with its stored verdict."""
    stored = verdicts.read(RESULTS).rows
    return {claim.id: stored[claim.id] for claim in our_papers()[paper].claims}


def value(number):
    """What a number in a text is: 10^22.4, 300,000, 1e-5 or .42."""
    return 10 ** float(number[3:]) if number.startswith("10^") else float(number.replace(",", ""))


def numbers_of(one):
    """Every number that a row prints, stores or quotes."""
    keys = ("place", "quote", "statement", "why", "tolerance", "false_if")
    words = [one.claim[key] for key in keys] + [one.found[key] for key in ("predicted", "measured")]
    return {value(number) for text in words for number in NUMBER.findall(text)} | set(stored(one.found["numbers"]))


def stored(numbers):
    inside = numbers.values() if isinstance(numbers, dict) else numbers if isinstance(numbers, list) else ()
    for number in inside:
        yield from stored(number)
    if isinstance(numbers, float | int) and not isinstance(numbers, bool):
        yield float(numbers)


def unfounded(told, rows):
    """The numbers of a sentence that are none of the rows on which it rests."""
    known = {number for name in told.rests_on for number in numbers_of(rows[name])}
    shown = [number for number in NUMBER.findall(told.says) if not any(printed_as(n, number) for n in known)]
    first = told.says.split()[0]
    return shown + [first for counted in [COUNTS.get(first)] if counted not in (None, len(told.rests_on))]


def printed_as(number, text):
    """Whether a number is the one in the text, to the digits that the text has."""
    digits = len(re.sub(r"^0+|[eE].*|[^0-9]", "", text)) if not text.startswith("10^") else 12
    return math.isclose(number, value(text), rel_tol=0.5 * 10 ** (1 - digits) if digits > 2 else 1e-9)


@pytest.mark.parametrize("paper", TELLING, ids=lambda paper: paper.id)
def test_each_sentence_rests_on_rows_whose_verdicts_it_presumes(paper):
    rows, claims = judgements(paper.id), {claim.id: claim for claim in paper.claims}
    assert len(paper.what_to_know) == 5
    for told in paper.what_to_know:
        assert told.rests_on, told.says
        assert contradicted(told, rows) == []
        assert all(claims[name].expected == presumed for name, presumed in told.rests_on.items()), told.says


@pytest.mark.parametrize("paper", TELLING, ids=lambda paper: paper.id)
def test_each_number_of_a_sentence_is_one_of_its_rows(paper):
    rows = judgements(paper.id)
    assert [(told.says, wrong) for told in paper.what_to_know if (wrong := unfounded(told, rows))] == []


@pytest.mark.parametrize("paper", TELLING, ids=lambda paper: paper.id)
def test_a_row_that_changes_its_verdict_is_named_beside_each_sentence_that_rests_on_it(paper):
    rows = judgements(paper.id)
    for told in paper.what_to_know:
        for name in told.rests_on:
            other = "false" if told.rests_on[name] != "false" else "reproduced"
            changed = {**rows, name: replace(rows[name], found={**rows[name].found, "verdict": other})}
            (words,) = contradicted(told, changed)
            assert words == f"{name} is found {other}, not {told.rests_on[name]}"
            assert contradicted(told, {**changed, name: replace(changed[name], state="stale")}) == []
        shown = page(paper.id, list(changed.values()), paper)
        assert f"**But {words}.**" in shown.partition("## The claims")[0]


def test_a_number_of_no_row_is_found_out():
    rows = judgements("momentum")
    tie = {"momentum/theorem-9/overtakes": "misleading"}
    assert unfounded(ToKnow("It is the smaller one beyond N = 10^22.4.", tie), rows) == []
    assert unfounded(ToKnow("It is the smaller one beyond N = 10^21.4 (d = 10).", tie), rows) == ["10^21.4"]
    rows = judgements("ldp-sgd")
    tie = {"ldp-sgd/theorem-3": "holds as a bound"}
    assert unfounded(ToKnow("Three rows: up to 7,280 times.", tie), rows) == ["Three"]
    assert unfounded(ToKnow("Up to 7,380 times.", tie), rows) == ["7,380"]
