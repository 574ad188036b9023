"""A run writes and deletes its own files alone, whatever stands in its folder."""

from __future__ import annotations

import shutil

import pytest

from tests.conftest import call

CONFIG = """experiment: k
problem: {name: huber-linear, d: 2}
schedule: {name: power, eta: 1, alpha: 1/2}
privacy: {mu: 1}
run: {n: 50, replicates: 2, seed: 1, checkpoints: 4}
"""
CELL = "0123456789ab"


def contents(folder):
    """Every file below a folder, with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def lab(tmp_path):
    """A config that was run, and somebody's home."""
    (tmp_path / "k.yaml").write_text(CONFIG)
    call("run", "k.yaml", "-q", cwd=tmp_path)
    home = tmp_path / "home"
    for name in (".ssh/id", f"{CELL}/model.parquet", f"{CELL}/trajectory.parquet", f".{CELL}/notes", f"{CELL}.parquet"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize("name", ["", "trajectories", "models", "partial", ".lock"])
def test_no_link_is_entered(lab, name):
    place, before = lab / "results/k" / name, contents(lab / "home")
    if place.exists():
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    place.symlink_to(lab / "home")
    for words in ((), ("--force",)):
        assert f"{place.relative_to(lab)} is a link" in call("run", "k.yaml", *words, cwd=lab, code=2).stderr
    assert contents(lab / "home") == before
    place.unlink()
    call("run", "k.yaml", "-q", cwd=lab)


def test_only_names_of_a_run_are_moved_or_deleted(lab):
    """Folders of other names, links, and files beside the chunks of a run stay where they are."""
    root = lab / "results/k"
    (root / "partial").mkdir()
    (root / "partial/notes.txt").touch()
    (root / "trajectories/mine.parquet").touch()
    (root / ".k.yaml.tmp").mkdir()
    before, home = contents(root), contents(lab / "home")
    call("run", "k.yaml", "-q", "--force", cwd=lab)
    after = contents(root)
    derived = ("manifest.json", "provenance.json", "cells.parquet", "summary.parquet", ".lock", "trajectories/")
    assert {name: after.get(name) for name in before if not name.startswith(derived)} == {
        name: content for name, content in before.items() if not name.startswith(derived)
    }
    assert "trajectories/mine.parquet" in after
    assert contents(lab / "home") == home
