"""The shape of a plug-in: what is wrong with its value PLUGIN, and on which line, before any of it is used."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from pydantic import ValidationError

from dpexp.core.parameters import Parameters
from dpexp.plugins import Plugin
from dpexp.plugins.importing import shown_below


def place_of(what: str | type, file: Path, shown: Path) -> str:
    """`file:line` of a class, of a name that is assigned in a plug-in's file, or of a text there; else the file alone.

    `shown` is the file as messages call it.
    """
    if isinstance(what, type):
        try:
            own, (_, line) = Path(inspect.getfile(what)).resolve(), inspect.getsourcelines(what)
        except (OSError, TypeError):
            return str(shown)
        return f"{shown_below(own, file.parent, shown)}:{line}"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == what for target in targets):
            return f"{shown}:{node.lineno}"
    # A name stands in its class and in PLUGIN, which comes last and is what has to be changed.
    lines = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Constant) and n.value == what]
    return f"{shown}:{max(lines)}" if lines else str(shown)


Complaint = tuple[str, str, str | type]
"""what is wrong, what could be done about it, and what stands at the place"""
MEMBERS = {
    "problem": (),
    "algorithm": ("estimators", "metrics", "runs_on", "schedules", "seconds", "memory", "mechanism", "simulate"),
    "schedule": ("step_sizes", "for_losses"),
    "budget": ("label", "largest", "smallest", "mean_inverse_square", "draw"),
    "mechanism": ("noise_field", "upper_bounds", "description"),
}
"""what a class must have of its own or from a base; the base says what each is for"""
OF_A_BASE = {
    "dpexp.algorithms.one_pass:OnePassAlgorithm": (("rule",), "docs page extending"),
    "dpexp.algorithms.covering:Covering": (("intervals",), "docs page inference"),
    "dpexp.algorithms.finite_sum_run:FiniteSumAlgorithm": (("plan", "stepper"), "dpexp.algorithms.finite_sum_run"),
    "dpexp.algorithms.softmax_runs:SoftmaxAlgorithm": (("mechanism",), "dpexp.algorithms.softmax_runs"),
    "dpexp.problems.linear_predictor:LinearPredictorProblem": (
        ("response_noise", "response", "score", "conditional_risk", "score_bounds", "optimum", "loss"),
        "docs page extending",
    ),
    "dpexp.problems.finite_sum:FiniteSum": (
        ("coercive", "count", "dimension", "lipschitz", "smoothness", "build"), "dpexp.problems.finite_sum",
    ),
}  # fmt: skip
"""what a class that inherits from one of ours must have of its own, and the page that explains it; an algorithm that
simulates by itself needs none of it"""
BASES = {
    "schedule": "dpexp.algorithms.schedules:Schedule",
    "budget": "dpexp.privacy.budgets:Budget",
    "mechanism": "dpexp.privacy.mechanisms.mechanism:Mechanism",
    "algorithm": "dpexp.algorithms.algorithm:Algorithm",
}
"""what a class must inherit from; parameters alone where nothing is named"""
INTERFACES = BASES | {"problem": "dpexp.problems.problem:Problem"}
"""the classes whose methods say how those of a plug-in are called"""


def complaints(plugin: Plugin) -> Iterator[Complaint]:
    """What is wrong with the shape of a plug-in: types, names and missing members."""
    for entry in fields(Plugin):
        value, one = getattr(plugin, entry.name), ONE_OF.get(entry.name, "")
        if entry.name in (*SHOWN, "inputs"):
            if not isinstance(value, tuple | list):
                wrong = f"{entry.name} is a value of type {type(value).__name__}, not a tuple"
                yield wrong, f"write {entry.name}=(ONE, ANOTHER)", "PLUGIN"
            elif entry.name == "inputs" and not all(isinstance(one, str) and one and one[0] != "/" for one in value):
                hint = "paths or patterns from the folder of the plug-in, such as inputs=('data/*.csv',)"
                yield f"inputs are not all relative paths: {value!r}", hint, "PLUGIN"
            continue  # what papers and the like hold is checked where they are listed, by `dpexp.papers`
        if not isinstance(value, Mapping):
            wrong = f"{entry.name} is a value of type {type(value).__name__}, not a dict"
            yield wrong, f"write {entry.name}={{'name': ...}}", "PLUGIN"
            continue
        for name, kind in value.items():
            if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", name):
                hint = "a name has letters, digits, '-', '_', '.' and '/'"
                yield f"{name!r} cannot be the name of a {one}", hint, name
            elif one == "theorem":
                if not isinstance(kind, resolve_name("dpexp.theory.theorem:Theorem")):
                    hint = "a theorem is a dpexp.theory.theorem.Theorem"
                    yield f"theorem '{name}' is a value of type {type(kind).__name__}", hint, name
            elif one == "analysis":
                if not callable(kind) or "/" not in name:
                    hint = "an analysis is 'mechanism/analysis': a function of the mechanism that returns an Analysis"
                    yield f"the analysis '{name}' is no such pair", hint, name
            else:
                yield from _wrong_class(one, name, kind)


SHOWN = ("papers", "figures", "tables", "claims")
ONE_OF = {entry.name: entry.name.removesuffix("s") for entry in fields(Plugin) if entry.name != "inputs"} | {
    "analyses": "analysis"
}


def _wrong_class(one: str, name: str, kind: Any) -> Iterator[Complaint]:
    """What is wrong with a class that a config or a command line can name."""
    base: type[Parameters] = resolve_name(BASES.get(one, "dpexp.core.parameters:Parameters"))
    if not isinstance(kind, type) or not issubclass(kind, base):
        given = f"the class {kind.__name__}" if isinstance(kind, type) else f"a value of type {type(kind).__name__}"
        hint = f"it has to be a class that inherits from {base.__module__}.{base.__name__}"
        yield f"{one} '{name}' is {given}", hint, kind if isinstance(kind, type) else name
        return
    if one in ("problem", "algorithm", "schedule"):
        field = kind.model_fields.get("name")
        if field is None or field.default != name:
            own = "no field `name`" if field is None else f"the name {field.default!r}"
            hint = f'write `name: Literal["{name}"] = "{name}"` in the class'
            yield f"{one} '{name}': the class {kind.__name__} has {own}", hint, kind
    elif one == "budget" and (getattr(kind, "kind", None) != name or name not in kind.model_fields):
        hint = f'write `kind = "{name}"`, and call the field that a config sets `{name}`'
        yield f"law of budgets '{name}': the class {kind.__name__} has another kind or no such field", hint, kind
    yield from _wrong_defaults(one, name, kind)
    for above, members, page in _wanted(one, kind, base):
        for member in members:
            # a risk of its own is not integrated from that of one response
            if member == "conditional_risk" and _has(kind, above, "_risk"):
                continue
            if not _has(kind, above, member):
                hint = f"{page} says what it is for; all of them: {', '.join(members)}"
                yield f"{one} '{name}': the class {kind.__name__} has no `{member}`", hint, kind
            elif wrong := _wrong_signature(one, kind, member):
                yield f"{one} '{name}': {wrong}", f"{_spelled(INTERFACES[one])} says what it is called with", kind
    # any other word would be read as uniform
    if one == "problem" and (law := getattr(kind, "response_noise", "normal")) not in ("normal", "uniform"):
        yield f"problem '{name}': response_noise is {law!r}", "it is 'normal' or 'uniform'", kind


def _wrong_defaults(one: str, name: str, kind: type[Parameters]) -> Iterator[Complaint]:
    """Defaults outside their own range, with which results could be made and never read again."""
    try:
        kind()
    except ValidationError as error:
        for issue in error.errors():
            field = issue["loc"][0]
            # A field without a default is the config's to give.
            if issue["type"] != "missing":
                wrong = f"the default of `{field}` is {issue['input']!r}: {issue['msg'].lower()}"
                hint = "dpexp.core.parameters has the ranges: a Positive from 1e-6 to 1e6, a StepSize from 1e-9 to 1e30"
                yield f"{one} '{name}': {wrong}", hint, kind


def _wanted(
    one: str, kind: type[Parameters], base: type[Parameters]
) -> Iterator[tuple[type[Parameters], Sequence[str], str]]:
    """Each base whose members a class must have made its own, these members, and the page that explains them."""
    yield base, MEMBERS[one], _spelled(INTERFACES[one])
    for name, (members, page) in OF_A_BASE.items() if one in ("problem", "algorithm") else ():
        if issubclass(kind, own := resolve_name(name)) and not (one == "algorithm" and _has(kind, own, "simulate")):
            yield own, members, page


def _spelled(place: str) -> str:
    return place.replace(":", ".")


def _has(kind: type, base: type, member: str) -> bool:
    """Whether a class has a member; of a schedule one of its two ways to give step sizes must be its own."""
    found = inspect.getattr_static(kind, member, None)
    if base.__name__ == "Schedule":
        ways = MEMBERS["schedule"]
        return any(inspect.getattr_static(kind, way) is not inspect.getattr_static(base, way) for way in ways)
    return found is not None and found is not inspect.getattr_static(base, member, None)


def _wrong_signature(one: str, kind: type, member: str) -> str:
    """How a method's parameters differ from those that it is called with; empty where it can be called so."""
    wanted = inspect.getattr_static(resolve_name(INTERFACES[one]), member, None)
    method = inspect.getattr_static(kind, member)
    if not inspect.isfunction(wanted) or not inspect.isfunction(method):
        return ""
    asked = list(inspect.signature(wanted).parameters)
    try:
        # By position: its parameters may have other names than ours.
        inspect.signature(method).bind(*[None] * len(asked))
    except TypeError:
        given = ", ".join(list(inspect.signature(method).parameters)[1:])
        return f"`{member}` of {kind.__name__} takes ({given}), and is called with ({', '.join(asked[1:])})"
    return ""
