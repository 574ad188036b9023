"""The store: no damaged byte and no foreign file is taken for a number, and what is stale is refused with a command."""

import random
import shutil

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import DpexpError, ResultsMissing
from dpexp.core.files import Damaged
from dpexp.store import fingerprint, partials
from dpexp.store.cell_files import stored_cell_file
from dpexp.store.folder import Folder, experiments_in, read_document, read_table, write_document, write_table
from dpexp.store.reading import load_generation, load_summary
from tests.campaigns.faults import new_code
from tests.conftest import SMALL, call, forget_code, numbers
from tests.store.test_runner import go

TINY = SMALL.replace("n: 700, replicates: 20", "n: 40, replicates: 4")


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture
def done(tiny, tmp_path):
    return go(tiny, tmp_path / "results")[1]


def refusal(folder, read=load_summary):
    with pytest.raises(ResultsMissing) as caught:
        read(folder.root.parent, folder.root.name)
    assert caught.value.hint.startswith("run: dpexp run ")
    return caught.value


def test_a_table_is_an_ordinary_parquet_file_and_read_by_its_hash_alone(tmp_path):
    path = tmp_path / "t.parquet"
    sha256 = write_table(path, pa.table({"x": [1.0, 2.0, 3.0], "name": ["a", "b", "c"]}), {"k": [1, 2]})
    assert pd.read_parquet(path).x.tolist() == [1.0, 2.0, 3.0]
    file = read_table(path, sha256)
    assert file.metadata()["k"] == [1, 2]
    assert file.table(["x"]).to_pydict() == {"x": [1.0, 2.0, 3.0]}
    with pytest.raises(KeyError):
        file.table(["y"])
    for damaged in (path.read_bytes()[:-1], path.read_bytes() + b" "):
        path.write_bytes(damaged)
        with pytest.raises(Damaged, match=r"t\.parquet"):
            read_table(path, sha256)


def test_no_damaged_byte_of_a_trajectory_changes_a_number(done):
    """What proves itself without a manifest: a bit is flipped, and what is read is right or refused."""
    path = sorted((done.root / "trajectories").glob("*.parquet"))[0]
    done.provenance.unlink()
    right, data, refused = stored_cell_file(done, path.stem).table(), path.read_bytes(), 0
    places = random.Random(4).sample(range(len(data)), 120)
    for k in places:
        path.write_bytes(data[:k] + bytes([data[k] ^ (1 << (k % 8))]) + data[k + 1 :])
        try:
            found = stored_cell_file(done, path.stem).table()
        except Damaged:
            refused += 1
            continue
        assert found.equals(right), k
    assert refused > len(places) / 2


def test_files_of_another_program_or_version_are_refused(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "t.parquet")
    write_document(tmp_path / "m.json", {"schema_version": 1})
    for read in (lambda: read_table(tmp_path / "t.parquet").metadata(), lambda: read_document(tmp_path / "m.json")):
        with pytest.raises(Damaged):
            read()


def test_another_experiments_folder_is_not_taken_for_this_ones(done):
    shutil.copytree(done.root, done.root.parent / "other")
    copy = Folder(done.root.parent, "other")
    assert "holds the experiment 'small'" in refusal(copy).message
    assert load_generation(done.root.parent, "other", renamed=True)  # a copy for a comparison


def test_stale_cells_that_a_run_leaves_out_are_not_stamped_as_current(tiny, done, monkeypatch):
    experiment = load_experiment(tiny)
    try:
        new_code(True)
        forget_code()
        go(tiny, done.root.parent, only=frozenset([experiment.cells[0].cell_id]))
        assert "unconfirmed: dpexp changed since" in refusal(done).message
        go(tiny, done.root.parent)
        load_summary(done.root.parent, "small")
    finally:
        new_code(False)
        forget_code()
    refusal(done)


def test_code_that_changes_while_a_run_uses_it_is_noticed(tiny, tmp_path, monkeypatch):
    original = partials.simulate

    def simulate(*arguments):
        monkeypatch.setattr(fingerprint, "IMPORTED_AT", 1)  # as if all was written since
        return original(*arguments)

    monkeypatch.setattr(partials, "simulate", simulate)
    with pytest.raises(DpexpError, match=r"dpexp changed after this process had read it"):
        go(tiny, tmp_path / "r")
    assert not list((tmp_path / "r").rglob("*.chunk"))


@pytest.mark.parametrize("name", ["", "trajectories", "partial"])
def test_no_link_is_entered(done, tmp_path, name):
    place, home = done.root / name, tmp_path / "home"
    home.mkdir()
    if place.exists():
        shutil.rmtree(place)
    place.symlink_to(home)
    assert "is a link" in call("run", "small.yaml", "--force", cwd=tmp_path, code=2).stderr
    assert not list(home.iterdir())


def test_files_of_others_stay(done, tmp_path):
    root = done.root
    (root / "partial").mkdir()
    others = [root / name for name in ("partial/notes.txt", "trajectories/notes.txt", ".small.yaml.tmp")]
    for path in others:
        path.write_text("mine")
    before = numbers(root)
    call("run", "small.yaml", "-q", "--force", cwd=tmp_path)
    assert [path.read_text() for path in others] == ["mine"] * 3
    assert numbers(root) == before


def test_a_link_to_a_folder_of_results_is_none_of_them(done, tmp_path):
    """Whoever can write a link in a results folder would otherwise show what lies elsewhere."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other/theirs").symlink_to(tmp_path / "results/small")
    (tmp_path / "results/notes.txt").write_text("mine")
    assert experiments_in(tmp_path / "results") == ["small"]
    assert experiments_in(tmp_path / "other") == experiments_in(tmp_path / "nowhere") == []
