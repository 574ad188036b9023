"""Every claim quotes its paper or says that it is ours, and says what would make it false."""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dpexp.papers import our_papers
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.ledger import verdicts
from dpexp.reporting.ledger.judgement import SAID, Judgement
from dpexp.reporting.ledger.pages import contradicted, page
from dpexp.reporting.paper import ToKnow
from tests.conftest import ROOT
from tests.papers.test_statements import DIFFERENCES, EXPECTED, HELD

CLAIM = Claim(
    "a/b", "Section 1", "It holds.", "value", (), lambda evidence: Outcome("reproduced", "1", "1", "none"), "none",
    "reproduced", "", quote="it holds", false_if="It does not hold.",
)  # fmt: skip


LONGEST = 25
"""words of a quotation"""


def quotation_fault(claim):
    """What is wrong with a claim's quotation, in words; empty where nothing is."""
    if claim.source == "ours":
        return "is ours and yet quotes the paper" if claim.quote else ""
    if not claim.quote.strip():
        return "quotes nothing, and does not say that it is ours"
    words = len(claim.quote.split())
    return f"quotes {words} words, more than {LONGEST}" if words > LONGEST else ""


@pytest.mark.parametrize("paper", our_papers())
def test_every_claim_is_quoted_or_ours_and_can_be_false(paper):
    for claim in our_papers()[paper].claims:
        assert not quotation_fault(claim), claim.id
        assert claim.false_if.endswith("."), claim.id


GREEK = dict(
    zip(
        "αβγδεϵηθκλμσωΔΠψÕ√",
        ["alpha", "beta", "gamma", "delta", "epsilon", "epsilon", "eta", "theta", "kappa", "lambda", "mu", "sigma", "omega",
         "Delta", "Pi", "psi", "O", "sqrt"],
        strict=True,
    )
)  # fmt: skip
SIGNS = r"\\(?:geq?|leq?|l?dots|cup|cap|mathcal|mathbb|tilde|bar|hat|left|right|text|mathrm|operatorname|quad|approx|leftarrow|[gl]eqslant|d?frac|[lr]ceil)\b"


def letters(text):
    """Letters and digits alone, formulas spelt in words: what a quotation and a scanned text have in common."""
    for sign, word in GREEK.items():
        text = text.replace(sign, word)
    text = (
        re.sub(SIGNS, "", text).replace("varepsilon", "epsilon").replace("alpha", "lpha")
    )  # the scan loses the a of some alphas
    return re.sub(r"[^a-z0-9]", "", text.lower())


def quoted(quote, text):
    """Whether the parts of a quotation, between its dots, follow each other in a text."""
    place = 0
    for part in map(letters, quote.split("...")):
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True


def test_a_quotation_is_found_in_a_scan_and_a_changed_one_is_not():
    text = letters(r"the rate is $O(n^{-\alpha})$ for $\alpha \in [0,1)$, and B = O(n).")
    assert quoted("the rate is O(n^-alpha) for alpha in [0,1)", text)
    assert quoted("the rate ... B = O(n)", text)
    assert not quoted("the rate is O(n^-2alpha)", text)
    assert not quoted("B = O(n) ... the rate", text)


@pytest.mark.skipif(
    "DPEXP_PAPERS" not in os.environ, reason="the papers' texts are not ours to ship; name their folder"
)
@pytest.mark.parametrize("paper", [name for name, paper in our_papers().items() if any(c.quote for c in paper.claims)])
def test_quotations_are_verbatim(paper):
    """DPEXP_PAPERS: a folder with a text file of each paper, whose name begins with the paper's id."""
    (path,) = Path(os.environ["DPEXP_PAPERS"]).glob(f"{paper}*.txt")
    text = letters(path.read_text())
    every = (*our_papers()[paper].claims, *our_papers()[paper].differences)
    assert [one.id for one in every if one.quote and not quoted(one.quote, text)] == []


def test_a_quotation_is_not_missing_nor_long_nor_of_a_claim_of_ours():
    assert not quotation_fault(CLAIM)
    assert "nothing" in quotation_fault(replace(CLAIM, quote=" "))
    assert "26 words" in quotation_fault(replace(CLAIM, quote="word " * 26))
    assert not quotation_fault(replace(CLAIM, quote="word " * 25))
    assert "ours" in quotation_fault(replace(CLAIM, source="ours"))
    assert not quotation_fault(replace(CLAIM, source="ours", quote=""))


# --- what to know rests on rows --------------------------------------------------------------------------------------

RESULTS = ROOT / "results"
TELLING = [paper for paper in our_papers().values() if paper.what_to_know]
NUMBER = re.compile(r"10\^-?\d+(?:\.\d+)?|\d+(?:,\d{3})+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+")
COUNTS = {"Three": 3, "Seven": 7, "Thirteen": 13}


def judgements(paper):
    """The rows of a paper, each with its stored verdict, and in the same form the statements that tests settle."""
    stored = verdicts.read_ledger(RESULTS).rows
    rows = {claim.id: stored[claim.id] for claim in our_papers()[paper].claims}
    for name in EXPECTED:
        if name.startswith(f"{paper}/"):
            words = HELD.get(name) or vars(DIFFERENCES[name])
            verdict, found = EXPECTED[name]
            claim = dict.fromkeys(SAID, "") | {"id": name, "paper": paper, "why": " ".join(map(str, words.values()))}
            rows[name] = Judgement(claim, {"verdict": verdict, "measured": found, "predicted": "", "numbers": {}})
    return rows


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
    rows = judgements(paper.id)
    expected = {name: verdict for name, (verdict, _) in EXPECTED.items()}
    expected |= {claim.id: claim.expected for claim in paper.claims}
    assert len(paper.what_to_know) == 5
    for told in paper.what_to_know:
        assert told.rests_on, told.says
        assert contradicted(told, rows) == []
        assert all(expected[name] == presumed for name, presumed in told.rests_on.items()), told.says


@pytest.mark.parametrize("paper", TELLING, ids=lambda paper: paper.id)
def test_each_number_of_a_sentence_is_one_of_its_rows(paper):
    rows = judgements(paper.id)
    assert [(told.says, wrong) for told in paper.what_to_know if (wrong := unfounded(told, rows))] == []


@pytest.mark.parametrize("paper", TELLING, ids=lambda paper: paper.id)
def test_a_row_that_changes_its_verdict_is_named_beside_each_sentence_that_rests_on_it(paper):
    rows = {claim.id: judgements(paper.id)[claim.id] for claim in paper.claims}
    for told in paper.what_to_know:
        for name in rows.keys() & told.rests_on.keys():
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
