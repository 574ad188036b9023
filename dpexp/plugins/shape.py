"""The shape of a plug-in: mistakes in its value PLUGIN, and on which line, before any of it is used.

The members that a class needs are read off the classes of dpexp that it inherits from: those that these declare without
a value, and methods that do nothing but raise NotImplementedError. Their docstrings explain each.
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

from dpexp.plugins import Plugin
from dpexp.plugins.importing import path_below

Complaint = tuple[str, str, str | type]
"""a mistake, what could be done about it, and the class or name at the place"""
LISTS = ("papers", "figures", "tables", "claims", "inputs")
"""fields whose entries are checked where they are listed, by `dpexp.papers` and by `Loaded.inputs`"""
KINDS = {
    "problems": ("problem", "dpexp.core.parameters:Parameters"),
    "algorithms": ("algorithm", "dpexp.algorithms.algorithm:Algorithm"),
    "schedules": ("schedule", "dpexp.algorithms.schedules:Schedule"),
    "weights": ("weight", "dpexp.problems.weights:Weight"),
    "budgets": ("budget", "dpexp.privacy.budgets:Budget"),
    "mechanisms": ("mechanism", "dpexp.privacy.mechanisms.mechanism:Mechanism"),
    "theorems": ("theorem", "dpexp.theory.theorem:Theorem"),
}
"""the kind of a field's entries, and the class that they inherit from; a theorem is a value of it"""
OPTIONAL = ("law", "slope", "conditional_risk", "second_derivatives", "step_size", "estimate")
"""members that a class may lack"""


def place_of(name: str | type, file: Path, typed: Path) -> str:
    """`file:line` of a class, of a name that is assigned in a plug-in's file, or of a text there; else the file alone.

    `typed` is the file as messages call it.
    """
    if isinstance(name, type):
        try:
            own, (_, line) = Path(inspect.getfile(name)).resolve(), inspect.getsourcelines(name)
        except (OSError, TypeError):
            return str(typed)
        return f"{path_below(own, file.parent, typed)}:{line}"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assigned = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    lines = [node.lineno for node in assigned if name in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}]
    # A text is in its class and in PLUGIN, which comes last and has to be changed.
    lines = lines[:1] or [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Constant) and n.value == name]
    return f"{typed}:{max(lines)}" if lines else str(typed)


def complaints(plugin: Plugin) -> Iterator[Complaint]:
    """Mistakes in the shape of a plug-in: types, names and missing members."""
    for field in (entry.name for entry in fields(Plugin)):
        value, is_list = getattr(plugin, field), field in LISTS
        if not isinstance(value, (tuple, list) if is_list else Mapping):
            form = "(ONE, ANOTHER)" if is_list else "{'name': ...}"
            yield f"{field} is a value of type {type(value).__name__}", f"write {field}={form}", "PLUGIN"
        elif not is_list:
            for name, entry in dict(value).items():
                yield from _wrong_entry(field, name, entry)


def _wrong_entry(field: str, name: Any, entry: Any) -> Iterator[Complaint]:
    kind, base = KINDS.get(field, ("analysis", ""))
    value = f"the class {entry.__name__}" if isinstance(entry, type) else f"a value of type {type(entry).__name__}"
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", name):
        yield f"{name!r} cannot be the name of a {kind}", "a name has letters, digits, '-', '_', '.' and '/'", name
    elif kind == "analysis":
        if not callable(entry) or "/" not in name:
            hint = "an analysis is 'mechanism/analysis': a function of the mechanism that returns an Analysis"
            yield f"the analysis '{name}' is no such pair", hint, name
    elif kind == "theorem":
        if not isinstance(entry, resolve_name(base)):
            yield f"theorem '{name}' is {value}", f"a theorem is a {base.replace(':', '.')}", name
    elif not (isinstance(entry, type) and issubclass(entry, interface := resolve_name(base))):
        hint = f"it has to be a class that inherits from {base.replace(':', '.')}"
        yield f"{kind} '{name}' is {value}", hint, entry if isinstance(entry, type) else name
    else:
        for problem, hint in _wrong_class(kind, name, entry, interface):
            yield f"{kind} '{name}': {problem}", hint, entry


def _wrong_class(kind: str, name: str, entry: Any, interface: type) -> Iterator[tuple[str, str]]:
    """Mistakes in a class that a config or a command line can name: its name, its defaults, absent members."""
    own = entry.model_fields.get("name")
    if kind in ("problem", "algorithm", "schedule", "weight") and (own is None or own.default != name):
        text = "no field `name`" if own is None else f"the name {own.default!r}"
        yield f"the class {entry.__name__} has {text}", f'write `name: Literal["{name}"] = "{name}"` in the class'
    if kind == "budget" and (getattr(entry, "kind", None) != name or name not in entry.model_fields):
        hint = f'write `kind = "{name}"`, and call the field that a config sets `{name}`'
        yield f"the class {entry.__name__} has another kind or no such field", hint
    # with a default outside its own range results could be made and never read again
    try:
        entry()
    except ValidationError as error:
        for issue in error.errors():
            if issue["type"] != "missing":  # a field without a default is the config's to give
                default = f"the default of `{issue['loc'][0]}` is {issue['input']!r}"
                yield f"{default}: {issue['msg'].lower()}", "dpexp.core.parameters has the ranges"
    # an algorithm that simulates by itself needs nothing of what a base of ours simulates with
    simulates = getattr(entry, "simulate", _raises).__module__[:6] != "dpexp."
    bases = [base for base in (interface if simulates else entry).__mro__ if base.__module__[:6] == "dpexp."]
    declared = {member: base for base in bases for member in (*inspect.get_annotations(base), *vars(base))}
    for member, base in declared.items():
        value = inspect.getattr_static(entry, member, None)
        needed = not member.startswith("__") and member not in (*OPTIONAL, *entry.model_fields)
        if needed and (value is None or _raises(value)):
            yield f"the class {entry.__name__} has no `{member}`", f"{base.__module__}.{base.__name__} explains it"


def _raises(member: object) -> bool:
    """Whether a method or property does nothing but raise NotImplementedError."""
    function = member.fget if isinstance(member, property) else member
    return inspect.isfunction(function) and function.__code__.co_names[:1] == ("NotImplementedError",)
