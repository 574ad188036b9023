"""The shape of a plug-in: what is wrong with its value PLUGIN, and on which line, before any of it is used.

What a class must have of its own is read off the classes of dpexp that it inherits from: what these declare without a
value, and methods that do nothing but raise NotImplementedError. Their docstrings say what each is for.
"""

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
BASES = {
    "problem": "dpexp.core.parameters:Parameters",
    "algorithm": "dpexp.algorithms.algorithm:Algorithm",
    "schedule": "dpexp.algorithms.schedules:Schedule",
    "weight": "dpexp.problems.weights:Weight",
    "budget": "dpexp.privacy.budgets:Budget",
    "mechanism": "dpexp.privacy.mechanisms.mechanism:Mechanism",
}
"""what a class must inherit from"""


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
    assigned = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    lines = [node.lineno for node in assigned if what in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}]
    # A text stands in its class and in PLUGIN, which comes last and is what has to be changed.
    lines = lines[:1] or [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Constant) and n.value == what]
    return f"{shown}:{max(lines)}" if lines else str(shown)


def complaints(plugin: Plugin) -> Iterator[Complaint]:
    """What is wrong with the shape of a plug-in: types, names and missing members."""
    for field in (entry.name for entry in fields(Plugin)):
        value, listed = getattr(plugin, field), field in SHOWN
        if not isinstance(value, (tuple, list) if listed else Mapping):
            form = "(ONE, ANOTHER)" if listed else "{'name': ...}"
            yield f"{field} is a value of type {type(value).__name__}", f"write {field}={form}", "PLUGIN"
        elif not listed:
            for name, entry in dict(value).items():
                yield from _wrong_entry({"analyses": "analysis"}.get(field, field.removesuffix("s")), name, entry)


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
        base = resolve_name(BASES[kind])
        if isinstance(entry, type) and issubclass(entry, base):
            yield from _wrong_class(kind, name, entry, base)
        else:
            hint = f"it has to be a class that inherits from {base.__module__}.{base.__name__}"
            yield f"{kind} '{name}' is {given}", hint, entry if isinstance(entry, type) else name


def _wrong_class(kind: str, name: str, entry: type[Parameters], interface: type) -> Iterator[Complaint]:
    """What is wrong with a class that a config or a command line can name."""
    if kind in ("problem", "algorithm", "schedule", "weight"):
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
    for member, base in _unfilled(entry, interface).items():
        hint = f"{base.__module__}.{base.__name__} says what it is for"
        yield f"{kind} '{name}': the class {entry.__name__} has no `{member}`", hint, entry
    for wrong in filter(None, (_wrong_signature(entry, *member) for member in vars(interface).items())):
        yield f"{kind} '{name}': {wrong}", f"{interface.__module__}.{interface.__name__} says what it is for", entry
    # any other word would be read as uniform
    if kind == "problem" and (law := getattr(entry, "response_noise", "normal")) not in ("normal", "uniform"):
        yield f"problem '{name}': response_noise is {law!r}", "it is 'normal' or 'uniform'", entry


OPTIONAL = ("law", "slope", "conditional_risk", "second_derivatives", "step_size", "estimate")
"""members that a class may lack"""


def _unfilled(entry: type, interface: type) -> dict[str, type]:
    """What a class must have of its own and has not, and which class says what for."""
    # an algorithm that simulates by itself needs nothing of what a base of ours simulates with
    own = getattr(entry, "simulate", _raises).__module__[:6] != "dpexp."
    bases = [base for base in (interface if own else entry).__mro__ if base.__module__[:6] == "dpexp."]
    others = {*OPTIONAL, *getattr(entry, "model_fields", {})}
    absent = {}
    for base in bases:
        for name in {**inspect.get_annotations(base), **vars(base)}:
            there = inspect.getattr_static(entry, name, None)
            if not name.startswith("__") and name not in others and (there is None or _raises(there)):
                absent[name] = base
    return absent


def _raises(member: object) -> bool:
    """Whether a method or property does nothing but raise NotImplementedError."""
    function = member.fget if isinstance(member, property) else member
    return inspect.isfunction(function) and function.__code__.co_names[:1] == ("NotImplementedError",)


def _wrong_signature(entry: type, member: str, wanted: object) -> str:
    """How a method's parameters differ from those that it is called with; empty where it can be called so."""
    method = inspect.getattr_static(entry, member, None)
    if not inspect.isfunction(wanted) or not inspect.isfunction(method) or method is wanted:
        return ""
    asked = list(inspect.signature(wanted).parameters)
    try:
        # By position: its parameters may have other names than ours.
        inspect.signature(method).bind(*[None] * len(asked))
    except TypeError:
        given = ", ".join(list(inspect.signature(method).parameters)[1:])
        return f"`{member}` of {entry.__name__} takes ({given}), and is called with ({', '.join(asked[1:])})"
    return ""
