"""The page of seams names members that are there, all of them, and what is registered has them."""

import importlib
import inspect
import math
import re
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Protocol

import pytest

import dpexp.protocols as page
from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import AlgorithmBase
from dpexp.algorithms.near_the_optimum import linear
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.algorithms.softmax_runs import no_target, target
from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Parameters
from dpexp.privacy.budgets import ConstantBudget, Target, UniformBudget
from dpexp.problems import PROBLEMS
from dpexp.problems.problem import ProblemBase
from dpexp.reporting.evidence import Run, labels
from tests.conftest import ROOT


def kinds():
    """kind -> (module, its members, those among them that are marked with a default)."""
    found, now = {}, ""
    for line in page.__doc__.split("what one is, and who asks for its members\n")[1].splitlines():
        if head := re.fullmatch(r"(\w+) +(dpexp\.[\w.]+) +\S.*", line):
            now = head[1]
            found[now] = (head[2], [], [])
        elif line.startswith("    "):
            words = re.match(r" {4}([\w, ]+?)(?: {2,}|$)", line)[1].split(", ")
            found[now][1].extend(words)
            found[now][2].extend(words if "default" in line else [])
    return found


KINDS = kinds()


def test_the_page_speaks_of_every_kind_and_offers_it():
    assert set(KINDS) == set(page.__all__)
    for kind, (module, *_) in KINDS.items():
        assert getattr(page, kind) is getattr(importlib.import_module(module), kind)


def members_of(interface):
    """The members of a Protocol, of those that it inherits from too."""
    kinds = [kind for kind in interface.__mro__ if getattr(kind, "_is_protocol", False) and kind is not Protocol]
    names = {name for kind in kinds for name in (*vars(kind), *getattr(kind, "__annotations__", {}))}
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "Plugin"])
def test_the_members_of_a_kind_are_those_that_the_page_names(kind):
    module, members, defaults = KINDS[kind]
    defined = getattr(importlib.import_module(module), kind)
    if is_dataclass(defined):
        assert set(members) == {field.name for field in fields(defined)}
        may = {f.name for f in fields(defined) if f.default is not MISSING or f.default_factory is not MISSING}
        assert set(defaults) == may
    elif getattr(defined, "_is_protocol", False):
        assert set(members) == members_of(defined)
        assert set(defaults) == DEFAULTS.get(defined, (None, set()))[1]
    else:
        own = set(defined.__annotations__) | {
            name
            for name, value in vars(defined).items()
            if not name.startswith("_") and (callable(value) or isinstance(value, property))
        }
        inherited = set(vars(Parameters)) | {"model_config", "model_fields", "model_computed_fields", "kind"}
        assert set(members) == own - inherited


DEFAULTS = {
    page.Problem: (
        ProblemBase,
        {"memory", "prepare", "notices", "files", "places", "legend", "remarks", "require_records", "fresh_users"}
        | {"held_out_records", "held_out_classes", "dealt_anew"},
    ),
    page.Algorithm: (
        AlgorithmBase,
        {"smoke_size", "lanes", "witnesses", "in_python", "toys", "steps", "complaints", "releases", "common"}
        | {"together"},
    ),
}


@pytest.mark.parametrize("interface", DEFAULTS, ids=lambda i: i.__name__)
def test_the_bases_have_what_the_page_calls_default(interface):
    base, defaults = DEFAULTS[interface]
    members = re.split(r"\n    (?=def |\w+: ClassVar)", inspect.getsource(interface))[1:]
    told = {re.match(r"(?:def )?(\w+)", member)[1] for member in members if "; default" in member}
    assert told == defaults
    assert {name for name in vars(base) if not name.startswith(("_", "model_"))} == defaults


# --- members that were once looked up by name ------------------------------------------------------------------------

TARGET = Target(eps=1.0, delta=1e-6)


def test_a_budget_says_whether_it_is_a_target():
    assert TARGET.target == (1.0, 1e-6)
    assert ConstantBudget(mu=2.0).target is None
    assert UniformBudget(uniform=(1.0, 2.0)).target is None
    assert target(TARGET) == (1.0, 1e-6)
    assert target(ConstantBudget(mu=math.inf)) == (math.inf, 1.0)
    assert not no_target(TARGET)
    assert no_target(ConstantBudget(mu=2.0))
    with pytest.raises(ValueError, match="no target"):
        target(ConstantBudget(mu=2.0))


def test_printed_noise_is_that_of_the_target_and_else_of_mu():
    algorithm = ALGORITHMS["reduced-momentum"]()
    assert algorithm.printed_sigma(TARGET) == pytest.approx(4 * math.sqrt(math.log(1e6)), rel=1e-12)  # Theorem 8
    assert algorithm.printed_sigma(ConstantBudget(mu=2.0)) == pytest.approx(math.sqrt(3) / 2, rel=1e-12)
    problem = PROBLEMS["rippled-mean"]()
    assert algorithm.prescribed(problem, TARGET) is not None
    assert algorithm.prescribed(problem, ConstantBudget(mu=2.0)) is None
    assert algorithm.prescribed(problem, Target(eps=math.inf)) is None


def test_one_step_size_where_there_is_one():
    assert SCHEDULES["constant"](eta=0.3).step_size(7) == 0.3
    assert SCHEDULES["path-length"](length=2.0).step_size(8) == 0.25
    for name in ("power", "langevin", "prescribed"):
        with pytest.raises(NotImplementedError, match=name):
            SCHEDULES[name]().step_size(8)


def run_of(name, row, **sections):
    cell = load_experiment(ROOT / "configs" / f"{name}.yaml").cells[0]
    return Run(replace(cell, **sections), row, None)


def test_a_run_is_named_by_what_differs():
    row = {"alpha": 0.5, "budget": "2"}
    plain = run_of("linear_d5", row, problem=PROBLEMS["huber-linear"]())
    wide = run_of("linear_d5", row, problem=PROBLEMS["huber-linear"](d=20, sigma=3.0))
    public = run_of("linear_d5", {"alpha": 0.5, "budget": "non-private"}, problem=PROBLEMS["huber-linear"]())
    assert plain.name == "huber-linear, alpha = 1/2, mu = 2"
    assert wide.name == "huber-linear, d = 20, sigma = 3, alpha = 1/2, mu = 2"
    assert labels([plain, wide, public]) == ["mu = 2", "d = 20, sigma = 3, mu = 2", "non-private"]
    assert labels([plain]) == [plain.name]


def test_predictions_are_refused_in_words_where_the_theory_is_of_another_problem():
    assert linear(PROBLEMS["huber-linear"]()) == PROBLEMS["huber-linear"]()
    with pytest.raises(UsageError, match="softmax is no linear predictor"):
        linear(PROBLEMS["softmax"]())
