"""The shape of a plug-in: what is wrong with its value PLUGIN, and on which line, before any of it is used."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from pydantic import ValidationError

from dpexp.core.parameters import Parameters
from dpexp.plugins import Plugin
from dpexp.plugins.importing import shown_below

Complaint = tuple[str, str, str | type]
"""what is wrong, what could be done about it, and what stands at the place"""
SHOWN = ("papers", "figures", "tables", "claims", "inputs")
"""what these hold is checked where they are listed, by `dpexp.papers`, and by `Loaded.inputs`"""
SINGULAR = {"analyses": "analysis"}
MEMBERS = {
    "problem": ("dpexp.problems.problem:Problem", ()),
    "algorithm": (
        "dpexp.algorithms.algorithm:Algorithm",
        ("estimators", "metrics", "runs_on", "schedules", "seconds", "memory", "mechanism", "simulate"),
    ),
    "schedule": ("dpexp.algorithms.schedules:Schedule", ("step_sizes", "for_losses")),
    "budget": ("dpexp.privacy.budgets:Budget", ("label", "largest", "smallest", "mean_inverse_square", "draw")),
    "mechanism": ("dpexp.privacy.mechanisms.mechanism:Mechanism", ("noise_field", "upper_bounds", "description")),
}
"""what a class must inherit from (a problem from `Parameters` alone), and what it must have of its own; the base says
what each is for"""
OF_A_BASE = {
    "dpexp.algorithms.one_pass:OnePassAlgorithm": ("rule",),
    "dpexp.algorithms.covering:Covering": ("intervals",),
    "dpexp.algorithms.finite_sum_run:FiniteSumAlgorithm": ("plan", "stepper"),
    "dpexp.algorithms.softmax_runs:SoftmaxAlgorithm": ("mechanism",),
    "dpexp.problems.linear_predictor:LinearPredictorProblem": (
        "response_noise", "response", "score", "conditional_risk", "score_bounds", "loss",
    ),
    "dpexp.problems.finite_sum:FiniteSum": ("coercive", "count", "dimension", "lipschitz", "smoothness", "build"),
}  # fmt: skip
"""what a class that inherits from one of ours must have of its own, which this one explains; an algorithm that
simulates by itself needs none of it"""


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


def complaints(plugin: Plugin) -> Iterator[Complaint]:
    """What is wrong with the shape of a plug-in: types, names and missing members."""
    for field in (entry.name for entry in fields(Plugin)):
        value, kind = getattr(plugin, field), SINGULAR.get(field, field.removesuffix("s"))
        if field in SHOWN and not isinstance(value, tuple | list):
            yield f"{field} is a value of type {type(value).__name__}", f"write {field}=(ONE, ANOTHER)", "PLUGIN"
        elif field not in SHOWN and not isinstance(value, Mapping):
            yield f"{field} is a value of type {type(value).__name__}", f"write {field}={{'name': ...}}", "PLUGIN"
        elif field not in SHOWN:
            for name, entry in value.items():
                yield from _wrong_entry(kind, name, entry)


def _wrong_entry(kind: str, name: Any, entry: Any) -> Iterator[Complaint]:
    given = f"the class {entry.__name__}" if isinstance(entry, type) else f"a value of type {type(entry).__name__}"
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", name):
        hint = "a name has letters, digits, '-', '_', '.' and '/'"
        yield f"{name!r} cannot be the name of a {kind}", hint, name
    elif kind == "theorem":
        if not isinstance(entry, resolve_name("dpexp.theory.theorem:Theorem")):
            yield f"theorem '{name}' is {given}", "a theorem is a dpexp.theory.theorem.Theorem", name
    elif kind == "analysis":
        if not callable(entry) or "/" not in name:
            hint = "an analysis is 'mechanism/analysis': a function of the mechanism that returns an Analysis"
            yield f"the analysis '{name}' is no such pair", hint, name
    else:
        base = Parameters if kind == "problem" else resolve_name(MEMBERS[kind][0])
        if isinstance(entry, type) and issubclass(entry, base):
            yield from _wrong_class(kind, name, entry)
        else:
            hint = f"it has to be a class that inherits from {base.__module__}.{base.__name__}"
            yield f"{kind} '{name}' is {given}", hint, entry if isinstance(entry, type) else name


def _wrong_class(kind: str, name: str, entry: type[Parameters]) -> Iterator[Complaint]:
    """What is wrong with a class that a config or a command line can name."""
    if kind in ("problem", "algorithm", "schedule"):
        field = entry.model_fields.get("name")
        if field is None or field.default != name:
            own = "no field `name`" if field is None else f"the name {field.default!r}"
            hint = f'write `name: Literal["{name}"] = "{name}"` in the class'
            yield f"{kind} '{name}': the class {entry.__name__} has {own}", hint, entry
    elif kind == "budget" and (getattr(entry, "kind", None) != name or name not in entry.model_fields):
        hint = f'write `kind = "{name}"`, and call the field that a config sets `{name}`'
        yield f"law of budgets '{name}': the class {entry.__name__} has another kind or no such field", hint, entry
    # with a default outside its own range results could be made and never read again
    try:
        entry()
    except ValidationError as error:
        for issue in error.errors():
            if issue["type"] != "missing":  # a field without a default is the config's to give
                wrong = f"the default of `{issue['loc'][0]}` is {issue['input']!r}: {issue['msg'].lower()}"
                yield f"{kind} '{name}': {wrong}", "dpexp.core.parameters has the ranges", entry
    interface = resolve_name(MEMBERS[kind][0])
    for base, members in ((interface, MEMBERS[kind][1]), *((resolve_name(b), m) for b, m in OF_A_BASE.items())):
        simulates = base is not interface and kind == "algorithm" and _is_own(entry, base, "simulate")
        if not issubclass(entry, base) or simulates:
            continue
        # of a schedule one of its two ways to give step sizes must be its own
        if kind == "schedule" and any(_is_own(entry, base, member) for member in members):
            members = tuple(member for member in members if _is_own(entry, base, member))
        for member in members:
            # a risk of its own is not integrated from that of one response
            if member == "conditional_risk" and _is_own(entry, base, "_risk"):
                continue
            hint = f"{base.__module__}.{base.__name__} says what it is for; all of them: {', '.join(members)}"
            if not _is_own(entry, base, member):
                yield f"{kind} '{name}': the class {entry.__name__} has no `{member}`", hint, entry
            elif wrong := _wrong_signature(entry, interface, member):
                yield f"{kind} '{name}': {wrong}", hint, entry
    # any other word would be read as uniform
    if kind == "problem" and (law := getattr(entry, "response_noise", "normal")) not in ("normal", "uniform"):
        yield f"problem '{name}': response_noise is {law!r}", "it is 'normal' or 'uniform'", entry


def _is_own(entry: type, base: type, member: str) -> bool:
    there = inspect.getattr_static(entry, member, None)
    return there is not None and there is not inspect.getattr_static(base, member, None)


def _wrong_signature(entry: type, interface: type, member: str) -> str:
    """How a method's parameters differ from those that it is called with; empty where it can be called so."""
    wanted, method = inspect.getattr_static(interface, member, None), inspect.getattr_static(entry, member)
    if not inspect.isfunction(wanted) or not inspect.isfunction(method):
        return ""
    asked = list(inspect.signature(wanted).parameters)
    try:
        # By position: its parameters may have other names than ours.
        inspect.signature(method).bind(*[None] * len(asked))
    except TypeError:
        given = ", ".join(list(inspect.signature(method).parameters)[1:])
        return f"`{member}` of {entry.__name__} takes ({given}), and is called with ({', '.join(asked[1:])})"
    return ""
