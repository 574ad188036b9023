"""What is remarked on a user's own table: columns of unlike size, identifiers, counts as classes; and where it is not said."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpexp.data.labelled import columns_of_file
from dpexp.data.public_inputs import PublicInputs
from dpexp.data.records import read_record_table
from dpexp.data.table_remarks import remarks
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
