"""The figure of any result: what is chosen when, and that nothing overlaps, is empty, is lost or is joined wrongly."""

import io
import json
import re
import shutil
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from dpexp.commands import plot
from dpexp.config.experiment_file import read_experiment
from dpexp.core.errors import UsageError
from dpexp.papers import theories
from dpexp.reporting.figure import STYLE
from dpexp.reporting.results.choose import DOTS, STEP, Declaration, choose, needed
from dpexp.reporting.results.draw import draw, figure_of
from dpexp.reporting.results.gather import gather
from dpexp.store.experiment_run import Options, run
from dpexp.store.reading import load_summary
from tests.conftest import COSTLY, ROOT, at_length, call, in_share
from tests.reporting.referee import faults

SHIPPED = sorted({path.stem for path in (ROOT / "configs").glob("*.yaml")} - COSTLY)
ONE_PASS = ("huber-linear", "mallows-logistic", "pinball-linear", "insensitive-linear")


def product(**values):
    lines = [{}]
    for name, options in values.items():
        lines = [{**line, name: option} for line in lines for option in options]
    return lines


SECTIONS = {"mu": "privacy", "alpha": "schedule", "eta": "schedule", "d": "problem", "algorithm": "algorithm",
            "design": "algorithm", "batch_size": "algorithm", "seed": "run", "schedule": "schedule"}  # fmt: skip
ESTIMATORS = ["sgd", "asgd"]


@pytest.mark.parametrize(
    ("lines", "checkpoints", "x", "hue", "style", "facets"),
    [
        (product(alpha=[0.3, 0.5], mu=[1.0, 2.0], estimator=ESTIMATORS), 20, STEP, "mu", "estimator", "alpha"),
        (product(d=[5, 10, 20, 50, 100], estimator=ESTIMATORS), 20, "d", "", "estimator", ""),
        (product(d=[5, 10, 20, 50], estimator=["last"]), 20, STEP, "d", "", ""),
        (product(d=[5, 10, 20], estimator=["last"]), 1, "d", "", "", ""),
        (product(mu=[0.5, 1.0, 2.0, 4.0, 8.0, np.inf], alpha=[0.3, 0.5]), 20, "mu", "alpha", "", ""),
        (product(seed=[1, 2, 3, 4, 5, 6]), 20, STEP, "seed", "", ""),
        (product(mu=["Uniform(1, 2)", 1.0], eta=[0.1, 0.2]), 20, STEP, "mu", "", "eta"),
        (product(algorithm=["a", "b"], mu=[1.0, 2.0, 3.0]), 20, STEP, "algorithm", "", "mu"),
        ([{"d": 5}], 20, STEP, "", "", ""),
    ],
)
def test_the_rules(lines, checkpoints, x, hue, style, facets):
    plan = choose(lines, SECTIONS, checkpoints)
    assert (plan.x, *(factor.names for factor in (plan.colour, plan.style, plan.panel))) == (
        x, *((name,) if name else () for name in (hue, style, facets)),
    )  # fmt: skip
    codes = zip(plan.colour.codes, plan.style.codes, plan.panel.codes, strict=True)
    assert len({(*code, line.get(plan.x)) for code, line in zip(codes, lines, strict=True)}) == len(lines)


def test_few_checkpoints_and_no_number_make_rows():
    plan = choose(product(algorithm=["a", "b", "c"], d=[1, 2]), SECTIONS, 1)
    assert (plan.x, plan.row.names, len(plan.row.levels)) == (DOTS, ("algorithm", "d"), 6)
    # of too many panels, too, and a row for each value of what would have been the horizontal axis
    plan = choose(product(d=[1, 2, 3], design=[f"word {k}" for k in range(30)]), SECTIONS, 1)
    assert (plan.x, plan.row.names, len(set(plan.row.codes))) == (DOTS, ("d", "design"), 90)


def test_what_follows_from_other_settings_is_left_out():
    data = [{"data": name, "batch_size": size, "eta": eta} for name, size in (("x", 10), ("y", 20)) for eta in (1, 2)]
    assert needed(data, ["data", "batch_size", "eta"]) == ["data", "eta"]
    assert needed(data, ["data", "batch_size", "eta"], ["batch_size", "data"]) == ["data", "batch_size", "eta"]
    seeds = [{"seed": 1, "mu": 1.0}, {"seed": 2, "mu": 2.0}]
    assert needed(seeds, ["seed", "mu"]) == ["mu"]
    assert needed([{"a": True}, {"a": 1}], ["a"]) == ["a"]  # true is not 1


def test_a_method_is_one_colour():
    lines = [{"algorithm": "tree", "design": design, "length": length} for design in "pq" for length in (3, 6)]
    lines += [{"algorithm": "plain", "eta": eta} for eta in (0.1, 0.2)]
    plan = choose(lines, {**SECTIONS, "length": "schedule"}, 20)
    assert set(plan.colour.names) == {"algorithm", "design", "length", "eta"}
    assert (len(plan.colour.levels), plan.panel.names) == (6, ())


def test_wishes_are_met_or_refused():
    lines = product(alpha=[0.3, 0.5], mu=[1.0, 2.0, np.inf], d=[5, 10])
    plan = choose(lines, SECTIONS, 20, Declaration(x="mu", hue="d", facet=("alpha",)))
    assert (plan.x, plan.colour.names, plan.panel.names) == ("mu", ("d",), ("alpha",))
    for wishes, message in (
        (Declaration(x="alhpa"), "--x alhpa"),
        (Declaration(hue="eta"), "--hue eta"),
        (Declaration(facet=("beta",)), "--facet beta"),
        (Declaration(x="mu", hue="mu"), "one setting twice"),
    ):
        with pytest.raises(UsageError, match=message):
            choose(lines, SECTIONS, 20, wishes)
    with pytest.raises(UsageError, match="not every cell has a number"):
        choose(product(mu=["Uniform(1, 2)", 1.0]), SECTIONS, 20, Declaration(x="mu"))


TOY = """\
experiment: toy
problem: {name: huber-linear, d: 3}
schedule: {name: power, eta: 0.2, alpha: [1/3, 1/2]}
privacy: {mu: [1, {uniform: [1, 2]}, inf]}
run: {n: 300, replicates: 4, seed: 3, checkpoints: 12}
"""


def stored(folder, text):
    experiment = read_experiment(text, "toy.yaml")
    run(experiment, Options(folder, jobs=1, quiet=True))
    return folder / experiment.name


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("toy"), TOY)


def drawn(*folders, only=None, renamed=False, **options):
    with mpl.rc_context(fname=STYLE):
        return draw(gather(folders, only, renamed=renamed), Declaration(**options), theories())


@pytest.mark.slow
def test_a_drawing_has_exactly_the_stored_means_and_a_whole_caption(toy):
    drawing = drawn(toy)
    assert faults(drawing.canvas) == []
    summary = load_summary(toy.parent, "toy")
    means = summary[summary.metric == "param_distance_sq"]["mean"]
    assert sorted(drawing.data["mean"]) == sorted(means)
    assert set(drawing.data.columns) >= {"alpha", "mu", "estimator", "step", "ci_lo", "ci_hi", "n", "n_diverged"}
    assert "problem=huber-linear" in drawing.constants
    assert "seed=3" in drawing.constants
    csv = drawing.files("toy", ["svg"])["toy.csv"].decode()
    assert len(pd.read_csv(io.StringIO(csv), comment="#")) == len(drawing.data)


def test_the_reference_slope_is_that_of_theory_where_there_is_one(toy):
    texts = [text.get_text() for axes in drawn(toy).canvas.axes for text in axes.texts]
    assert [text for text in texts if text.startswith("slope")] == ["slope $-$1/3", "slope $-$1/2"]
    texts = [text.get_text() for axes in drawn(toy, estimator=("asgd",)).canvas.axes for text in axes.texts]
    assert [text for text in texts if text.startswith("slope")] == ["slope $-$2/3", "slope $-$1"]
    cell = gather([toy], "alpha=1/2 mu=1").runs[0].cell
    assert -0.25 in [
        paper.exponent(cell, "sgd", "param_distance") for paper in theories()
    ]  # half of what the square has


@pytest.mark.slow
def test_theory_has_a_look_of_its_own_and_is_drawn_over_any_result_that_a_paper_covers(toy):
    drawing = drawn(toy, theory=True, only="mu=1")
    assert faults(drawing.canvas) == []
    assert all(any(line.get_gid() == "theory" for line in axes.lines) for axes in drawing.canvas.axes)
    measured = drawing.data[drawing.data.bound.notna()]
    assert len(measured) > 30
    assert (measured.bound > 0).all()  # the numbers of the curves are in the CSV
    assert "bound, Theorem 3" in drawing.caption
    both = drawn(toy, theory=True, style="alpha", facet=("estimator",), only="mu=1")
    lines = [line for axes in both.canvas.axes for line in axes.lines]
    open_markers = {(line.get_marker(), line.get_markerfacecolor()) for line in lines if line.get_gid() == "theory"}
    assert {marker for marker, _ in open_markers}.isdisjoint(
        {line.get_marker() for line in lines if not line.get_gid()}
    )
    assert {face for _, face in open_markers} == {"white"}
    with pytest.raises(UsageError, match="no theory says anything of projections"):
        drawn(toy, metric="projections", theory=True)
    with pytest.raises(UsageError, match="--metric los_gap: "):
        drawn(toy, metric="los_gap")


@pytest.mark.parametrize(
    ("name", "reason"), [("insensitive-linear, width: 3, support: 2", "singular"), ("", "clipped-ldp-sgd")]
)
def test_where_no_theory_is_drawn_the_reason_is_that_of_the_settings(name, reason, tmp_path):
    text = "experiment: none\nschedule: {name: power, eta: 0.2, alpha: 1/2}\nprivacy: {mu: 1}\nrun: {n: 64, replicates: 2}\n"
    text += f"problem: {{name: {name or 'mallows-logistic'}, d: 2}}\n"
    text += "" if name else "algorithm: {name: clipped-ldp-sgd, clip: 1}\n"
    with pytest.raises(UsageError, match=f"no theory .*{reason}"):
        drawn(stored(tmp_path, text), theory=True)


def test_a_metric_of_the_last_step_alone_is_drawn_as_points(tmp_path):
    drawing = drawn(stored(tmp_path, TOY.replace("run: {", "run: {coefficients: all, ")), metric="coefficient_0")
    assert len(drawing.data) == drawing.data["mean"].notna().sum() == 6 * 2


@pytest.mark.slow
def test_several_results_share_a_figure_and_are_told_apart(toy, tmp_path):
    """By the setting in which they differ; by their names where they differ in none."""
    wide = stored(tmp_path, TOY.replace("d: 3", "d: 4").replace("experiment: toy", "experiment: wide"))
    drawing = drawn(toy, wide)
    assert faults(drawing.canvas) == []
    assert set(drawing.data.d) == {3, 4}
    assert len(drawing.canvas.axes) == 4
    twin = tmp_path / "twin"
    shutil.copytree(toy, twin)
    both = drawn(toy, twin, only="alpha=1/2", renamed=True)
    assert set(both.data.result) == {"toy", "twin"}
    assert len(both.data) == 2 * 6 * 12


DIVERGING = TOY.replace("eta: 0.2, alpha: [1/3, 1/2]", "eta: [0.1, 1e30], alpha: 0").replace("toy", "wild")


@pytest.mark.slow
def test_what_diverges_is_marked_and_named(tmp_path):
    source = stored(tmp_path, DIVERGING)
    drawing = drawn(source)
    assert "diverged in 6 settings, at most 4 of 4" in drawing.caption
    crosses = [line for axes in drawing.canvas.axes for line in axes.lines if line.get_marker() == "x"]
    assert len(crosses) == 6
    swept = drawn(source, x="eta")
    assert all(np.isnan(line.get_ydata()[-1]) for line in swept.canvas.axes[0].lines if line.get_linestyle() in "-")
    assert len([line for axes in swept.canvas.axes for line in axes.lines if line.get_marker() == "x"]) == 6
    for figure in (drawing, swept, drawn(source, only="eta=1e30")):
        assert faults(figure.canvas) == []


TOO_MANY = {"momentum_grid"}
"""grids that are searched for their best setting, which a table shows: no figure holds so many"""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SHIPPED if in_share(name, 8)])
def test_every_shipped_config_draws(name, toys):
    source = toys.results([name]) / name
    if name in TOO_MANY:
        with pytest.raises(UsageError, match="too many for one figure"):
            drawn(source)
        return
    drawing = drawn(source)
    assert faults(drawing.canvas) == []
    summary = load_summary(toys.results([name]), name)
    assert len(drawing.data)
    assert set(drawing.data["mean"].dropna()) <= set(summary["mean"].dropna())


@pytest.mark.slow
def test_a_name_that_is_both_means_the_shipped_figure_and_never_its_files(toys, tmp_path):
    results = toys.results(["figure1"])
    call("plot", "figure1", "--results", results, "--out", tmp_path, "--format", "svg")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(before) == {"figure1.svg", "figure1.csv", "figure1.caption.txt"}
    assert b"algorithm=ldp-sgd" in before["figure1.csv"].splitlines()[0]
    own = call("plot", results / "figure1", "--out", tmp_path, "--format", "svg", "--json")
    (figure,) = json.loads(own.stdout)["figures"]
    assert figure["name"] == "figure1_result"
    assert figure["caption"] == (tmp_path / "figure1_result.caption.txt").read_text().rstrip("\n")
    assert [Path(name).name for name in figure["files"]] == [
        "figure1_result.svg", "figure1_result.csv", "figure1_result.caption.txt",
    ]  # fmt: skip
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_other_options_make_other_files(toy, tmp_path):
    """Nor does a figure of one result take the place of one of another, whose name is like an option."""
    options = [Declaration(), Declaration("loss_gap"), Declaration(x="mu"), Declaration(hue="alpha"), Declaration(facet=("alpha",)),
               Declaration(estimator=("asgd",)), Declaration(only="mu=2"), Declaration(only="mu=2,3"), Declaration(kind="box"),
               Declaration("loss_gap", estimator=("asgd",), only="mu=2")]  # fmt: skip
    taken = [figure_of([toy], request, theories).name for request in options]
    assert len(set(taken)) == len(options)
    assert all(re.fullmatch(r"[\w.-]+", name) for name in taken)
    shutil.copytree(toy, tmp_path / "toy")
    shutil.copytree(toy, tmp_path / "toy_loss_gap")
    own = tmp_path / "toy"
    assert figure_of([own], Declaration("loss_gap"), theories).name != "toy_loss_gap"


def test_a_figure_has_the_width_the_style_and_the_name_that_are_asked_for(toy, tmp_path):
    style = tmp_path / "mine.mplstyle"
    style.write_text("font.family: serif\nsavefig.dpi: 100\n")
    call("plot", "toy", "--results", toy.parent, "--out", tmp_path, "--format", "eps", "--width", 3.5,
         "--style-file", style, "--no-title")  # fmt: skip
    boxes = ("--kind", "box", "--name", "boxes")
    call("plot", "toy", "--results", toy.parent, "--out", tmp_path, "--format", "png", *boxes)
    names = {path.name for form in ("png", "eps") for path in tmp_path.glob(f"*.{form}")}
    assert names == {"toy_width-3.5_style-mine_no-title.eps", "boxes.png"}
    eps = (tmp_path / "toy_width-3.5_style-mine_no-title.eps").read_text(errors="replace")
    box = next(line for line in eps.splitlines() if line.startswith("%%BoundingBox"))
    assert abs(int(box.split()[3]) - int(box.split()[1]) - 3.5 * 72) <= 3
    assert "DejaVuSerif" in eps
    boxes = pd.read_csv(tmp_path / "boxes.csv", comment="#")
    assert (np.diff(boxes[["ci_lo", "q25", "median", "q75"]]) >= 0).all()
    style.write_text("font.size: 14\n")
    sizes = [
        {text.get_fontsize() for text in plot.plot("toy", results=toy.parent, style_file=file).canvas.findobj(Text)}
        for file in (None, style)
    ]
    assert {round(size * 14 / 8.5, 6) for size in sizes[0]} == {round(size, 6) for size in sizes[1]}
    style.write_text("font.famly: serif\n")
    for file in ("none.mplstyle", style):
        assert "style-file" in call("plot", "toy", "--results", toy.parent, "--style-file", file, code=2).stderr


@at_length
def test_many_panels_fit_a_page_and_a_column_of_a_journal(toy, tmp_path):
    text = TOY.replace("[1/3, 1/2]", "[1/3, 1/2, 2/3, 1]").replace("d: 3}", "d: [2, 3]}")
    source = stored(tmp_path, text)
    for width in (3.35, 7.2):
        canvas = plot.plot(str(source), results=tmp_path, width=width).canvas
        assert len(canvas.axes) == 8
        assert canvas.get_size_inches()[0] == width
        assert canvas.get_size_inches()[1] < 11
        assert faults(canvas) == []
