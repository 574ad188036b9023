"""Numbers of other projects beside dpexp's: `settings` says what a row is. `make test` tries a tenth of each suite."""

import json
import math
from importlib.util import find_spec
from itertools import groupby

import pytest

import dpexp
from dpexp.core.errors import UsageError
from tests.conftest import share
from tests.peers import fits
from tests.peers.settings import answer, attained, rows

ROWS = rows()
VERDICTS = {
    "equal", "tighter", "looser", "peer below truth", "peer wrong", "peer stops early", "not expressible", "refused", "runs",
}  # fmt: skip
ANSWERED = [
    row for row in ROWS if row["kind"] != "fit" and row["verdict"] not in ("not expressible", "refused", "runs")
]
NEAR = 1e-2
"""how far a third program's number may be away: some round theirs up by .9 %"""
STORED = 1e-3
"""how far an answer may move from the one that is stored before the row is looked at again"""


def kind_of(row):
    setting = json.loads(row["setting"])
    return row["suite"], setting["via"], setting.get("mechanism", "")


def some(chosen):
    """A tenth of every suite and every kind of setting, the same in every run."""
    return [row for _, alike in groupby(sorted(chosen, key=kind_of), kind_of) for row in share(alike, 10)]


def named(row):
    return f"{row['row']}-{row['suite'].split()[0]}"


def tolerance(row):
    if not row["tol"]:
        return 0.0
    size = float(row["tol"][1:])
    return size * abs(float(row["value"])) if row["tol"][0] == "r" else size


@pytest.mark.parametrize("row", some(ANSWERED), ids=named)
def test_answer(row):
    """Rounding of doubles aside: (a) by kind and verdict, (b) beside a third program, (c) as it is stored."""
    ours, value, slack = answer(row), float(row["value"]), tolerance(row)
    slack += 1e-12 * abs(value)
    # (a)
    match row["kind"], row["verdict"]:
        case "eq" | "ub", "equal":
            assert ours == pytest.approx(value, abs=slack, rel=0)
        case "eq" | "ub", "tighter":
            assert ours <= value + slack
        case "eq" | "ub", "looser":
            assert ours >= value - slack
        case "lb", "equal":
            assert ours >= value - slack
        case "lt", _:
            assert ours < value
        case _, "peer below truth" | "peer wrong":
            assert value + slack < attained(row) <= ours
        case other:
            raise AssertionError(other)
    # (b)
    if row["third"]:
        assert ours == pytest.approx(float(row["third"]), rel=NEAR)
    # (c)
    assert ours == pytest.approx(float(row["dpexp"]), rel=STORED)


@pytest.mark.parametrize("row", [row for row in ROWS if row["verdict"] in ("refused", "runs")], ids=named)
def test_without_a_number(row):
    """Renyi order inf is refused by its name; a calibration that once overflowed somewhere else runs."""
    setting = json.loads(row["setting"])
    if row["verdict"] == "runs":
        assert 0 < answer(row) < math.inf
        return
    with pytest.raises(UsageError, match="alphas"):
        dpexp.privacy(setting["mechanism"], alphas=[math.inf], **setting["p"])


def test_every_row_is_read_by_one_of_these_tests():
    assert len(ROWS) == 1511
    assert {row["verdict"] for row in ROWS} == VERDICTS
    for row in ROWS:
        told = row["verdict"] in ("not expressible", "peer wrong", "peer stops early", "refused")
        assert not told or row["note"], "why the peer is wrong, or what to do instead"


FITS = [row for row in ROWS if row["kind"] == "fit"]


@pytest.mark.skipif(
    find_spec("statsmodels") is None or find_spec("sklearn") is None, reason="make peers has their data"
)
@pytest.mark.filterwarnings("default")  # of their imports
@pytest.mark.parametrize("row", FITS, ids=named)
def test_fit(row, tmp_path):
    """Coefficients without noise, and standard errors, which are those of the sandwich."""
    setting = json.loads(row["setting"])
    column = "std_error" if row["quantity"].startswith("se ") else "estimate"
    term = row["quantity"].removeprefix("se ")
    estimates, _ = fits.by_dpexp(tmp_path, setting)
    ours, value = estimates[term][column], float(row["value"])
    if row["verdict"] == "peer stops early":
        value = fits.by_reweighting(setting)[term]
        assert abs(value - float(row["value"])) > tolerance(row)
        assert ours == pytest.approx(value, rel=1e-9)
        return
    assert ours == pytest.approx(value, abs=tolerance(row), rel=0)
