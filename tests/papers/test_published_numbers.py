"""What other accountants and papers have published, computed with ours."""

import pytest

from tests.oracles import published_numbers
from tests.oracles.published_numbers import REFERENCES, conformance


@pytest.mark.slow
def test_published_values_agree():
    rows = conformance()
    assert len(rows) == len(REFERENCES) >= 20
    assert all(row["agrees"] for row in rows), [row for row in rows if not row["agrees"]]


def test_a_wrong_value_is_told(monkeypatch):
    first = REFERENCES[0]
    off = (
        first._replace(published=first.published * 1.001),
        first._replace(published=first.published * 0.999, relation="at most"),
    )
    monkeypatch.setattr(published_numbers, "REFERENCES", off)
    assert [row["agrees"] for row in conformance()] == [False, False]
