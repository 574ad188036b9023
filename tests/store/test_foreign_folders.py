"""A run writes and deletes its own files alone."""

from __future__ import annotations

import shutil

import pytest

from dpexp.store.folder import experiments_in
from tests.conftest import SMALL, call, numbers

TINY = SMALL.replace("n: 700, replicates: 20", "n: 40, replicates: 2")


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "small.yaml").write_text(TINY)
    call("run", "small.yaml", "-q", cwd=tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["", "trajectories", "partial"])
def test_no_link_is_entered(lab, name):
    place, home = lab / "results/small" / name, lab / "home"
    home.mkdir()
    if place.exists():
        shutil.rmtree(place)
    place.symlink_to(home)
    assert "is a link" in call("run", "small.yaml", "--force", cwd=lab, code=2).stderr
    assert not list(home.iterdir())


def test_files_of_others_stay(lab):
    root = lab / "results/small"
    (root / "partial").mkdir()
    others = [root / name for name in ("partial/notes.txt", "trajectories/notes.txt", ".small.yaml.tmp")]
    for path in others:
        path.write_text("mine")
    before = numbers(root)
    call("run", "small.yaml", "-q", "--force", cwd=lab)
    assert [path.read_text() for path in others] == ["mine"] * 3
    assert numbers(root) == before


def test_a_link_to_a_folder_of_results_is_none_of_them(lab):
    """Whoever can write a link in a results folder would otherwise show what lies elsewhere."""
    (lab / "other").mkdir()
    (lab / "other/theirs").symlink_to(lab / "results/small")
    (lab / "results/notes.txt").write_text("mine")
    assert experiments_in(lab / "results") == ["small"]
    assert experiments_in(lab / "other") == experiments_in(lab / "nowhere") == []
