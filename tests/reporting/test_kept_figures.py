"""Figures that are kept: found by what they follow from, never trusted where others may write, never in the way."""

import os
import shutil

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.figure import Figure as Canvas

from dpexp import papers
from dpexp.reporting import figure as drawing
from dpexp.reporting.of_results.draw import figure_of
from dpexp.reporting.of_results.gather import Source
from dpexp.reporting.of_results.lines import Theory
from dpexp.reporting.of_results.scene import Request

NAME = "tiny"


def tiny(results):
    canvas = Canvas(figsize=(1, 1))
    canvas.subplots().plot([1, 2])
    return drawing.Drawing(canvas, pd.DataFrame({"a": [1.0]}), "A caption.")


@pytest.fixture
def draw(tmp_path, monkeypatch):
    """Writes the figure, and says whether it was drawn for that, with the bytes of its files."""
    monkeypatch.setenv("DPEXP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    times, original = [], drawing.drawn

    def counted(*arguments):
        times.append(1)
        return original(*arguments)

    monkeypatch.setattr(drawing, "drawn", counted)
    monkeypatch.setattr(drawing, "stamp", lambda figure, results: "a stamp")
    figure = drawing.Figure(NAME, "", "", "", (), tiny)

    def written(formats=("png",)):
        times.clear()
        found = drawing.written(figure, tmp_path, tmp_path / "out", formats)
        return bool(times), {path.name: path.read_bytes() for path in found.files}, found.caption

    return written


def kept(tmp_path):
    return [path for path in (tmp_path / "cache" / "figures").iterdir() if path.is_file()]


def test_a_figure_is_drawn_once_and_its_files_are_the_same_bytes(draw, tmp_path):
    first = draw()
    assert first[0]
    assert set(first[1]) == {f"{NAME}.png", f"{NAME}.csv", f"{NAME}.caption.txt"}
    for path in (tmp_path / "out").iterdir():
        path.unlink()
    assert draw() == (False, *first[1:])


def test_a_format_serves_whoever_asks_for_it(draw, tmp_path):
    """Of several that were drawn together each serves by itself; one that is not there is added, in the same bytes."""
    _, every, _ = draw(("png", "pdf", "svg"))
    for first, anew in (
        (("png", "pdf"), {"png": False, "pdf": False, "svg": True}),
        (("svg",), {"svg": False, "png": True}),
    ):
        kept(tmp_path)[0].unlink()
        assert draw(first)[0]
        for form, is_drawn in anew.items():
            names = [f"{NAME}.{ending}" for ending in (form, "csv", "caption.txt")]
            assert draw((form,)) == (is_drawn, {name: every[name] for name in names}, "A caption.")
        assert draw(tuple(anew)) == (
            False,
            {name: every[name] for name in every if name[5:] in {*anew, "csv", "caption.txt"}},
            "A caption.",
        )


def test_another_code_library_or_setting_is_another_figure(draw, monkeypatch):
    first = draw()
    with mpl.rc_context({"lines.markersize": 7.5}):
        assert draw()[0]
    monkeypatch.setattr(drawing, "version", lambda name: "1.2.3")
    assert draw()[0]
    monkeypatch.setattr(drawing, "stamp", lambda figure, results: "another")
    assert draw()[0]
    assert first[0]


def test_what_is_damaged_or_open_to_others_or_of_another_figure_is_drawn_anew(draw, tmp_path):
    whole = draw()
    (path,) = kept(tmp_path)
    content = path.read_bytes()
    for wrong in (b"", content[:-1], content[:40] + b"x" + content[41:]):
        path.write_bytes(wrong)
        assert draw() == whole
        assert draw() == (False, *whole[1:])  # and kept again
    path.chmod(0o622)
    assert draw() == whole
    path.parent.chmod(0o777)
    assert draw() == whole
    path.parent.chmod(0o700)
    other = path.with_name(drawing.key_of("another"))
    path.rename(other)
    assert drawing.load_kept(other.name) == {}


def test_nothing_is_kept_where_that_is_turned_off_or_cannot_be(draw, tmp_path, monkeypatch):
    monkeypatch.setenv("DPEXP_CACHE", "off")
    assert draw()[0]
    assert draw()[0]
    monkeypatch.setenv("DPEXP_CACHE", str(tmp_path / "cache" / "file"))
    (tmp_path / "cache" / "file").write_text("in the way")
    assert draw()[0]


def test_a_figure_that_follows_from_more_than_can_be_known_is_never_kept(draw, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "stamp", lambda figure, results: "")
    assert draw()[0]
    assert draw()[0]
    assert not (tmp_path / "cache" / "figures").exists() or not kept(tmp_path)


def test_the_folder_does_not_grow_without_end(draw, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "MOST_FIGURES", 3)
    for number in range(6):
        drawing.keep(drawing.key_of(str(number)), {"a": b"b"})
        newest = max(kept(tmp_path), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (number, number))
    assert len(kept(tmp_path)) == 3
    assert drawing.load_kept(drawing.key_of("5")) == {"a": b"b"}
    assert drawing.load_kept(drawing.key_of("0")) == {}


@pytest.mark.slow
def test_the_figure_of_an_own_result_is_kept_until_what_it_follows_from_changes(toys, tmp_path, monkeypatch):
    """Drawn once by plot, and once for the page; options, trajectories and another theory make another figure."""
    monkeypatch.setenv("DPEXP_CACHE", str(tmp_path / "cache"))
    results = tmp_path / "results"
    shutil.copytree(toys.results(["linear_d5"]) / "linear_d5", results / "linear_d5")
    own = figure_of([Source(results, "linear_d5")], Request(), papers.theories)
    first = drawing.written(own, results, tmp_path / "out", ("png",))
    before = {path.name: path.read_bytes() for path in first.files}
    svg = drawing.as_svg(own, results)
    mark = drawing.stamp(own, results)
    monkeypatch.setattr(drawing, "drawn", None)
    again = drawing.written(own, results, tmp_path / "again", ("png",))
    assert {path.name: path.read_bytes() for path in again.files} == before
    assert drawing.as_svg(own, results) == svg
    others = [figure_of(own.sources, Request(**some), papers.theories) for some in ({"log": "none"}, {"theory": True})]
    renamed = figure_of([Source(results, "linear_d5", renamed=True)], Request(), papers.theories)
    assert drawing.stamp(renamed, results) == ""
    marks = {mark, *(drawing.stamp(one, results) for one in others)}
    shutil.rmtree(results / "linear_d5" / "trajectories")
    assert len({*marks, drawing.stamp(own, results)}) == 4
    monkeypatch.setattr("dpexp.papers.theories", lambda: (Theory(lambda *_: 1.0, lambda *_: {}),))
    assert drawing.stamp(figure_of(own.sources, Request(), papers.theories), results) == ""
