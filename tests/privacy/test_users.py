"""The promises to users, and the files of users that are refused."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from dpexp.accounting.gaussian import eps_of
from dpexp.commands import privacy
from dpexp.core.errors import UsageError
from dpexp.privacy.budgets import BUDGETS
from dpexp.privacy.mechanisms.local_gaussian import ledger, spent


def test_a_users_releases_compose_and_users_do_not():
    both = spent(np.array([1.0, 2.0, 0.5]), np.array([4, 1, 0]))
    assert both == pytest.approx([2.0, 2.0, 0.0])
    (everyone,) = ledger(np.array([1.0, 2.0, 0.5]), np.array([4, 1, 0]), None, [1e-5])
    assert everyone["mu"] == 2.0
    assert everyone["eps"] == [[1e-5, eps_of(2.0, 1e-5)]]
    assert everyone["users"] == 3
    rng = np.random.default_rng(1)
    mu, uses, groups = rng.uniform(0.1, 3, 500), rng.integers(0, 5, 500), rng.choice(list("abc"), 500)
    rows = {row["group"]: row for row in ledger(mu, uses, groups, [1e-5, 1e-7])}
    assert set(rows) == {"a", "b", "c", "all"}
    for name in "abc":
        given = np.sqrt(uses[groups == name]) * mu[groups == name]
        assert rows[name]["mu"] == pytest.approx(given.max())
        assert rows[name]["mu_median"] in given
        assert np.mean(given <= rows[name]["mu_median"]) == pytest.approx(0.5, abs=0.01)
        assert rows[name]["mu_q05"] <= rows[name]["mu_median"] <= rows[name]["mu_q95"] <= rows[name]["mu"]
    assert rows["all"]["mu"] == max(rows[name]["mu"] for name in "abc")
    assert rows["all"]["users"] == 500


@pytest.mark.parametrize(("users", "chance"), [(1, 1e-6), (2000, 1e-6), (300_000, 1e-12)])
def test_a_user_hides_among_the_others_that_there_are_but_for_a_chance(users, chance):
    """One budget that is drawn in two parts is one group; a budget that nobody draws is none."""
    law = {"values": (1.0, 2.0, 1.0, 4.0), "probabilities": (0.25, 0.5, 0.25, 0.0)}
    groups = BUDGETS["choice"].model_validate({"choice": law}).groups(users, chance)
    assert groups == dict.fromkeys((1.0, 2.0), 1 + binom.ppf(chance, users - 1, 0.5))


def test_edges_of_the_ledger():
    assert ledger(np.zeros(0), None, None, [1e-5])[0]["users"] == 0
    assert ledger(np.array([math.inf]), np.array([0]), None, [1e-5])[0]["eps"][0][1] == 0
    assert ledger(np.array([math.inf]), None, None, [1e-5])[0]["eps"][0][1] == math.inf


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_of_users(form, tmp_path):
    path = tmp_path / f"users.{form}"
    users = pd.DataFrame({"mu": [1.0, 2.0, 0.5, 0.5], "uses": [1, 1, 4, 2], "group": ["x", "y", "x", "x"]})
    users.to_csv(path, index=False) if form == "csv" else users.to_parquet(path)
    statement = privacy.privacy(users=path, delta=1e-6)
    document, text = statement.document(), statement.text()
    assert [row["group"] for row in document["groups"]] == ["x", "y", "all"]
    assert document["groups"][0]["mu"] == pytest.approx(1.0)
    assert document["groups"][-1]["eps"] == [[1e-6, eps_of(2.0, 1e-6)]]
    assert "disjoint" in text


WRONG_USERS = [
    ("", "users.csv:1: the first line is blank"),
    ("mu,use\n1,2\n", "users.csv:1: no column 'use' is known"),
    ("mu,uses,group\n0.5,1,a\n0.5,12,1,b\n", "users.csv:3: does not hold one value for each of the 3 columns"),
    ("mu,uses\n1,2\n\n1,two\n", "users.csv:4: uses is not a number, got 'two'"),
    ("mu\n1\n-2\n", "users.csv:3: mu must not be negative, got '-2'"),
    ("mu,uses\n1,1.5\n", "users.csv:2: uses must be whole, got '1.5'"),
    ("mu,group\n1,all\n", "users.csv:2: group cannot be 'all'"),
]


@pytest.mark.parametrize(("content", "message"), WRONG_USERS)
def test_a_wrong_file_of_users_is_told_with_its_line(content, message, tmp_path):
    path = tmp_path / "users.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        privacy.privacy(users=path)
    assert message in error.value.message
