"""What algorithms on data sets add to configs and runs: targets, known numbers of steps, accepted problems, complaints."""

from typing import ClassVar, Literal

import pytest

from dpexp.accounting.gaussian import eps_of
from dpexp.algorithms.algorithm import Algorithm
from dpexp.config.experiment_file import load_experiment, resolved_yaml
from dpexp.config.reader import REGISTRIES
from dpexp.config.yamlfile import ConfigError
from dpexp.privacy.budgets import Target
from dpexp.problems.problem import Problem


class Bowl(Problem):
    name: Literal["bowl"] = "bowl"
    records: int = 40


class NoisyDescent(Algorithm):
    """w <- (1 - eta) w + noise: enough of an algorithm to be run."""

    name: Literal["noisy-descent"] = "noisy-descent"
    epochs: int = 3
    estimators: ClassVar[tuple[str, ...]] = ("last",)
    metrics: ClassVar[tuple[str, ...]] = ("param_norm_sq", "risk")
    runs_on: ClassVar[tuple[type, ...]] = (Bowl,)
    schedules: ClassVar[tuple[str, ...]] = ("constant",)

    def steps(self, problem, schedule, budget):
        return self.epochs * problem.records

    def seconds(self, problem, n):
        return 1e-6 * n

    def complaints(self, problem, schedule, budget, n):
        return ["eta is above 1: steps expand"] if schedule.eta > 1 else []


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(REGISTRIES["problem"], "bowl", Bowl)
    monkeypatch.setitem(REGISTRIES["algorithm"], "noisy-descent", NoisyDescent)


def config(tmp_path, text):
    path = tmp_path / "toy.yaml"
    path.write_text(text)
    return path


TOY = """\
experiment: toy
problem: {name: bowl}
algorithm: {name: noisy-descent}
schedule: {eta: 0.1}
privacy: {eps: [1, 4], delta: 1e-5}
run: {replicates: 3, checkpoints: 5}
"""


def test_a_target_is_a_budget(registered, tmp_path):
    experiment = load_experiment(config(tmp_path, TOY))
    assert [cell.privacy.mu for cell in experiment.cells] == [Target(eps=1, delta=1e-5), Target(eps=4, delta=1e-5)]
    assert experiment.deltas == (1e-5,)
    for cell in experiment.cells:
        assert eps_of(cell.privacy.mu.constant, 1e-5) == pytest.approx(cell.privacy.eps)
        assert cell.run.n == 120
        assert cell.schedule.name == "constant"
        assert cell.columns()["eps"] == cell.privacy.eps
    assert Target(eps=float("inf")).constant == float("inf")
    assert Target(eps=float("inf")).label == "non-private"
    again = tmp_path / "again.yaml"
    again.write_text(resolved_yaml(experiment))
    assert [c.cell_id for c in load_experiment(again).cells] == [c.cell_id for c in experiment.cells]


def test_an_algorithm_may_know_its_steps_for_some_problems_only(registered, tmp_path, monkeypatch):
    def steps(self, problem, schedule, budget):
        return None if problem.records == 41 else 7

    monkeypatch.setattr(NoisyDescent, "steps", steps)
    assert {cell.run.n for cell in load_experiment(config(tmp_path, TOY)).cells} == {7}
    with pytest.raises(ConfigError) as error:
        load_experiment(config(tmp_path, TOY.replace("{name: bowl}", "{name: bowl, records: 41}")))
    (issue,) = error.value.issues
    assert str(issue).split(":", 1)[1].startswith("6:6: 'run.n' is missing")
    again = TOY.replace("{name: bowl}", "{name: bowl, records: 41}").replace("replicates: 3", "n: 5, replicates: 3")
    assert {cell.run.n for cell in load_experiment(config(tmp_path, again)).cells} == {5}


def test_toy_size_is_the_algorithms_own(registered, tmp_path, monkeypatch):
    large = config(
        tmp_path, TOY.replace("records: 40", "records: 4000").replace("replicates: 3", "n: 5000, replicates: 30")
    )
    smoke = load_experiment(large, profile="smoke")
    assert ({c.run.n for c in smoke.cells}, smoke.replicates) == ({2000}, 8)
    monkeypatch.setattr(NoisyDescent, "smoke_size", (10, 3))
    smoke = load_experiment(large, profile="smoke")
    assert ({c.run.n for c in smoke.cells}, smoke.replicates) == ({10}, 3)
