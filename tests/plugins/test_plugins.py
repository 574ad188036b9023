"""Plug-ins outside the package: what they add works everywhere, and what is wrong with one is said at its line."""

import re
import shutil
import sys
import textwrap
from functools import partial

import numpy as np
import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.commands import calibrate, diff, plot, privacy, table
from dpexp.commands.claims import claims as claims_command
from dpexp.config.cells import stored_cell
from dpexp.config.experiment_file import load_experiment, read_experiment
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.plugins import loaded as plugin
from dpexp.plugins import loading as plugins
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.store import fingerprint
from dpexp.store.executors import in_process, packed
from dpexp.store.fingerprint import code_of, plugins_missing
from dpexp.store.reading import load_generation
from dpexp.store.simulating import simulate
from dpexp.store.stats import too_far
from dpexp.theory import THEOREMS
from tests.conftest import call, using
from tests.plugins.plugin_lab import write_lab


@pytest.fixture
def lab(tmp_path):
    """A plug-in with an algorithm in numpy, so that nothing is compiled."""
    return write_lab(tmp_path / "lab")


@pytest.fixture(autouse=True)
def nothing_is_left():
    """No test may leave a plug-in, a name, a module or a place of modules behind."""
    places, modules = list(sys.path), set(sys.modules)
    yield
    assert plugin.LOADED == {}
    assert sys.path == places
    own = ("lab", "own", "helper", "scores", "inner", "problem")
    assert not [name for name in set(sys.modules) - modules if name.split(".")[0] in own]
    assert ALGORITHMS.sources == {}


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def test_the_command_runs_and_shows_what_a_plug_in_defines(lab):
    folder = lab.parent
    call("--plugin", "lab.py", "run", "lab.yaml", "-q", "--jobs", 1, cwd=folder)
    assert "not checked: needs --plugin lab.py" in call("diff", "results/lab", "results/lab", cwd=folder).stderr
    parameters = load_generation(folder / "results", "lab").manifest["cells"]
    with pytest.raises(ResultsMissing, match="the problem 'median-linear' of these results is not there"):
        stored_cell("lab", next(iter(parameters.values())))
    with using(lab):
        document = diff.diff(folder / "results/lab", folder / "results/lab").document()
        assert [row["difference"] for row in document["rows"]] == [0, 0]
        assert not document["not_current"]
        written = plot.command("lab_errors", formats="svg", results=folder / "results")["figures"][0]["files"]
        assert [path.rpartition("/")[2] for path in written] == [
            f"lab_errors.{end}" for end in ("svg", "csv", "caption.txt")
        ]
        ledger = partial(claims_command, "our-lab", results=folder / "results")
        assert ledger().exit_code == 3  # not judged yet
        judged = ledger(judge=True)
        assert ledger().document() == [one | {"state": "stored"} for one in judged.document()]
        assert "| budget" in table.table("lab_table", results=folder / "results").text()
    assert [(entry["id"], entry["verdict"]) for entry in judged.document()] == [
        ("our-lab/section-1/small", "holds as a bound")
    ]
    assert (judged.remarks, judged.exit_code) == ([], 0)
    for path in (folder / "results" / "lab").rglob("manifest.json"):
        assert str(folder) not in path.read_text()


def test_plug_ins_may_share_a_folder_and_a_module_of_another_name_is_never_taken_for_ones_own(tmp_path):
    for lab in ("a", "b"):
        write(tmp_path, f"{lab}/helper.py", f"NAME = 'plug-{lab}'\n")
        write(tmp_path, f"{lab}/plug_{lab}.py", NAMED)
    write(tmp_path, "a/other.py", "from plug_a import Own\nfrom dpexp.plugins import Plugin\nPLUGIN = Plugin()\n")
    with using(tmp_path / "a/plug_a.py", tmp_path / "a/other.py"):
        assert sys.modules[ALGORITHMS["plug-a"].__module__].__dict__["Own"] is ALGORITHMS["plug-a"]
        with pytest.raises(UsageError, match=r"b/helper\.py: another module is called helper"):
            plugins.use(tmp_path / "b/plug_b.py")
        assert "plug-a" in ALGORITHMS
    assert "helper" not in sys.modules


NAMED = """\
from typing import Literal

import helper
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.plugins import Plugin

class Own(LdpSgd):
    name: Literal[helper.NAME] = helper.NAME

PLUGIN = Plugin(algorithms={helper.NAME: Own})
"""


EVERYTHING = """\
import numpy as np
from dpexp.plugins import Plugin
from dpexp.privacy.analyses.analysis import gaussian_analysis
from dpexp.privacy.budgets import Budget, ConstantBudget, Mu
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.theory.theorem import Theorem


class Double(ConstantBudget):
    kind = "double"
    double: Mu
    mu: Mu = 1.0

    @property
    def constant(self):
        return 2 * self.double


class Laboratory(Mechanism):
    noise_field = "noise"
    noise: float

    def upper_bounds(self):
        return [gaussian_analysis("once", "the lab", "all-iterates", 1 / self.noise, ())]

    def description(self):
        return [("Protected", "nobody")]


def square(x):
    return x**2


PLUGIN = Plugin(
    budgets={"double": Double},
    mechanisms={"laboratory": Laboratory},
    theorems={"lab/theorem-1": Theorem("lab", "Theorem 1", "printed", "upper", "loss_gap", "sgd", (), "x > 0", square)},
)
"""


def test_budgets_mechanisms_and_theorems_of_a_plug_in_are_used_like_ours(tmp_path):
    file = write(tmp_path, "own.py", EVERYTHING)
    config = write(tmp_path, "c.yaml", CONFIG_WITH_A_LAW)
    with using(file):
        (cell,) = load_experiment(config).cells
        assert cell.privacy.mu.constant == 6
        assert "plugin own.py" in code_of(cell)
        assert stored_cell("c", cell.parameters).privacy.mu == cell.privacy.mu
        assert privacy.privacy("laboratory", noise=2).document()["statements"][0]["mu"] == 0.5
        assert calibrate.calibrate("laboratory", mu=0.25)["value"] == pytest.approx(4)
        assert THEOREMS["lab/theorem-1"]({"x": 3}) == 9
    assert "laboratory" not in MECHANISMS
    with pytest.raises(ConfigError, match="double"):
        load_experiment(config)
    less = EVERYTHING.replace("    @property", "    largest = property(lambda self: self.double)\n\n    @property")
    with using(write(tmp_path, "less.py", less)), pytest.raises(ConfigError, match="lets a user draw 6"):
        load_experiment(config)


CONFIG_WITH_A_LAW = """\
experiment: c
problem: {name: huber-linear, d: 5}
privacy: {mu: {double: 3}}
run: {n: 60, replicates: 2, checkpoints: 5}
"""


def test_an_installed_package_offers_a_plug_in_by_its_entry_point(tmp_path, monkeypatch):
    write(tmp_path, "own.py", GOOD)
    write(tmp_path, "labkit-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: labkit\nVersion: 1.0\n")
    write(tmp_path, "labkit-1.0.dist-info/entry_points.txt", "[dpexp.plugins]\nlabkit = own\n")
    config = write(tmp_path, "c.yaml", CONFIG_WITH_A_LAW.replace("{double: 3}}", "3}\nalgorithm: {name: own}"))
    monkeypatch.syspath_prepend(tmp_path)
    plugins.use_installed.cache_clear()
    try:
        code = code_of(load_experiment(config).cells[0])
        assert list(code) == ["dpexp", "plugin own"]
    finally:
        plugins.forget("own")
        del sys.modules["own"]
        plugins.use_installed.cache_clear()
    assert plugins_missing([code]) == ["own"]


EDITS = {
    "lab.py": ("PLUGIN = ", "EXTRA = 1\nPLUGIN = "),
    "scores.py": ("y < t", "y <= t"),
    "inner/__init__.py": ("", "EXTRA = 1"),
    "inner/steps.py": ("theta - eta[i]", "theta + eta[i]"),
    "inner/sizes.py": ("i**-0.5", "i**-0.25"),
    "numbers.csv": ("1,2", "1,3"),
}
HARMLESS = {
    "problem.py": ('"""The problem of the plug-in."""', '"""Another text."""'),
    "inner/sizes.py": ("    return", "    # a comment\n\n    return"),
    "notes.txt": ("", "what is neither code nor listed"),
}


@pytest.mark.parametrize(("edits", "noticed"), [(EDITS, True), (HARMLESS, False)])
def test_edits_of_a_plug_in_and_its_helpers_are_noticed_and_harmless_ones_are_not(lab, edits, noticed):
    """All Python files of its folder, and what it says that it reads; not comments, docstrings, and where it lies."""

    def code(folder):
        with using(folder / "lab.py"):
            return code_of(load_experiment(folder / "lab.yaml").cells[0])

    folder = lab.parent
    reads = "from pathlib import Path\nTABLE = Path(__file__).with_name('numbers.csv').read_text()\n"
    write(folder, "scores.py", (folder / "scores.py").read_text() + reads)
    write(folder, "numbers.csv", "1,2\n")
    write(folder, "lab.py", lab.read_text().replace("PLUGIN = Plugin(", "PLUGIN = Plugin(inputs=('*.csv',), "))
    before = code(folder)
    for name, (old, new) in edits.items():
        shutil.copytree(folder, copy := folder.with_name(f"edited {name}".replace("/", " ")))
        text = (copy / name).read_text() if (copy / name).exists() else ""
        assert old in text
        write(copy, name, text.replace(old, new) if old else new)
        assert bool(fingerprint.changed(code(copy), before)) == noticed, name


GOOD = NAMED.replace("import helper\n", "").replace("helper.NAME", '"own"')
MISTAKES = {
    "syntax": ("x = 1\ndef f(:\n    pass\n", r"own\.py:2: invalid syntax"),
    "wrong type of PLUGIN": ("x = 1\nPLUGIN = {1: 2}\n", r"own\.py:2: PLUGIN is a value of type dict, not a Plugin"),
    "taken name": (GOOD.replace('"own"', '"sgd"'), r"own\.py:9: algorithm 'sgd' is already defined by dpexp itself"),
    "wrong base": (GOOD.replace("Own(LdpSgd)", "Own"), r"own\.py:6: algorithm 'own' is the class Own"),
    "a law with a key that the grammar has": (
        "from dpexp.plugins import Plugin\nfrom dpexp.problems.laws import ColumnKind\n"
        "PLUGIN = Plugin(columns={'own': ColumnKind({'width': 1.0}, tuple, column=lambda g, k: g)})\n",
        r"own\.py:3: column 'own': its key 'width' means something else",
    ),
    "an algorithm of one pass without a rule": (
        GOOD.replace("LdpSgd", "OnePassAlgorithm").replace("ldp_sgd", "one_pass"),
        r"own\.py:6: algorithm 'own': the class Own has no `rule`",
    ),
    "a problem without a response": (
        GOOD.replace("LdpSgd", "LinearPredictorProblem")
        .replace("algorithms.ldp_sgd", "problems.linear_predictor")
        .replace("algorithms=", "problems="),
        r"own\.py:6: problem 'own': the class Own has no `\w+`",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_said_at_its_file_and_line(name, tmp_path):
    text, expected = MISTAKES[name]
    file = write(tmp_path, "own.py", text)
    with pytest.raises(UsageError, match=expected) as error:
        plugins.use(file)
    assert error.value.hint
    assert "\n" not in error.value.message
    # of another size: Python takes byte code of the same second and size for that of the file
    with using(write(tmp_path, "own.py", GOOD + "# whole\n" * 11)):  # what was wrong is gone, and nothing of it is left
        assert "own" in ALGORITHMS


def test_files_that_cannot_be_plug_ins(tmp_path):
    good = write(tmp_path, "own.py", GOOD)
    write(tmp_path, "else/own.py", GOOD)
    for path, expected in (
        (tmp_path, "no such plug-in file"),
        (tmp_path / "absent.py", "no such plug-in file"),
        (write(tmp_path, "own.txt", GOOD), "no such plug-in file"),
    ):
        with pytest.raises(UsageError, match=expected):
            plugins.use(path)
    with using(good, good):  # the same file twice is one plug-in
        with pytest.raises(UsageError, match=r"else/own\.py: another plug-in is called own\.py too: .*own\.py"):
            plugins.use(tmp_path / "else/own.py")
        with pytest.raises(UsageError, match=r"two\.py:9: algorithm 'own' is already defined by \S*own\.py:9"):
            plugins.use(write(tmp_path, "two.py", GOOD))
        assert list(plugin.LOADED) == ["own.py"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("raise ValueError('no luck')", r"^\S*inner/steps\.py:\d+: ValueError: no luck$"),
        ("return Passed(steps, (), (), np.zeros((1, 2)))", r"values of shape \(1, 2\) and type float64, not float64"),
    ],
)
def test_a_mistake_inside_a_simulation_is_a_failed_cell_with_its_line(lab, line, expected):
    steps = lab.parent / "inner/steps.py"
    begin = "        values = np.empty"
    steps.write_text(steps.read_text().replace(begin, f"        {line}\n{begin}"))
    with using(lab):
        cell = load_experiment(lab.parent / "lab.yaml").cells[0]
        assert re.search(expected, simulate([cell], [0]).error)


METRIC = """\
from dpexp.plugins import Plugin

def length(theta, problem):
    theta -= problem.optimum() if hasattr(problem, "optimum") else 0
    return (theta.astype(float) ** 2).sum(axis=tuple(range(2, theta.ndim)))

PLUGIN = Plugin(metrics={"length": length})
"""
RECORDED = "experiment: e\nproblem: {name: %s}\nalgorithm: {name: %s}\nprivacy: {eps: 8, delta: 1e-5}\n"
RECORDED += "run: {n: %d, replicates: 2, checkpoints: 3, %s}\n"
BY_LENGTH = {
    ("huber-linear", "ldp-sgd", 60, "coefficients: [1, scale, 0, 2, 4, 3, 5], metrics: length"): "param_distance_sq",
    ("mallows-logistic", "staged-newton", 3000, "metrics: [length]"): "param_distance_sq",
    ("rippled-mean", "batch-descent", 60, "metrics: length"): "param_norm_sq",
    ("softmax", "dp-sgd", 60, "metrics: length"): "param_norm_sq",
}


@pytest.mark.parametrize("setting", BY_LENGTH)
def test_metrics_of_plug_ins_and_coefficients_are_of_the_parameters_after_the_last_step(setting, tmp_path):
    with using(write(tmp_path, "own.py", METRIC)):
        (cell,) = read_experiment(RECORDED % setting, "e.yaml").cells
        data, start = simulate([cell], [0, 1])[0].data, len(cell.algorithm.metrics)
        for wrong in ("lengths", "loss_gap", "alpha", "median", "coefficient_0"):
            with pytest.raises(ConfigError, match=rf"e\.yaml:5:\d+: (unknown metric )?'{wrong}'"):
                read_experiment((RECORDED % setting).replace("length", wrong), "e.yaml")
    (bare,) = read_experiment(RECORDED % (*setting[:3], "coefficients: none, metrics: []"), "e.yaml").cells
    assert {"coefficients", "metrics"}.isdisjoint(bare.parameters["run"])
    names = [f"coefficient_{j}" for j in range(6)] + ["scale"] if "scale" in setting[3] else []
    assert data.metrics == cell.metrics == (*bare.metrics, *names, "length")
    same = data.values[:, -1, data.metrics.index(BY_LENGTH[setting])]
    assert data.values[:, -1, -1] == pytest.approx(same, rel=1e-6)
    away = data.values[:, -1, start:-1] - (cell.problem.optimum()[:, None] if names else 0)
    assert not names or (away**2).sum(axis=1) == pytest.approx(same, rel=1e-12)
    assert np.isnan(data.values[:, :-1, start:]).all()
    assert not too_far(data, 1e6, cell.run.metrics).any()
    for name, line, error in (("own1.py", "return theta[0]", "metric 'length' returned"), ("own2.py", "1 / 0", "Zero")):
        with using(write(tmp_path, name, METRIC.replace("    theta -=", f"    {line}\n    theta -="))):
            assert f"plugin {name}" in code_of(cell)
            assert re.match(rf"\S*{name}:\d+: {error}", simulate([cell], [0]).error)


def test_a_worker_loads_what_it_needs_and_refuses_what_was_edited_since(lab):
    with using(lab):
        cell = load_experiment(lab.parent / "lab.yaml").cells[0]
        task = packed((simulate, ([cell], [0])))
        (here,) = simulate([cell], [0])
    with using():
        assert np.array_equal(in_process(*task)[0].data.values, here.data.values)
        write(lab.parent, "inner/sizes.py", "def root(i):\n    return i**-0.25\n")
        with pytest.raises(UsageError, match=r"the plug-in lab\.py was edited after a worker had read it"):
            in_process(*task)
