"""A cell is known by the words of its config, and a release by its records: neither by how a path is typed."""

from __future__ import annotations

import json
import math
import os
import re
import shutil

import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import UsageError
from dpexp.store.receipts import records_of, together, why_refused
from dpexp.store.simulating import simulate
from tests.conftest import call, numbers

CONFIG = """experiment: NAME
problem:
  name: softmax
  data: {path: PATH, target: y, ranges: {x: [0, 1]}, categories: {y: ["no", "yes"]}, records: 300}
algorithm: {name: dp-sgd, batch_size: 16, epochs: 1}
privacy: {eps: 2, delta: 1e-5}
run: {replicates: 1, seed: 1, checkpoints: 2}
"""
TABLE = "x,y\n" + "".join(f"{k / 300},{'yes' if k > 150 else 'no'}\n" for k in range(300))


def config(folder, name="own", path="t.csv", experiment="d", **changes):
    text = CONFIG.replace("NAME", experiment).replace("PATH", str(path))
    for key, value in changes.items():
        text = text.replace(f"{key}: {1 if key == 'seed' else 2}", f"{key}: {value}")
    (folder / f"{name}.yaml").write_text(text)
    return folder / f"{name}.yaml"


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "A/deep").mkdir(parents=True)
    (tmp_path / "A/t.csv").write_text(TABLE)
    config(tmp_path / "A")
    return tmp_path


def test_one_cell_one_set_of_bits_and_one_release_however_a_path_is_typed(lab):
    found, absolute = set(), config(lab / "A", "absolute", lab / "A/t.csv").relative_to(lab)
    for folder, typed in ((lab, "A/own.yaml"), (lab / "A/deep", "../own.yaml"), (lab, absolute)):
        shutil.rmtree(lab / "plain", ignore_errors=True)
        call("run", typed, "-q", "--results", lab / "plain", cwd=folder)
        found.add(json.dumps(numbers(lab / "plain/d")))
        code = 2 if (lab / "secret").exists() else 0
        call("run", typed, "-q", "--deployment", "--results", lab / "secret", cwd=folder, code=code)
    ((cell, _),) = json.loads(*found).items()
    assert cell == load_experiment(lab / "A/own.yaml").cells[0].cell_id
    deployed = sorted(path.name for path in (lab / "secret").iterdir() if path.name[0] != ".")
    assert deployed == [deployed[0], f"{deployed[0]}.receipt.json"]
    # another place with the same files is the same cell, with the same bits; other records are too, but for the bits
    shutil.move(lab / "A", lab / "B")
    call("run", "B/own.yaml", "-q", "--results", lab / "moved", cwd=lab)
    assert json.dumps(numbers(lab / "moved/d")) in found
    (lab / "B/t.csv").write_text(TABLE.replace("0.1,", "0.9,"))
    call("run", "B/own.yaml", "-q", "--results", lab / "moved", cwd=lab)
    assert [*numbers(lab / "moved/d")] == [cell]
    assert json.dumps(numbers(lab / "moved/d")) not in found


def test_parameters_are_kept_of_own_records_alone_and_of_the_first_replicate(lab):
    text = (lab / "A/own.yaml").read_text()
    (lab / "A/public.yaml").write_text(re.sub("data: .*", "data: {name: digits}", text))
    own, public = (load_experiment(lab / "A" / name).cells for name in ("own.yaml", "public.yaml"))
    kept = [simulate(cells, [replicate])[0].model for cells, replicate in ((own, 0), (own, 1), (public, 0))]
    assert [model is None for model in kept] == [False, True, True]


def test_releases_of_one_name_within_a_second_are_folders_of_their_own(lab):
    places = lab / "results"
    for _ in range(3):
        call("run", "A/own.yaml", "-q", "--deployment", "--again", cwd=lab)
    assert len([path for path in places.glob("d.deployed-*") if path.is_dir()]) == 3
    receipts = [json.loads(path.read_text()) for path in places.glob("d.deployed-*.receipt.json")]
    assert [one["status"] for one in receipts] == ["released"] * 3


def test_the_same_records_are_released_again_only_when_that_is_asked_for(lab):
    """Under another name, sorted, with other line ends, another seed, number of checkpoints or experiment, or by a fit:
    the sum of what was spent is said."""
    a = lab / "A"
    header, *rows = TABLE.splitlines()
    (a / "other.csv").write_bytes("\r\n".join((header, *sorted(rows))).encode("utf-8-sig"))
    configs = [config(a, "renamed", "other.csv"), config(a, "seeded", seed=2), config(a, "seen", checkpoints=1),
               config(a, "named", experiment="e")]  # fmt: skip
    call("run", "A/own.yaml", "-q", "--deployment", cwd=lab)
    before = {path: path.read_bytes() for path in (lab / "results").rglob("*.parquet")}
    for path in configs:
        refused = call("run", path, "-q", "--deployment", cwd=lab, code=2).stderr
        assert "released before: 1 release" in refused
        assert "epsilon = 2 at delta = 1e-05" in refused
        assert "refused" in call("run", path, "--deployment", "--dry-run", cwd=lab).stdout
    assert {path: path.read_bytes() for path in (lab / "results").rglob("*.parquet")} == before
    call("run", configs[-1], "-q", "--deployment", "--again", cwd=lab)
    assert "epsilon = 4 at delta = 2e-05" in call("run", configs[0], "-q", "--deployment", cwd=lab, code=2).stderr
    fit = ("fit", a / "t.csv", "--target", "x", "--mu", "1", "--central", "--deployment", "--public", a / "p.yaml")
    (a / "p.yaml").write_text('ranges: {x: [0, 1]}\ncategories: {y: ["no", "yes"]}\n')
    assert "2 releases" in call(*fit, "--out", "results/fits/fit.json", cwd=lab, code=2).stderr
    call(*fit, "--out", "results/fits/fit.json", "--again", cwd=lab, code=None)
    assert "3 releases" in call("run", configs[0], "-q", "--deployment", cwd=lab, code=2).stderr
    # other records are no such release
    (a / "other.csv").write_text(TABLE.replace("0.1,", "0.9,"))
    call("run", configs[0], "-q", "--deployment", "--results", "results", cwd=lab)


def test_of_anothers_key_nothing_can_be_told(lab, monkeypatch):
    from dpexp.store import receipts

    call("run", "A/own.yaml", "-q", "--deployment", cwd=lab)
    monkeypatch.setenv("HOME", str(lab / "elsewhere"))
    receipts.user_key.cache_clear()
    try:
        refused = call("run", config(lab / "A", "named", experiment="e"), "-q", "--deployment", cwd=lab, code=2).stderr
        assert "another secret" in refused
    finally:
        monkeypatch.undo()
        receipts.user_key.cache_clear()
    (receipt,) = (path.read_text() for path in (lab / "results").glob("d.deployed-*.receipt.json"))
    assert os.fspath(lab) not in receipt


def gaussian(mu, delta):
    """Epsilon of mu-Gaussian DP, by the definition of delta."""
    return brentq(lambda e: norm.cdf(mu / 2 - e / mu) - math.exp(e) * norm.cdf(-mu / 2 - e / mu) - delta, 0, 60)


REPLACED, REMOVED = ("replace-one", 1.0, math.nan, 1e-5), ("add-remove", 2.0, math.nan, 1e-5)
PURE = "add-remove", None, 0.7, 0.0
SPENT = [
    ([REPLACED], (1.0, gaussian(1, 1e-5), 1e-5)),
    ([REPLACED, REPLACED], (math.sqrt(2), gaussian(math.sqrt(2), 1e-5), 1e-5)),
    ([REPLACED, ("replace-one", 1.0, math.nan, 1e-6)], (math.sqrt(2), gaussian(1, 1e-5) + gaussian(1, 1e-6), 1.1e-5)),
    ([PURE, PURE, REMOVED], (None, 1.4 + gaussian(2, 1e-5), 1e-5)),
    # a replaced record is one that is removed and one that is added
    ([REPLACED, PURE], (None, gaussian(1, 1e-5) + 1.4, 1e-5)),
    ([REPLACED, REMOVED], (None, gaussian(1, 1e-5) + 2 * (e := gaussian(2, 1e-5)), 1e-5 * (2 + math.exp(e)))),
]


@pytest.mark.parametrize(("releases", "wanted"), SPENT)
def test_releases_of_the_same_records_add_up(releases, wanted):
    receipts = [dict(zip(("relation", "mu", "eps", "delta"), release, strict=True)) for release in releases]
    found = dict(re.findall(r"(mu|epsilon|delta) = ([\d.e-]+)", together(receipts)))
    for name, value in zip(("mu", "epsilon", "delta"), wanted, strict=True):
        assert (name in found) == (value is not None)
        assert value is None or value * (1 - 1e-9) <= float(found[name]) <= value * 1.01  # rounded up


def test_what_is_illegible_concerns_its_own_folder_alone(tmp_path):
    """Nothing more is released beside it, and a folder below it is free."""
    own = records_of(b"mine")
    (tmp_path / "others.receipt.json").write_text("{")
    assert why_refused(tmp_path / "below", own) == ("", "")
    with pytest.raises(UsageError, match="no receipt that can be read"):
        why_refused(tmp_path, own)
