"""What is remarked on a user's own table: columns of unlike size, identifiers, counts as classes; and where it is not said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpexp.data.labelled import columns_of_file
from dpexp.data.public_inputs import PublicInputs
from dpexp.data.records import read_record_table
from dpexp.data.table_remarks import OF_ONE_SIZE, remarks
from tests.conftest import call

N = 200
CONFIG = """experiment: own
problem: {name: softmax, data: {path: own.csv, target: y, categories: {y: [0, 1]}, records: 200}}
algorithm: {name: dp-sgd, batch_size: 16, epochs: 1}
schedule: {name: langevin, decreasing: false}
privacy: {eps: 1, delta: 1e-5}
run: {replicates: 1, seed: 1, checkpoints: 1}
"""


def table(**columns):
    rng = np.random.default_rng(5)
    return pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N), **columns, "y": np.arange(N) % 2})


def said(frame, target="y", ranges=(), categories=()):
    levels = {target: ("0", "1"), **{name: tuple(map(str, levels)) for name, levels in dict(categories).items()}}
    table = read_record_table(frame)
    return remarks(table, *columns_of_file(table.header, "t.csv", target, PublicInputs(dict(ranges), levels)))


def test_nothing_is_said_of_a_table_in_order():
    assert said(table(c=["x", "z"] * (N // 2)), categories={"c": ["x", "z"]}) == []


@pytest.mark.parametrize(("factor", "found"), [(0.9, 0), (1.1, 1)])
def test_a_column_that_is_too_large_beside_the_others(factor, found):
    frame = table()
    frame["a"] /= np.sqrt(np.mean(frame.a**2))
    frame["b"] /= np.sqrt(np.mean(frame.b**2)) / (factor * OF_ONE_SIZE)
    told = said(frame)
    assert len(told) == found
    assert all(
        text.startswith("b is more than 10 times") and "ranges: {a: [LOW, HIGH], b: [LOW, HIGH]}" in text
        for text in told
    )


def test_names_that_yaml_would_misread_are_spelled_for_the_config():
    numbered, large = said(table(**{"no": np.arange(N), "x: y": 1000.0}))
    assert numbered.startswith("no is another whole number")
    assert 'ranges: {a: [LOW, HIGH], b: [LOW, HIGH], no: [LOW, HIGH], "x: y": [LOW, HIGH]}' in large


def test_a_stated_range_or_categories_settle_it():
    frame = table()
    frame["b"] = np.arange(N) % 7 * 1000.0
    assert len(said(frame)) == 1
    assert said(frame, ranges={"b": (0, 6000)}) == []
    assert said(frame, categories={"b": [1000 * k for k in range(7)]}) == []


def test_an_identifier_is_another_whole_number_in_every_record():
    (text,) = said(table(number=(np.arange(N) - N / 2) / 1.0), categories={})[:1]
    assert text.startswith("number is another whole number")
    assert not any("identifier" in text for text in said(table(part=np.arange(N) / 7.0)))  # fractions
    assert not any("identifier" in text for text in said(table(twice=np.arange(N) // 2)))


def test_values_that_cannot_be_read_are_told_to_the_owner():
    frame = table(c=["x", "q"] * (N // 2))
    told = said(frame, categories={"c": ["x", "z"]})
    assert len(told) == 1
    assert told[0].startswith(
        "100 of 200 records cannot be read and add nothing: c is not among its categories (x, z): 'q'"
    )
    assert "(100 records, first frame, row 2)" in told[0]
    assert told[0].endswith("(private: do not publish)")


def test_what_is_remarked_reaches_the_owner_and_nothing_that_leaves(tmp_path):
    """By validate and run; an accuracy of 61.3% of records of which 61.3% are benign is none."""
    rows = [f"{k % 7},{k % 9 * 1000.0},{'benign' if k % 1000 < 613 else 'malign'}" for k in range(2000)]
    (tmp_path / "own.csv").write_text("a,pay,y\n" + "\n".join([*rows, "3,1,unknown"]) + "\n")
    (tmp_path / "own.yaml").write_text(CONFIG.replace("[0, 1]", "[malign, benign]"))
    share = 'own.csv: Always predicting "benign" would be 61.3% accurate (private: do not publish)'
    validated, ran = call("validate", "own.yaml", cwd=tmp_path).stdout, call("run", "own.yaml", cwd=tmp_path).stderr
    for told in ("own.csv: pay is more than 10 times", share):
        assert told in validated
        assert told in ran
    kept = [path.read_bytes() for path in (tmp_path / "results" / "own").rglob("*") if path.is_file()]
    shown = [call("privacy", "own.yaml", cwd=tmp_path).stdout, call("predict", "own", cwd=tmp_path).stdout]
    assert kept
    assert not any(b"10 times" in one or b"61.3" in one for one in [*kept, *map(str.encode, shown)])


def test_a_number_as_target_names_regression(tmp_path):
    table(pay=np.arange(N) * 10.5).to_csv(tmp_path / "own.csv", index=False)
    (tmp_path / "own.yaml").write_text(CONFIG.replace("target: y, categories: {y: [0, 1]}", "target: pay"))
    said = call("validate", "own.yaml", cwd=tmp_path, code=2).stderr
    assert "the classes of pay are not stated" in said
    assert "to explain a number, dpexp fit DATA --target pay" in said
