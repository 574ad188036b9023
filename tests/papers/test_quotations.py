"""Every claim quotes its paper or says that it is ours, says what would make it false, and knows its hypotheses."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dpexp.papers import our_papers
from dpexp.reporting.claim import Claim, Outcome, OutsideHypotheses, of_settings, quotation_fault

CLAIM = Claim(
    "a/b", "Section 1", "It holds.", "value", (), lambda evidence: Outcome("reproduced", "1", "1", "none"), "none",
    "reproduced", "", quote="it holds", false_if="It does not hold.",
)  # fmt: skip


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
    assert [c.id for c in our_papers()[paper].claims if c.quote and not quoted(c.quote, text)] == []


@pytest.mark.parametrize("paper", our_papers())
def test_what_is_not_claimed_says_where_what_and_why(paper):
    listed = our_papers()[paper].not_claimed
    assert all(one.place and one.what and one.because for one in listed)
    assert len({(one.place, one.what) for one in listed}) == len(listed)


def test_a_quotation_is_not_missing_nor_long_nor_of_a_claim_of_ours():
    assert not quotation_fault(CLAIM)
    assert "nothing" in quotation_fault(replace(CLAIM, quote=" "))
    assert "26 words" in quotation_fault(replace(CLAIM, quote="word " * 26))
    assert not quotation_fault(replace(CLAIM, quote="word " * 25))
    assert "ours" in quotation_fault(replace(CLAIM, source="ours"))
    assert not quotation_fault(replace(CLAIM, source="ours", quote=""))


def test_a_claim_is_not_judged_outside_its_hypotheses():
    positive = of_settings("sigma is positive", {"sigma = 1": 1.0, "sigma = -2": -2.0}, lambda sigma: sigma > 0, -1.0)
    with pytest.raises(OutsideHypotheses, match=r"a/b cannot be judged: .* sigma is positive, .* sigma = -2$"):
        replace(CLAIM, hypotheses=(positive,)).settled(None)
    fine = of_settings("sigma is positive", {"sigma = 1": 1.0}, lambda sigma: sigma > 0, -1.0)
    assert replace(CLAIM, hypotheses=(fine,)).settled(None).verdict == "reproduced"
    assert fine.refused(None)
    assert not of_settings("anything", {}, lambda sigma: True, -1.0).refused(None)
