"""`dpexp init` and shipped configs by name: a first config for everything that is there, valid and complete."""

import os
from pathlib import Path

import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.commands import init as command
from dpexp.config.experiment_file import load_experiment, located, read_experiment
from dpexp.config.shipped import shipped
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import UsageError
from dpexp.problems import PROBLEMS
from dpexp.reporting.page import about
from tests.conftest import AT_LENGTH, share

PAIRS = [(p, a) for p in PROBLEMS for a in ALGORITHMS if issubclass(PROBLEMS[p], ALGORITHMS[a].runs_on)]
PAIRS = [(p, a) for p, a in PAIRS if AT_LENGTH or a != "ldp-sgd"]  # which a linear problem alone is drafted with
CSV = "age,job title,income\n30,cook,low\n41,clerk,high\n52,cook,low\n28,clerk,high\n39,cook,low\n60,clerk,low\n"


@pytest.mark.parametrize(
    ("problem", "algorithm"),
    share(PAIRS) + [(name, None) for name in PROBLEMS] + [(None, name) for name in ALGORITHMS if name != "ldp-sgd"],
)
def test_one_name_is_enough_for_a_starter_that_names_every_key(problem, algorithm):
    """Every problem and every algorithm by itself, and a third of the pairs."""
    text = command.init(problem, algorithm=algorithm)
    (cell,) = read_experiment(text, "starter.yaml").cells
    assert cell.problem.name == (problem or cell.problem.name)
    assert cell.algorithm.name == (algorithm or cell.algorithm.name)
    for part in (cell.problem, cell.algorithm, cell.schedule):
        for key in type(part).model_fields:
            assert any(f"{start}{key}:" in text for start in ("  ", "  # ", "\n# "))
    assert max(map(len, text.splitlines())) <= 120
    assert "a mapping;" not in text


def test_the_first_line_says_what_it_is_and_no_instruction_does(tmp_path):
    """It is what `dpexp list --shipped` and the page show of a config."""
    assert about(command.init("softmax", algorithm="dp-sgd")) == "dp-sgd on softmax, drafted by `dpexp init`."
    for path in shipped().values():
        assert about(path.read_text())


def test_own_table_by_its_header_alone(tmp_path):
    table = tmp_path / "people.csv"
    table.write_text(CSV)
    text = command.init(data=table, target="income")
    blank = "# ranges: {age: [LOW, HIGH], job title: [LOW, HIGH]}"
    assert blank in text
    assert "categories: {income: [ONE, OTHER]}" in text
    with pytest.raises(ConfigError, match="categories of income are not filled in"):
        read_experiment(text, "mine.yaml")
    written = text.replace(str(tmp_path), "")  # the path is the user's, and may contain anything
    assert not [value for value in ("cook", "clerk", "41", "52", "high") if value in written]
    filled = text.replace(blank, "ranges: {age: [0, 100]}")
    filled = filled.replace("{income: [ONE, OTHER]}", "{income: [low, high], job title: [cook, clerk]}")
    (cell,) = read_experiment(filled, "mine.yaml").cells
    assert cell.problem.data.ranges == {"age": (0.0, 100.0)}
    assert cell.privacy.eps == 1


def test_what_does_not_fit_is_refused_and_nothing_is_overwritten(tmp_path):
    table, out = tmp_path / "people.csv", tmp_path / "mine.yaml"
    table.write_text(CSV)
    with pytest.raises(UsageError, match="'dp-sgd' does not run on problem 'huber-linear'"):
        command.init("huber-linear", data=table, target="income")
    with pytest.raises(UsageError, match="no column 'incom'"):
        command.init(data=table, target="incom")
    assert f"dpexp run {out}" in command.init("rippled-mean", out=out)
    with pytest.raises(UsageError, match="there already"):
        command.init("rippled-mean", out=out)


def test_shipped_configs_have_names(tmp_path, monkeypatch):
    root = Path(__file__).parents[2]
    assert sorted(shipped()) == sorted(
        path.stem for path in [*root.glob("configs/*.yaml"), *root.glob("research/*/*.yaml")]
    )
    here = load_experiment(root / "configs" / "linear_d5.yaml")
    assert {cell.cell_id for cell in load_experiment("@linear_d5").cells} == {cell.cell_id for cell in here.cells}
    assert command.init(of="linear_d5") == (root / "configs" / "linear_d5.yaml").read_text()
    monkeypatch.chdir(tmp_path)
    Path("@odd.yaml").touch()
    assert located("@odd.yaml") == Path("@odd.yaml")


def test_paths_start_at_the_config_wherever_the_command_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("people.csv").write_text(CSV)
    out = Path("sub/mine.yaml")
    command.init(data=Path("people.csv"), target="income", out=out)
    assert "path: ../people.csv\n" in out.read_text()
    out.write_text(out.read_text().replace("[ONE, OTHER]", "[low, high]"))
    for folder in (".", "sub"):
        monkeypatch.chdir(tmp_path / folder)
        (cell,) = load_experiment(os.path.relpath(tmp_path / out)).cells
        assert cell.problem.data.path == "../people.csv"
        assert cell.problem.data.place.samefile(tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    Path("other.csv").write_text(CSV)
    (cell,) = load_experiment(
        out, ["problem.data={path: other.csv, target: income, categories: {income: [low, high]}}"]
    ).cells
    assert cell.problem.data.path == "../other.csv"
    with pytest.raises(ConfigError, match=r"nowhere.csv: no such file .* starts at the config's folder"):
        read_experiment(out.read_text().replace("../people.csv", "nowhere.csv"), "sub/mine.yaml")
    out.write_text(
        "experiment: x\nproblem: {name: softmax}\nprivacy: {eps: 1}\nalgorithm: {name: dp-sgd, batch_size: 2}\n"
        "cases:\n  - problem: {data: {path: ../people.csv, target: income, categories: {income: [low, high]}, records: 200}}\n"
        "  - problem: {data: {path: ../other.csv, target: income, categories: {income: [low, high]}, records: 200}}\n"
    )
    assert [cell.problem.data.path for cell in load_experiment(out).cells] == ["../people.csv", "../other.csv"]
