"""Tables of any result, numbers in as many digits as they have, LaTeX that is whole, and tables that fit a terminal."""

import json
import math
import re

import pytest

import dpexp
from dpexp.commands import plot
from dpexp.commands import table as command
from dpexp.config.cell_settings import Words, spelled
from dpexp.core.errors import UsageError
from dpexp.papers import tables
from dpexp.reporting.digits import uncertain, within
from dpexp.reporting.text_table import Content, Table, latex_cell, render, without_constants
from dpexp.store.reading import load_summary, load_trajectories
from tests.conftest import COSTLY, share
from tests.reporting.test_figures_of_any_result import TOY, stored


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (3.072, 0.08, "3.07(8)"), (3.072, 0.012, "3.072(12)"), (-0.3412, 0.1, "-0.34(10)"), (4.7e-4, 1.1e-4, "4.7(1.1)e-04"),
        (3.072, 0.096, "3.07(10)"),  # rounds up to two digits
        (9.2e-5, 3.4e-5, "9(3)e-05"), (0.0123, 0.0018, "0.0123(18)"), (1234.5, 20.0, "1230(20)"), (123.4, 3.2, "123(3)"), (123.4, 12.0, "123(12)"),
        (2.5e7, 1e5, "2.500(10)e+07"), (0.0, 0.01, "0.000(10)"), (5.0, 0.0, "5"), (float("inf"), 1.0, "inf"), (2.0, float("inf"), "2"),
    ],
)  # fmt: skip
def test_a_value_has_the_digits_that_its_uncertainty_leaves(value, half, text):
    assert uncertain(value, half) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (10, 7, 29, "10 [7, 29]"), (2.4, 1.9, 3.8, "2.4 [1.9, 3.8]"), (3.07, 2.99, 3.15, "3.07(8)"), (0.0021, 0.002, 0.0045, "0.0021 [0.002, 0.0045]"),
        (12345.6, 12345.1, 12348.6, "12346 [12345, 12349]"), (5, 6, 9, "5.0(1.5)"), (5, 5, 5, "5"), (1, -math.inf, math.inf, "1"), (math.inf, 1, 2, "inf"),
        (0.84946236559139776, 0.8494623655913977, 0.849462365591399, "0.849462"),
    ],
)  # fmt: skip
def test_an_interval_is_written_out_where_half_of_it_would_mislead(value, low, high, text):
    assert within(value, low, high) == text


def test_values_are_spelled_alike_everywhere_and_never_two_alike():
    assert [spelled("alpha", value) for value in (1 / 3, 0.5, 0.2, 1.0, 2 / 3)] == ["1/3", "0.5", "0.2", "1", "2/3"]
    assert [spelled(*pair) for pair in (("mu", float("inf")), ("eps", float("inf")), ("noise", True))] == [
        "non-private", "inf", "true",
    ]  # fmt: skip
    close = [0.1234561, 0.1234562]
    assert spelled("eta", close[0]) == "0.123456" or float(spelled("eta", close[0])) == close[0]
    words = Words({"eta": value} for value in close)
    assert len({words.value("eta", value) for value in close}) == 2


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("toy"), TOY)


def test_theory_is_next_to_the_mean_with_its_monte_carlo_error_and_the_replicates_for_3_percent(toy):
    shown = command.table("toy", form="json", theory=True, results=toy.parent)
    row = next(row for row in json.loads(shown.text())["rows"] if row["prediction"])
    mean, relative = row["param_distance_sq"], row["param_distance_sq_se"] / row["param_distance_sq"]
    assert row["deviation"] == pytest.approx(mean / row["prediction"] - 1)
    assert row["deviation_se"] == pytest.approx(relative * mean / row["prediction"])
    assert row["replicates_for_3_percent"] == pytest.approx(row["n"] * (1.96 * relative / 0.03) ** 2, rel=1e-3, abs=1)
    with pytest.raises(UsageError):
        command.table("toy", theory=True, statistic="median", results=toy.parent)


def test_a_table_holds_the_last_step_of_every_line(toy, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    text = command.table("toy", form="json", results=toy.parent).text()
    rows = json.loads(text)["rows"]
    summary = load_summary(toy.parent, "toy")
    last = summary[(summary.step == 300) & (summary.metric == "param_distance_sq")]
    assert sorted(row["param_distance_sq"] for row in rows) == sorted(last["mean"])
    for row in rows:
        (own,) = last[(last.cell_id == row["cell_id"]) & (last.estimator == row["estimator"])].to_dict("records")
        assert row["param_distance_sq_ci_lo"] == own["ci_lo"]
        assert row["eps_1e-05"] == (own["eps_1e-05"] if math.isfinite(own["eps_1e-05"]) else None)
    markdown = command.table("toy", form="md", results=toy.parent).text()
    head = markdown.splitlines()[2]
    assert head.replace(" ", "").startswith("|alpha|mu|estimator|param_distance_sq|")
    assert "diverged = 0 of 4" in markdown  # constant: in the caption, and not in a column
    assert "problem=huber-linear, d=3" in markdown
    only = command.table(
        "toy", form="csv", results=toy.parent, metric="loss_gap", estimator=("asgd",), only="mu=1"
    ).text()
    assert only.count("\n") == 2


def test_a_swept_n_is_that_of_the_settings_and_not_the_number_of_replicates(tmp_path):
    text = (
        TOY.replace("n: 300", "n: [200, 300]").replace("[1/3, 1/2]", "1/2").replace("[1, {uniform: [1, 2]}, inf]", "1")
    )
    results = stored(tmp_path, text).parent
    shown = command.table("toy", form="md", results=results, estimator=("asgd",)).text()
    assert [line.split("|")[1].strip() for line in shown.splitlines()[4:6]] == ["200", "300"]
    rows = json.loads(command.table("toy", form="json", results=results).text())["rows"]
    assert {(row["run.n"], row["n"], row["step"]) for row in rows} == {(200, 4, 200), (300, 4, 300)}
    for x in ("", "n"):
        data = plot.plot("toy", results=results, x=x).data
        assert set(zip(data["run.n"], data["n"], strict=True)) == {(200, 4), (300, 4)}


def balanced(text):
    """Braces and mathematics that are closed, and rows of equally many cells."""
    bare = re.sub(r"\\[\\{}$&%#_^~]", "", re.sub(r"^%.*$", "", text, flags=re.MULTILINE))
    assert bare.count("{") == bare.count("}"), text
    assert bare.count("$") % 2 == 0, text
    begun, ended = (re.findall(rf"\\{word}{{(\w+)}}", text) for word in ("begin", "end"))
    assert begun == ended[::-1], text
    for part in text.split("\\midrule\n")[1:]:
        rows = part.split("\\bottomrule")[0].strip().split("\\\\\n")
        columns = len(re.search(r"\\begin{tabular}{([lrcp]+)}", text)[1])
        for row in rows:
            assert len(re.findall(r"(?<!\\)&", row)) == columns - 1, row
    assert text.isascii() or not re.search("[\u2212\u00b1\u00d7]", text)


def test_cells_of_latex():
    for text, shown in (
        ("3.07(8)", "3.07(8)"), ("-0.34 [-0.4, -0.3]", "$-$0.34 [$-$0.4, $-$0.3]"), ("9(3)e-05", "9(3)e-05"), ("mu", r"$\mu$"),
        ("100% of {a_b} & $c$ ~ x^2 \\ #1", r"100\% of \{a\_b\} \& \$c\$ \textasciitilde{} x\^{}2 \textbackslash{} \#1"),
    ):  # fmt: skip
        assert latex_cell(text) == shown


@pytest.mark.slow
def test_every_shipped_table_is_whole_latex(toys):
    for one in share([one for _, one in sorted(tables().items())], 16):
        if COSTLY & set(one.needs):
            continue
        text = render(one, one.build(toys.results(one.needs)), "tex")
        balanced(text)
        assert "\\caption{" in text


def test_a_table_and_a_figure_of_medians_have_those_of_the_stored_trajectories(toy):
    table = dpexp.table("toy", results=toy.parent, metric="loss_gap", statistic="median").frame()
    rows = load_trajectories(toy.parent, "toy")
    last = rows[rows.step == rows.step.max()]
    wanted = last.groupby(["cell_id", "estimator"]).loss_gap.median()
    assert len(table) == len(wanted)
    for _, row in table.iterrows():
        assert row.loss_gap == pytest.approx(wanted[row.cell_id, row.estimator], rel=1e-12)
    figure = dpexp.plot("toy", results=toy.parent, metric="loss_gap", statistic="median")
    end = figure.data[figure.data.step == rows.step.max()]
    assert sorted(end["median"]) == pytest.approx(sorted(wanted), rel=1e-12)
    with pytest.raises(UsageError):
        dpexp.table("toy", results=toy.parent, statistic="mode")


HEAD = ["data", "method", "accounting", "z", "accuracy", "unit"]
ROWS = [[data, method, f"an accountant of the kind {method}", f"{k}.{len(method)}", f"0.8{k}", "share"]
        for k, data in enumerate(("fashion", "adult")) for method in ("dp-sgd", "dp-sgld", "sgd")]  # fmt: skip


def test_constant_columns_leave_but_one_row_keeps_its_own():
    head, rows, same = without_constants(["a", "b"], [["1", "x"], ["2", "x"]])
    assert (head, rows, same) == (["a"], [["1"], ["2"]], [("b", "x")])
    assert without_constants(["a", "b"], [["1", "x"]])[2] == []
    assert without_constants(["a"], [["1"], ["1"]])[0] == ["a"]
    assert without_constants(["a", "b", "c"], [["1", "x", "y"], ["2", "x", "y"]], but=["b"])[0] == ["a", "b"]


def test_what_is_printed_fits_the_terminal(toy, monkeypatch):
    wide = Table("wide", "A wide one", "", (), lambda results: Content(HEAD, ROWS, "A note. " * 30, [{"a": 1}]))
    for width in (60, 80, 100):
        lines = render(wide, wide.build(toy.parent), "md", width).splitlines()
        assert max(map(len, lines)) <= width
    monkeypatch.setenv("COLUMNS", "72")
    text = command.table("toy", form="md", results=toy.parent).text()
    assert max(map(len, text.splitlines())) <= 72
    monkeypatch.delenv("COLUMNS")
    assert (
        max(map(len, command.table("toy", form="md", results=toy.parent).text().splitlines())) > 200
    )  # not a terminal
