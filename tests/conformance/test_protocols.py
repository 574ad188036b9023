"""The page of seams names members that are there, all of them, and what is registered has them."""

import importlib
import inspect
import re
from dataclasses import MISSING, fields, is_dataclass
from typing import Protocol

import pytest

import dpexp.protocols as page
from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import AlgorithmBase
from dpexp.core.parameters import Parameters
from dpexp.problems import PROBLEMS
from dpexp.problems.problem import ProblemBase


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
        {"memory", "prepare", "notices", "files", "legend", "remarks", "fresh_users"}
        | {"held_out_records", "held_out_classes", "dealt_anew"},
    ),
    page.Algorithm: (
        AlgorithmBase,
        {"smoke_size", "lanes", "witnesses", "in_python", "steps", "complaints", "releases", "resolve", "common"}
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


@pytest.mark.parametrize(
    ("registry", "interface"), [(PROBLEMS, page.Problem), (ALGORITHMS, page.Algorithm)], ids=["problems", "algorithms"]
)
def test_everything_registered_has_every_member(registry, interface):
    members = members_of(interface)
    assert {"name", "memory"} <= members
    for name, kind in registry.items():
        value = kind()
        assert not {member for member in members if not hasattr(value, member)}, name
