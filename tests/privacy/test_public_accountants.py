"""The event test of tools/accountants.py beside a closed form, and the page beside both programs."""

import pytest

from dpexp.privacy.accounting.gdp import eps_of
from tests.conftest import ROOT
from tools.accountants import SUMMARY, Row, attained


@pytest.mark.slow
def test_an_event_never_exceeds_the_gaussian_law_and_nearly_attains_it():
    """Four steps of all records with z = 2: mu = 1."""
    found = attained(Row("ours", 2.0, 1.0, 4, 1e-5))
    assert eps_of(1.0, 1e-5) * (1 - 2e-3) < found <= eps_of(1.0, 1e-5)


def test_the_page_says_what_its_numbers_say():
    lines = (ROOT / "docs" / "accountants.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.count("|") == 9][2:]
    assert len(rows) == 17
    for program, _, _, *numbers, word in rows:
        said, event, *ends = (float(number) for number in numbers if number)
        low = min([event, *ends[:1]])
        assert ends == [] if program == SUMMARY else event <= ends[1] * (1 + 1e-4)
        assert word == ("**below what is attained**" if said < low * (1 - 1e-4) else "agrees")
