"""Shipped data sets, a user's own files, and everything that can be wrong with them."""

import numpy as np
import pytest

from dpexp.core.errors import DataError
from dpexp.data import adult
from dpexp.data.dataset import BIAS, NORM, Dataset, held_out, prepare, split
from dpexp.data.encode import limits_of
from dpexp.data.labelled import DATASETS, load_split, read_labelled
from dpexp.data.public_inputs import PublicInputs


@pytest.fixture(scope="module")
def shipped():
    return {name: load_split(name) for name in DATASETS}


@pytest.mark.parametrize(
    ("name", "train", "test", "p", "classes"),
    [("fashion", 60000, 10000, 257, 10), ("adult", 32561, 16281, 105, 2), ("digits", 1438, 359, 65, 10)],
)
def test_shipped_data(shipped, name, train, test, p, classes):
    parts = shipped[name]
    assert parts.train.features.shape == (train, p)
    assert parts.test.features.shape == (test, p)
    assert len(parts.train.classes) == classes
    for part in parts:
        assert np.linalg.norm(part.features.astype(np.float64), axis=1) == pytest.approx(NORM, abs=1e-6)
        assert np.all(part.features[:, -1] == BIAS)
        assert set(np.unique(part.labels)) == set(range(classes))
    assert NORM**2 == 1.0625


def test_random_splits_are_seeded():
    a, b, c = load_split("digits", seed=1), load_split("digits", seed=1), load_split("digits", seed=2)
    assert np.array_equal(a.test.features, b.test.features)
    assert not np.array_equal(a.test.features, c.test.features)
    both = np.concatenate([a.train.features, a.test.features])
    whole = np.concatenate([c.train.features, c.test.features])
    assert np.array_equal(np.sort(both, axis=0), np.sort(whole, axis=0))
    assert len(load_split("digits", test_fraction=0.5).test) == 898
    with pytest.raises(DataError, match="fraction"):
        load_split("digits", test_fraction=1.0)


@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.5, 0.99])
def test_both_parts_of_a_split_have_records(fraction):
    assert held_out(1, fraction) == 0
    for n in range(2, 12):
        data = Dataset("few", np.eye(n, dtype=np.float32), np.arange(n) % 2, ("no", "yes"))
        train, test = split(data, fraction, np.random.default_rng(n))
        assert len(test) == held_out(n, fraction) == min(max(1, int(n * fraction)), n - 1)
        rows = np.concatenate([train.features, test.features])
        assert np.array_equal(np.sort(rows, axis=0), np.sort(data.features, axis=0))


def test_records_are_prepared_one_by_one():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, 3)).astype(np.float32)
    x[2] = 0
    alone = np.concatenate([prepare(row[None]) for row in x])
    assert np.array_equal(prepare(x), alone)
    many = np.repeat(x[:2], 4100, axis=0)
    assert np.array_equal(prepare(many)[::4100], alone[:2])
    assert prepare(x)[2].tolist() == [0, 0, 0, 0.25]


TABLE = """age, job, member, income
31, cook, True, low
45, nurse, False, high
28, cook, True, low
52, clerk, True, high
"""


def test_a_csv_file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    stated = {"income": ("low", "high"), "job": ("cook", "nurse", "clerk", "smith"), "member": ("no", "yes")}
    public = PublicInputs({"age": (0, 100)}, stated)
    table = read_labelled(path, "income", public)
    assert sorted(map(tuple, table.features.tolist())) == sorted(
        (np.float32(a).item(), *rest)
        for a, *rest in [(0.31, 1, 0, 0, 0, 0, 1), (0.45, 0, 1, 0, 0, 1, 0), (0.28, 1, 0, 0, 0, 0, 1), (0.52, 0, 0, 1, 0, 0, 1)]
    )  # fmt: skip
    assert table.classes == ("low", "high")


def test_what_cannot_be_read_moves_nothing(tmp_path):
    """Such a record keeps its place, weighs nothing in training, and counts as predicted wrongly where it is held out."""
    path = tmp_path / "people.csv"
    path.write_text(TABLE + "old, cook, True, low\n30, pilot, True, low\n30, cook, True, middle\n30, cook, True, low\n")
    stated = {"income": ("low", "high"), "job": ("cook", "nurse", "clerk"), "member": ("no", "yes")}
    table = read_labelled(path, "income", PublicInputs({"age": (0, 100)}, stated))
    assert table.usable.tolist() == [True] * 4 + [False] * 3 + [True]
    assert not table.prepared.features[4:7].any()
    assert table.labels[4:7].tolist() == [1, 1, 1]
    assert np.all(table.prepared.features[:4].any(axis=1))
    train, test = load_split(read_labelled(path, "income", PublicInputs({"age": (0, 100)}, stated)), test_fraction=0.5)
    assert (len(train), len(test)) == (4, 4)
    for part in (train, test):
        scores = part.features @ np.ones((train.features.shape[1], 2))
        assert np.all(scores.argmax(axis=1)[~part.usable] != part.labels[~part.usable])
    whole = PublicInputs({"age": (0, 100)}, {**stated, "job": ("cook", "other")}, ("age",), ("member",))
    table = read_labelled(path, "income", whole)
    assert table.usable.tolist() == [True] * 4 + [False, True, False, True]
    assert [entry for column in table.columns for entry in column.entries] == [
        "age", "age is missing", "job=cook", "job=other",
    ]  # fmt: skip


def test_days_are_numbers_where_their_range_says_so(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("since,y\n2000-01-01,a\n2000-01-11,b\n2000-01-06,a\n1.1.2000,a\n")
    low, high = limits_of("since", ("2000-01-01", "2000-01-11"))
    public = PublicInputs({"since": (low, high)}, {"y": ("a", "b")}, days=("since",))
    table = read_labelled(path, "y", public)
    assert table.features[:3, 0].tolist() == [0, 1, 0.5]
    assert table.usable.tolist() == [True, True, True, False]


@pytest.mark.parametrize(("pair", "right"), [
    ((1, 3), True), ((3, 3), False), ((3, 1), False), ((1e308, 1.5e308), True), ((-1e308, 1e308), False),
    (("2024-02-28", "2024-03-01"), True), ((False, True), False), ((0, float("inf")), False),
])  # fmt: skip
def test_a_stated_range_has_a_width_that_is_a_number(pair, right):
    if right:
        low, high = limits_of("x", pair)
        assert high - low == (2 if pair != (1e308, 1.5e308) else 5e307)
    else:
        with pytest.raises(ValueError, match="x: a range is"):
            limits_of("x", pair)


def test_numbers_of_adult_are_shares_of_their_ranges():
    """None and all of every range, on a log scale for gains and losses; an unknown category is no column."""
    most, codes = np.array([[*adult.RANGES.values()], [50, 4, 999, 0, 25]]), np.zeros((2, 8), int)
    codes[1, 0] = 2
    features = adult.encode_adult(most, codes)
    assert features[0].tolist() == [1.0] * 5 + [0.0] * 99
    assert features[1, :5] == pytest.approx([0.5, 0.25, 0.6, 0, 0.25], rel=1e-6)
    assert np.flatnonzero(features[1, 5:]).tolist() == [1]
