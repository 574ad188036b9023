"""Every claim quotes its paper or says that it is ours, and each sentence for readers follows from rows with its numbers."""

import math
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dpexp.papers import our_papers
from dpexp.reporting.ledger import verdicts
from dpexp.reporting.ledger.verdicts import contradicted, page
from dpexp.reporting.paper import ToKnow
from tests.conftest import ROOT
from tests.papers.test_statements import DIFFERENCES, EXPECTED

LONGEST = 25
"""words of a quotation"""


@pytest.mark.parametrize("paper", our_papers())
def test_every_claim_is_quoted_or_ours_and_can_be_false(paper):
    for claim in our_papers()[paper].claims:
        assert len(claim.quote.split()) <= LONGEST, claim.id
        assert bool(claim.quote.strip()) == (claim.source == "paper"), claim.id
        assert claim.false_if.endswith("."), claim.id


GREEK = dict(zip("αβγδεϵηθκλμσωΔΠψÕ√", ["alpha", "beta", "gamma", "delta", "epsilon", "epsilon", "eta", "theta", "kappa", "lambda", "mu", "sigma", "omega", "Delta", "Pi", "psi", "O", "sqrt"], strict=True))  # fmt: skip
SIGNS = r"\\(?:geq?|leq?|l?dots|cup|cap|mathcal|mathbb|tilde|bar|hat|left|right|text|mathrm|operatorname|quad|approx|leftarrow|[gl]eqslant|d?frac|[lr]ceil)\b"


def letters(text):
    """Letters and digits alone, formulas spelt in words: what a quotation and a scanned text have in common."""
    for sign, word in GREEK.items():
        text = text.replace(sign, word)
    # the scan loses the a of some alphas
    text = re.sub(SIGNS, "", text).replace("varepsilon", "epsilon").replace("alpha", "lpha")
    return re.sub(r"[^a-z0-9]", "", text.lower())


@pytest.mark.skipif(
    "DPEXP_PAPERS" not in os.environ, reason="the papers' texts are not ours to ship; name their folder"
)
@pytest.mark.parametrize("paper", [name for name, paper in our_papers().items() if any(c.quote for c in paper.claims)])
def test_quotations_are_verbatim(paper):
    """DPEXP_PAPERS: a folder with a text file of each paper, whose name begins with the paper's id."""
    (path,) = Path(os.environ["DPEXP_PAPERS"]).glob(f"{paper}*.txt")
    text = letters(path.read_text())
    for row in (*our_papers()[paper].claims, *our_papers()[paper].differences):
        # the parts of a quotation, between its dots, follow each other
        parts = [re.escape(letters(part)) for part in row.quote.split("...")]
        assert re.search(".*".join(parts), text), row.id


TELLING = [paper for paper in our_papers().values() if paper.what_to_know]
NUMBER = re.compile(r"10\^-?\d+(?:\.\d+)?|\d+(?:,\d{3})+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+")
CONDITIONS = r"2 L D / \(n eta sigma\^2\)|first 10\^5 steps"
"""formulas, and what the test of a statement itself asks for"""


def value(number):
    """What a number in a text is: 10^22.4, 300,000, 1e-5 or .42."""
    return 10 ** float(number[3:]) if number.startswith("10^") else float(number.replace(",", ""))


def stored(numbers):
    inside = numbers.values() if isinstance(numbers, dict) else numbers if isinstance(numbers, list) else ()
    for number in inside:
        yield from stored(number)
    if isinstance(numbers, float | int) and not isinstance(numbers, bool):
        yield float(numbers)


def numbers_of(name, ledger):
    """Every number that a row prints, stores or quotes, or that its test computes."""
    if name in ledger:
        row = ledger[name]
        words, own = (
            [*map(str, row.claim.values()), row.outcome["predicted"], row.outcome["measured"]],
            row.outcome["numbers"],
        )
    else:
        words, own = [*map(str, vars(DIFFERENCES[name]).values())] if name in DIFFERENCES else [], [*EXPECTED[name][1:]]
    return {value(number) for text in words for number in NUMBER.findall(text)} | set(stored(own))


def unfounded(sentence, ledger):
    """The numbers of a sentence that are none of the rows on which it rests."""
    known = {number for name in sentence.rests_on for number in numbers_of(name, ledger)}
    says = re.sub(CONDITIONS, "", sentence.says)
    return [text for text in NUMBER.findall(says) if not any(printed_as(n, text) for n in known)]


def printed_as(number, text):
    """Whether a number is the one in the text, to the digits that the text has."""
    digits = len(re.sub(r"^0+|[eE].*|[^0-9]", "", text))
    rounded = float(f"{number:.{digits}g}") if digits > 1 and not text.startswith("10^") else number
    return math.isclose(rounded, value(text), rel_tol=1e-9)


@pytest.mark.parametrize("paper", TELLING, ids=lambda paper: paper.id)
def test_each_sentence_rests_on_rows_whose_verdicts_it_presumes_and_has_their_numbers(paper):
    ledger = verdicts.read_ledger(ROOT / "results")
    expected = {name: verdict for name, (verdict, *_) in EXPECTED.items()}
    expected |= {claim.id: claim.expected for claim in paper.claims}
    assert len(paper.what_to_know) == 5
    for sentence in paper.what_to_know:
        assert sentence.rests_on.items() <= expected.items(), sentence.says
        assert sentence.rests_on, sentence.says
        assert unfounded(sentence, ledger) == [], sentence.says
    wrong = ToKnow("Up to 7,380 times.", {"ldp-sgd/theorem-3": "holds as a bound"})
    assert unfounded(wrong, ledger) == ["7,380"]


@pytest.mark.parametrize("paper", TELLING, ids=lambda paper: paper.id)
def test_a_row_that_changes_its_verdict_is_named_beside_each_sentence_that_rests_on_it(paper):
    ledger = verdicts.read_ledger(ROOT / "results")
    rows = {claim.id: ledger[claim.id] for claim in paper.claims}
    for sentence in paper.what_to_know:
        for name in rows.keys() & sentence.rests_on.keys():
            other = "false" if sentence.rests_on[name] != "false" else "reproduced"
            changed = {**rows, name: replace(rows[name], outcome={**rows[name].outcome, "verdict": other})}
            (words,) = contradicted(sentence, changed)
            assert name in words
            assert contradicted(sentence, {**changed, name: replace(changed[name], state="stale")}) == []
            assert f"**But {words}.**" in page(paper.id, list(changed.values()), paper).partition("## The claims")[0]
