"""A path of a config names one file, from wherever and however it is typed, and a file is written whole or not at all."""

from pathlib import Path

import pytest

from dpexp.core.files import as_named, atomically, place_of, read_ordinary


@pytest.mark.parametrize("typed", ["../data/t.csv", "./../data//t.csv", "../../lab/data/t.csv", "{lab}/data/t.csv"])
def test_a_path_and_its_name_in_a_cell_lead_to_one_file(typed, tmp_path, monkeypatch):
    lab = tmp_path / "lab"
    (lab / "configs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for folder in (lab / "configs", Path("lab/configs")):
        name = as_named(typed.format(lab=lab), folder)
        assert name == "../data/t.csv"
        assert place_of(name, folder).absolute() == lab / "data/t.csv"
    # on the command line a path starts where that is run
    assert as_named("lab/data/t.csv", lab / "configs", typed=True) == "../data/t.csv"


def test_a_home_stays_a_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert as_named("~/t.csv", tmp_path / "configs") == "~/t.csv"
    assert place_of("~/t.csv", Path("configs")) == tmp_path / "t.csv"


def test_a_file_that_fails_half_written_leaves_the_one_before(tmp_path):
    path = tmp_path / "t.json"

    def broken(temporary):
        temporary.write_text("ha")
        raise OSError("disk full")

    atomically(path, lambda temporary: temporary.write_text("whole"))
    with pytest.raises(OSError, match="disk full"):
        atomically(path, broken)
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_the_largest_size_is_read_and_one_byte_more_is_not(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"12345")
    assert read_ordinary(path, 5) == read_ordinary(path) == b"12345"
    with pytest.raises(OSError, match="at most 4 are read"):
        read_ordinary(path, 4)
