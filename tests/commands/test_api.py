"""The Python API: every name, what it takes and what it returns."""

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dpexp
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import DpexpError, ResultsMissing, UsageError
from tests.conftest import call

CONFIG = {
    "experiment": "small",
    "problem": {"name": "huber-linear", "d": 2},
    "schedule": {"name": "power", "alpha": [1 / 3, 1]},
    "privacy": {"mu": [1, math.inf]},
    "run": {"n": 200, "replicates": 4, "seed": 3, "checkpoints": 5},
}
MECHANISM = {"noise_multiplier": 1, "sampling_probability": 0.01, "steps": 100, "delta": [1e-5, 1e-6]}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    more = CONFIG | {"run": CONFIG["run"] | {"replicates": 9}}
    return dpexp.run(more, results=tmp_path_factory.mktemp("api"), jobs=1, replicates=4)


def test_privacy_is_a_room_and_a_function_whichever_comes_first():
    """Here the room does, and the function in tests/test_dependencies.py."""
    code = "import dpexp, dpexp.privacy.budgets\nprint(dpexp.privacy('local-gaussian', mu=1).document()['mechanism'], dpexp.privacy.budgets)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "local-gaussian" in out
    assert "module" in out


def test_load_takes_a_dict_a_file_and_a_shipped_name():
    loaded = dpexp.load(CONFIG)
    assert [cell.privacy.mu.constant for cell in loaded.cells] == [1, math.inf, 1, math.inf]
    assert loaded.cells[0].schedule.alpha == 1 / 3
    assert dpexp.load(loaded) is loaded
    with pytest.raises(TypeError, match="is loaded"):
        dpexp.load(loaded, replicates=3)
    assert dpexp.load("@linear_d5", replicates=7, set=["run.n=500"]).cells[0].run.n == 500
    with pytest.raises(ConfigError, match="did you mean 'problem'"):
        dpexp.load(CONFIG | {"problme": {}})


@pytest.mark.parametrize(
    ("value", "alphas"),
    [(np.float64(0.5), [0.5]), (np.array([1 / 3, 1]), [1 / 3, 1]), ([np.float32(0.5), 1], [0.5, 1]),
     ((Fraction(1, 3), 1), [1 / 3, 1]), (np.array(0.5), [0.5])],
    ids=str,
)  # fmt: skip
def test_numbers_of_numpy_are_numbers(value, alphas):
    own = CONFIG | {"schedule": {"name": "power", "alpha": value}, "privacy": {"mu": np.float64(1)}}
    assert [cell.schedule.alpha for cell in dpexp.load(own).cells] == alphas
    for n in (np.int64(200), range(100, 300, 100), np.arange(100, 300, 100)):
        sizes = {cell.run.n for cell in dpexp.load(CONFIG | {"run": {"n": n, "replicates": 4, "seed": 3}}).cells}
        assert sizes == set(np.atleast_1d(n).tolist())


@pytest.mark.parametrize("value", [{1, 2}, b"x", Decimal("0.5"), object(), 1j, np.datetime64("2020-01-01"), float])
def test_values_that_no_config_holds_are_named_with_their_key(value):
    cyclic = []
    cyclic.append(cyclic)
    for wrong in (value, [1, value], cyclic):
        with pytest.raises(ConfigError, match="schedule: a config cannot hold"):
            dpexp.load(CONFIG | {"schedule": {"name": "power", "alpha": wrong}})


def test_figures_are_drawn_from_several_threads(result):
    def caption(metric):
        return dpexp.plot("small", metric=metric, results=result.folder.parent).caption

    metrics = ["loss_gap", "param_distance_sq"]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(caption, metrics)) == [caption(metric) for metric in metrics]


def test_run_and_read_give_what_the_store_holds_and_the_bits_of_the_command(result, tmp_path):
    again = dpexp.read("small", results=result.folder.parent)
    assert again == result == dpexp.read(result.folder)
    assert set(again.cells["mu"]) == {1, math.inf}
    last = again.summary.query("step == 200 and metric == 'param_distance_sq' and estimator == 'sgd'").iloc[0]
    rows = again.trajectories(last["cell_id"]).query("step == 200 and estimator == 'sgd'")
    assert len(rows) == 4
    assert np.mean(rows["param_distance_sq"]) == pytest.approx(last["mean"], rel=1e-12)
    assert len(again.trajectories()) == 4 * len(again.trajectories(last["cell_id"]))
    with pytest.raises(ResultsMissing, match="no results yet"):
        dpexp.read("other", results=result.folder.parent)
    config = tmp_path / "small.yaml"
    config.write_text(
        "experiment: small\nproblem: {name: huber-linear, d: 2}\nschedule: {name: power, alpha: [1/3, 1]}\n"
        "privacy: {mu: [1, inf]}\nrun: {n: 200, replicates: 4, seed: 3, checkpoints: 5}\n"
    )
    call("run", config, "--results", tmp_path / "results", "-q")
    assert dpexp.read("small", results=tmp_path / "results").summary.equals(result.summary)


def test_a_failed_cell_is_raised(monkeypatch, tmp_path):
    def fail(self, *arguments):
        raise FloatingPointError("no such number")

    monkeypatch.setattr("dpexp.algorithms.ldp_sgd.LdpSgd.simulate", fail)
    with pytest.raises(DpexpError, match="no such number"):
        dpexp.run(CONFIG, results=tmp_path, jobs=1)


def test_privacy_takes_a_mechanism_or_a_config_and_calibrate_meets_its_target():
    pairs = ["noise_multiplier=1", "sampling_probability=0.01", "steps=100", "delta=1e-5,1e-6"]
    statement = dpexp.privacy("sampled-gaussian", **MECHANISM)
    assert statement.document() == dpexp.privacy("sampled-gaussian", *pairs).document()
    assert statement._repr_html_().startswith("<pre>")
    assert dpexp.privacy(CONFIG).document()
    with pytest.raises(UsageError, match="noise_multiplier"):
        dpexp.privacy("sampled-gaussian", **MECHANISM | {"noise_multiplier": -1})
    with pytest.raises(TypeError, match="belong to a mechanism"):
        dpexp.privacy(CONFIG, steps=3)
    noise = dpexp.calibrate(eps=1, delta=1e-5, sampling_probability=0.01, steps=100)["value"]
    spent = dpexp.privacy("sampled-gaussian", **MECHANISM | {"noise_multiplier": noise, "delta": 1e-5})
    best = [s for s in spent.document()["statements"] if s["valid"] and s["released"] == "all-iterates"]
    assert min(s["eps"][0][1] for s in best if s["eps"]) == pytest.approx(1, rel=1e-3)
    # the mu of sampled steps is that of no sampling: sensitivity sqrt(steps) / noise
    for relation, sensitivity in (("add-remove", 1), ("replace-one", 2)):
        steps = {"sampling_probability": 0.01, "steps": 100, "neighboring_relation": relation}
        assert dpexp.calibrate(mu=2, **steps)["value"] == pytest.approx(sensitivity * 10 / 2)
