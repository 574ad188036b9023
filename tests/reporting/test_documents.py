"""No sentence against its own table: random cards and mechanisms, a share of the campaign of `make soak`."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpexp import receipt
from tests.campaigns.documents import Draw, faults, of_card, of_headline
from tests.conftest import AT_LENGTH

SEEDS, DRAWS = (range(40), 8) if AT_LENGTH else (range(1), 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_documents_agree_with_their_tables_and_with_each_other(seed):
    draw = Draw(seed)
    assert [fault for _ in range(DRAWS) for fault in faults(draw)] == []


CARD = {"sampler": "poisson", "relation": "add-remove", "noise_multiplier": 1.0, "sampling_probability": 0.01,
        "steps": 1000, "releases": "all", "delta": [1e-5, 1e-6], "stated": [{"eps": 1.7, "delta": 1e-5}]}  # fmt: skip


def test_a_verdict_against_its_rows_is_seen(monkeypatch):
    from dpexp.reporting.receipt_readings import Reading

    assert list(of_card(CARD)) == []
    for verdict in ("unsupported",):
        monkeypatch.setattr(Reading, "verdict", lambda *_, said=verdict: said)
        assert any("by its rows refuted" in fault for fault in of_card(CARD))
        assert any("exit code" in fault for fault in of_card(CARD))


def test_a_headline_against_its_rows_is_seen():
    rows = [{"analysis": "one", "released": "all-iterates", "valid": True, "eps": [[1e-5, 1.0]]}]
    lower = [{"analysis": "pair", "released": "all-iterates", "eps": [[0.5, 0.1]]}]
    best = {"all-iterates": {"eps": [[1e-5, 1.0]]}}
    for percent, fault in (("73.2", False), ("73.9", True), ("60", False)):
        plain = [f"An attacker guesses with at most {percent}% success"]
        document = {"statements": rows, "lower": [], "best": best, "plain": plain}
        assert bool([*of_headline(document, plain[0])]) == fault
        assert bool([*of_headline({**document, "lower": lower}, plain[0])])  # 75% at least
    assert [*of_headline({**document, "plain": ["One."]}, "Another.")]


def test_of_an_attacker_what_is_released_attains():
    shown = {}
    for released in ("all", "last", "average"):
        ((most, shown[released]),) = [
            one["advantage"] for one in receipt(**{**CARD, "steps": 100, "releases": released}).document()["readings"]
        ]
        assert most >= shown["all"]
    assert shown["average"] is None
    # linear losses: the last iterate shows one normal, moved by as many deviations of it as batches have the record
    law = binom(100, 0.01)
    exact = max(
        sum(law.pmf(k) * (norm.sf(x - k / math.sqrt(100)) - norm.sf(x)) for k in range(60))
        for x in np.linspace(-1, 1, 401)
    )
    assert shown["last"] == pytest.approx(exact, rel=1e-3)
    assert shown["last"] < 0.9 * shown["all"]
