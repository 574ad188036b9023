"""What is remarked on a user's own table: and where it is not said."""

from __future__ import annotations

from tests.conftest import call

CONFIG = """experiment: own
problem: {name: softmax, data: {path: own.csv, target: y, categories: {y: [0, 1]}, records: 200}}
algorithm: {name: dp-sgd, batch_size: 16, epochs: 1}
schedule: {name: langevin, decreasing: false}
privacy: {eps: 1, delta: 1e-5}
run: {replicates: 1, seed: 1, checkpoints: 1}
"""


def test_what_is_remarked_reaches_the_owner_and_nothing_that_leaves(tmp_path):
    """By validate and run; an accuracy of 61.3% of records of which 61.3% are benign is none."""
    rows = [f"{k % 7},{k % 9 * 1000.0},{'benign' if k % 1000 < 613 else 'malign'}" for k in range(2000)]
    (tmp_path / "own.csv").write_text("a,pay,y\n" + "\n".join([*rows, "3,1,unknown"]) + "\n")
    (tmp_path / "own.yaml").write_text(CONFIG.replace("[0, 1]", "[malign, benign]"))
    share = 'own.csv: Always predicting "benign" would be 61.3% accurate (private: do not publish)'
    validated, ran = call("validate", "own.yaml", cwd=tmp_path).stdout, call("run", "own.yaml", cwd=tmp_path).stderr
    for remark in ("1 of 2,001 records cannot be read and add nothing", share):
        assert remark in validated
        assert remark in ran
    kept = [path.read_bytes() for path in (tmp_path / "results" / "own").rglob("*") if path.is_file()]
    shown = [call("privacy", "own.yaml", cwd=tmp_path).stdout, call("predict", "own", cwd=tmp_path).stdout]
    assert kept
    assert not any(b"cannot be read" in one or b"61.3" in one for one in [*kept, *map(str.encode, shown)])
