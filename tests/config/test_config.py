"""Configs: what is understood, and that every mistake is found, located and explained."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

from dpexp.config.cell_settings import columns_of, named, select, varying
from dpexp.config.cells import flat, stored_cell
from dpexp.config.experiment_file import load_experiment, resolved_yaml
from dpexp.config.yamlfile import ConfigError, parse, scalar
from dpexp.core.errors import UsageError
from dpexp.core.text import yaml_in_line
from tests.conftest import share

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))
GOOD = """experiment: good
problem: {name: huber-linear, d: 5}
schedule: {eta: 0.2, alpha: [1/3, 1/2]}
privacy: {mu: [1, inf]}
run: {n: 100}
"""


def load(tmp_path, text, **options):
    path = tmp_path / "c.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_experiment(path, **options)


def errors(tmp_path, text, **options):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, **options)
    return [str(issue).replace(str(tmp_path / "c.yaml"), "c.yaml") for issue in caught.value.issues]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1/3", 1 / 3), ("1e-5", 1e-5), ("inf", np.inf), (".inf", np.inf), ("-inf", -np.inf), ("3", 3), ("1_000", 1000),
     ("2.", 2.0), (".5", 0.5), ("1E3", 1000.0), ("yes", "yes"), ("no", "no"), ("true", True), ("nan", "nan"),
     (".nan", ".nan"), ("1/0", "1/0"), ("~", None), ("0x10", "0x10"), ("abc", "abc"), ("1e", "1e"), ("-2/4", -0.5)],
)  # fmt: skip
def test_numbers_as_people_write_them(text, value):
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


def test_sweeps_make_the_product_with_the_first_key_slowest(tmp_path):
    experiment = load(tmp_path, GOOD)
    got = [(cell.schedule.alpha, cell.privacy.mu.largest) for cell in experiment.cells]
    assert got == list(itertools.product([1 / 3, 1 / 2], [1.0, np.inf]))
    assert experiment.replicates == 200


def test_cases_override_and_sweep(tmp_path):
    cases = "cases:\n  - problem: {d: 3}\n  - problem: {name: mallows-logistic, d: [1, 2]}\n    privacy: {mu: 2}\n"
    cells = load(tmp_path, GOOD + cases).cells
    got = sorted((c.problem.name, c.problem.d, c.schedule.alpha, c.privacy.mu.largest) for c in cells)
    first = [("huber-linear", 3, alpha, mu) for alpha in (1 / 3, 1 / 2) for mu in (1.0, np.inf)]
    second = [("mallows-logistic", d, alpha, 2.0) for d in (1, 2) for alpha in (1 / 3, 1 / 2)]
    assert got == sorted(first + second)
    assert len(cells) == 8
    assert len(load(tmp_path, GOOD + "cases: null\n").cells) == 4
    assert len({c.cell_id for c in cells}) == 8


@pytest.mark.parametrize("path", share(CONFIGS), ids=lambda p: p.stem)
def test_shipped_configs_are_named_like_their_file_and_read_back_from_their_resolved_form(path, tmp_path):
    experiment = load_experiment(path)
    assert experiment.name == path.stem
    again = load(tmp_path, resolved_yaml(experiment))
    assert [c.cell_id for c in again.cells] == [c.cell_id for c in experiment.cells]
    assert again.replicates == experiment.replicates
    toy = load_experiment(path, profile="smoke")
    assert toy.replicates <= 8
    assert all(c.run.n <= 2000 and c.run.checkpoints <= 20 for c in toy.cells)


def test_stored_parameters_are_the_cell_again(tmp_path):
    for privacy in ("{mu: [1, inf]}", "{eps: 2, delta: 0}"):
        for cell in load(tmp_path, GOOD.replace("{mu: [1, inf]}", privacy)).cells:
            assert stored_cell("good", cell.parameters).cell_id == cell.cell_id


def test_a_cell_is_known_by_its_numbers(tmp_path):
    """Not by the experiment's name, key order, spelling of numbers, replicates or deltas."""
    base = [c.cell_id for c in load(tmp_path, GOOD).cells]
    same = """run: {n: 1e2, replicates: 7, checkpoints: 200}
privacy: {mu: [1.0, .inf], deltas: [1e-3]}
experiment: other
schedule: {alpha: [0.3333333333333333, 5e-1], name: power, eta: 1/5}
problem: {sigma: 2, d: 5, name: huber-linear}
"""
    assert sorted(c.cell_id for c in load(tmp_path, same).cells) == sorted(base)
    assert load(tmp_path, GOOD.replace("d: 5", "d: 2")).cells[0].cell_id == "9e9498f4d1aa"
    for change in ("d: 5", "d: 3"), ("n: 100", "n: 101"), ("eta: 0.2", "eta: 0.3"), ("n: 100", "n: 100, seed: 1"):
        assert not set(base) & {c.cell_id for c in load(tmp_path, GOOD.replace(*change)).cells}


def test_overrides_and_replicates_of_the_command_line(tmp_path):
    laws = "[2, {uniform: [1, 2]}, {list: [1, 3]}, {choice: {values: [1, 2], probabilities: [1/4, 3/4]}}]"
    experiment = load(tmp_path, GOOD, overrides=["run.n=3e3", f"privacy.mu={laws}", "problem.c=1.5"], replicates=16)
    assert experiment.replicates == 16
    assert {(c.run.n, c.problem.c) for c in experiment.cells} == {(3000, 1.5)}
    assert [c.privacy.mu.largest for c in experiment.cells] == [2, 2, 3, 2] * 2
    assert [np.isnan(c.columns()["mu"]) for c in experiment.cells] == [False, True, True, True] * 2
    target = load(tmp_path, GOOD, overrides=["privacy.eps=1", "privacy.delta=0"]).cells[0].privacy
    assert (target.eps, target.mu.pure_eps) == (1, 1)
    assert load(tmp_path, GOOD, overrides=["privacy.eps=1", "privacy.mu=2"]).cells[0].privacy.mu.constant == 2


MISTAKES = {
    "unknown section": ("experiment: a\nproblm: {}\n", "c.yaml:2:1: unknown key 'problm'\n    hint: did you mean 'problem'?"),
    "unknown key": (GOOD.replace("d: 5", "dd: 5"), "c.yaml:2:31: unknown key in problem: 'dd'"),
    "wrong type": (GOOD.replace("eta: 0.2", "eta: fast"), "c.yaml:3:17: 'schedule.eta' must be a number >= 1e-09 and <= 1e+30, got 'fast'"),
    "alpha out of range": (GOOD.replace("1/3", "4/3"), "c.yaml:3:30: 'schedule.alpha' must be a number >= 0 and <= 1, got 1.33"),
    "no mu": (GOOD.replace("mu: [1, inf]", ""), "c.yaml:4:10: 'privacy.mu' is missing\n    hint: write `mu: inf` for no privacy"),
    "n not an integer": (GOOD.replace("n: 100", "n: 10.5"), "c.yaml:5:10: 'run.n' must be a whole number >= 1 and <= 1e+12, got 10.5"),
    "duplicate key": (GOOD + "run: {n: 5}\n", "c.yaml:6:1: the key 'run' appears twice (first at line 5)"),
    "same setting twice": (GOOD.replace("1/3", "1/2"), "c.yaml:3:35: cells 1 and 3 are the same setting"),
    "same population twice": (GOOD.replace("d: 5", "") + "population: {errors: {law: t, df: [3, 3]}}\n", "c.yaml:6:39: cells 1 and 5 are"),
    "same case twice": (GOOD + "cases: [{}, {}]\n", "c.yaml:6:8: cells 1 and 5 are the same setting"),
    "empty file": ("", "c.yaml:1:1: is empty"),
    "broken YAML": ("a: [1\n", "c.yaml:2:1: not valid YAML"),
    "two documents": (GOOD + "---\n" + GOOD, "c.yaml:7:1: contains a second document"),
    "mu < 0": (GOOD.replace("[1, inf]", "[1, -2]"), "c.yaml:4:19: 'privacy.mu' must be a number >= 1e-06 and <= 1e+06 or inf, got -2"),
    "anchors": (GOOD + "cases: [&a {problem: {d: 5}}, *a]\n", "c.yaml:6:9: anchors and aliases are not supported"),
    "too deep": ("a: " + "[" * 50 + "]" * 50, "is nested deeper than 20 levels"),
    "binary junk": (b"\x00\x01\x02\xff\xfe", "is not UTF-8 text"),
    "section is text": (GOOD.replace("{n: 100}", "fast"), "c.yaml:5:6: 'run' must be a mapping, got 'fast'"),
    "a tag": (GOOD.replace("d: 5", "d: !!python/name:os.system 2"), "is not supported"),
    "no name": (GOOD.replace("experiment: good\n", ""), "'experiment' is missing"),
    "no n": (GOOD.replace("{n: 100}", "{seed: 1}"), "c.yaml:5:6: 'run.n' is missing"),
    "replicates of a case": (GOOD + "cases: [{run: {replicates: 3}}, {problem: {d: 5}}]\n", "one number for all cases"),
    "unknown law": (GOOD.replace("[1, inf]", "{unifrm: [1, 2]}"), "c.yaml:4:16: unknown law of budgets 'unifrm'\n    hint: did you mean 'uniform'"),
    "probabilities": (GOOD.replace("[1, inf]", "{choice: {values: [1], probabilities: [1/2]}}"), "the probabilities sum to 0.5, not 1"),
    "unknown key of a law": (GOOD.replace("[1, inf]", "{choice: {values: [1], probabilities: [1], p: 1}}"), "unknown key in privacy.mu.choice: 'p'"),
    "cases is a mapping": (GOOD + "cases: {problem: {d: 3}}\n", "c.yaml:6:8: 'cases' must be a list"),
    "too many cells": (GOOD.replace("d: 5", f"d: {list(range(1, 200))}").replace("n: 100", f"n: {list(range(1, 200))}"), "cells; at most 10,000"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_mistake_is_located_and_explained(mistake, tmp_path):
    text, message = MISTAKES[mistake]
    found = errors(tmp_path, text)
    assert any(message in issue for issue in found), found
    assert all("\n    hint: " in issue for issue in found), found


@pytest.mark.parametrize(
    ("population", "swept"),
    [
        ("bend: [0, 0.2]", {"bend"}), ("design: {mean: [0, 1], sd: [1, 2]}", {"design.mean", "design.sd"}),
        ("d: [2, 3], weights: [mallows, none]", {"d", "weights"}),
        ("weights: {mallows: {cap: [2, 3]}}", {"weights.mallows.cap"}),
        ("coefficients: [[1, 1, 1], [1, 0, 0]]", {"coefficients"}),
        ("design: [normal, {columns: [normal]}], d: 1", {"design.sd", "design.columns"}),
    ],
)  # fmt: skip
def test_what_varies_between_populations_is_what_is_swept_though_some_have_a_short_form(population, swept, tmp_path):
    text = GOOD.replace(", d: 5", "").replace("[1/3, 1/2]", "1/2").replace("[1, inf]", "inf")
    cells = load(tmp_path, f"{text}population: {{{population}}}\n").cells
    settings, _ = named([flat(cell.parameters) for cell in cells], [cell.privacy.mu.label for cell in cells])
    assert {*varying(settings)} == {f"population.{name}" for name in swept}
    # every value that is shown can be selected
    known = columns_of(cells)
    for name in varying(settings):
        for value in {str(own[name]) for own in settings if own.get(name) is not None and "," not in str(own[name])}:
            (found,) = select(f"{name}={value}", [known])
            assert len(found) == sum(str(own.get(name)) == value for own in settings)


def test_all_mistakes_are_reported_at_once(tmp_path):
    text = GOOD.replace("d: 5", "d: 0, sgima: 1").replace("1/3", "7").replace("n: 100", "n: x").replace("good", "a b")
    population = "population: {design: {law: t, df: 2.5}, errors: {law: cauchy}, coefficients: [[1, 2], {first: 1}]}\n"
    assert len(errors(tmp_path, text + population, overrides=["run.seeed=1", "nothing"])) == 10


def test_unreadable_files(tmp_path):
    for path, message in ((tmp_path / "absent.yaml", "no such file"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError, match=message):
            load_experiment(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_experiment("a\0b.yaml")
    large = tmp_path / "large.yaml"
    large.write_text("#" * 1_000_001)
    with pytest.raises(ConfigError, match="at most 1,000,000 are read"):
        load_experiment(large)


@pytest.mark.parametrize(
    "text", ["run.n", "=3", "run.=3", "rnu.n=3", "run.n.m=3", "run.n=[1", "privacy.mu=", "run.n=true"]
)
def test_wrong_overrides_are_named(tmp_path, text):
    assert all(f"--set {text}" in issue for issue in errors(tmp_path, GOOD, overrides=[text]))


@pytest.mark.parametrize("path", share(CONFIGS), ids=lambda path: path.stem)
def test_a_key_that_nobody_knows_is_never_understood(path, tmp_path):
    """Wherever it stands: among the sections, or within one. Other damage: tests/core/test_bounded_input.py."""
    text = path.read_text()
    places = [0, *(found.end() for found in re.finditer(r"^[^#\n]*?\w: +\{", text, re.MULTILINE))]
    for place in share(places):
        value = "zqzq: {a: 1}\n" if place == 0 else "zqzq: [1, 2], "
        assert any("zqzq" in issue for issue in errors(tmp_path, text[:place] + value + text[place:])), place


@pytest.mark.parametrize(
    "text", ["a, b", "c: d", "true", "12", "01", "1/2", "inf", "null", "~", "", " pad ", "#x", "x #y", "e]", "{", "'q'",
             'a"b', "a\\b", "a\nb", "- a", "@x", "<<", "&x", "*x", "!x", "é", "yes", "~/x.csv", "poisson 10", "2001-01-01"],
)  # fmt: skip
def test_text_that_is_shown_reads_back_whatever_stands_in_it(text):
    """Categories such as 'under 5, alone' once made `dpexp validate --show` print what was no YAML, and '01' read back as 1."""
    shown = yaml_in_line({"key": [text], text or "-": {"inner": text}})
    assert parse(f"all: {shown}", "text").get("all") == {"key": (text,), text or "-": {"inner": text}}


CELLS = [
    {"a": {"alpha": 1 / 3, "mu": math.inf, "budget": "inf", "algorithm": "ldp-sgd", "on": True}},
    {"b": {"alpha": 0.5, "mu": 1.0, "budget": "1.0", "algorithm": "dp-sgd", "clip": 1.0}},
]


@pytest.mark.parametrize(
    ("conditions", "ids"),
    [
        ("alpha=1/3", "a"), ("alpha=0.5,1/3", "ab"), ("mu=inf", "a"), ("mu=non-private", "a"), ("algorithm=ldp-sgd mu=inf", "a"),
        ("clip==1", "b"), ("on=true", "a"),
    ],
)  # fmt: skip
def test_only_takes_values_of_columns(conditions, ids):
    assert [set(own) for own in select(conditions, CELLS)] == [{"a"} & set(ids), {"b"} & set(ids)]


@pytest.mark.parametrize(
    "conditions",
    ["", "mu", "mu=", "=1", "mu > 1", "mu='1", "aplha=1", "on=1", "mu=2", "alpha=1/2,0.9", "algorithm=dp-sgd mu=inf"],
)
def test_what_is_no_condition_or_matches_no_cell_is_refused(conditions):
    with pytest.raises(UsageError):
        select(conditions, CELLS)


def test_names_sweep_with_the_keys_that_each_has(tmp_path):
    two = GOOD.replace("schedule:", "algorithm: {name: [ldp-sgd, heavy-ball-ldp-sgd], momentum: [0.5, 0.9]}\nschedule:")
    experiment = load(tmp_path, two)
    alone = [load(tmp_path, GOOD), load(tmp_path, two.replace("[ldp-sgd, heavy-ball-ldp-sgd]", "heavy-ball-ldp-sgd"))]
    assert [cell.cell_id for cell in experiment.cells] == [cell.cell_id for one in alone for cell in one.cells]
    assert len({str(cell.setting()) for cell in experiment.cells}) == len(experiment.cells) == 4 + 8
    again = load(tmp_path, resolved_yaml(experiment))
    assert [cell.cell_id for cell in again.cells] == [cell.cell_id for cell in experiment.cells]
    with pytest.raises(ConfigError, match=r"c.yaml:3:\d+: unknown key in algorithm: 'momentun'"):
        load(tmp_path, two.replace("momentum:", "momentun:"))
    with pytest.raises(ConfigError, match="unknown algorithm 'ldp-sgdd'"):
        load(tmp_path, two.replace("ldp-sgd,", "ldp-sgdd,"))
    with pytest.raises(ConfigError, match=r"cases: \[\{schedule: ..."):
        load(tmp_path, GOOD.replace("{eta: 0.2, alpha: [1/3, 1/2]}", "[{eta: 0.2}, {eta: 0.3}]"))
