"""The shape of a plug-in: mistakes in its value PLUGIN, and on which line, before any of it is used."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from dpexp.plugins import Plugin
from dpexp.plugins.importing import Code

FIELDS = {
    "problems": ("dpexp.problems:PROBLEMS", "dpexp.core.parameters:Parameters"),
    "algorithms": ("dpexp.algorithms:ALGORITHMS", "dpexp.algorithms.algorithm:Algorithm"),
    "schedules": ("dpexp.algorithms.schedules:SCHEDULES", "dpexp.algorithms.schedules:Schedule"),
    "weights": ("dpexp.problems.weights:WEIGHTS", "dpexp.problems.weights:Weight"),
    "columns": ("dpexp.problems.laws:COLUMNS", "dpexp.problems.laws:ColumnKind"),
    "errors": ("dpexp.problems.laws:ERRORS", "dpexp.problems.laws:ErrorKind"),
    "budgets": ("dpexp.privacy.budgets:BUDGETS", "dpexp.privacy.budgets:Budget"),
    "mechanisms": ("dpexp.privacy.mechanisms:MECHANISMS", "dpexp.privacy.mechanisms.mechanism:Mechanism"),
    "analyses": ("dpexp.privacy.mechanisms:ANALYSES", ""),
    "theorems": ("dpexp.theory:THEOREMS", "dpexp.theory.theorem:Theorem"),
    "metrics": ("dpexp.engine.result:METRICS", ""),
}
"""by field of a Plugin: the registry to which its entries are added, and the class of the entries, or above them"""
LAWS = ("column", "error")
VALUES = ("theorem", *LAWS)  # entries that are no classes
OPTIONAL = ("law", "slope", "conditional_risk", "second_derivatives", "step_size", "estimate")  # a class may lack them
ARGUMENTS = {"weight": 2, "response": 3, "conditional_risk": 3, "score": 4, "second_derivatives": 4}  # how many


def place_of(name: str | Callable[..., Any], code: Code) -> str:
    """`file:line` of a class or function, or of the last mention of a name in a plug-in's file; else the file alone."""
    if not isinstance(name, str):
        try:
            own, (_, line) = Path(inspect.getfile(name)).resolve(), inspect.getsourcelines(name)
        except (OSError, TypeError):
            return str(code.typed)
        return f"{code.as_typed(own)}:{line}"
    # a name is in its class and in PLUGIN, which comes last and has to be changed
    lines = enumerate(code.file.read_text(encoding="utf-8").splitlines(), 1)
    places = [number for number, line in lines if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line)]
    return f"{code.typed}:{places[-1]}" if places else str(code.typed)


def complaints(plugin: Plugin) -> Iterator[tuple[str, str, str | type]]:
    """Mistakes in the shape of a plug-in, what could be done about each, and the class or name at its place."""
    for field in (entry.name for entry in fields(Plugin)):
        value, is_list = getattr(plugin, field), field not in FIELDS
        if not isinstance(value, (tuple, list) if is_list else Mapping):
            form = "(ONE, ANOTHER)" if is_list else "{'name': ...}"
            yield f"{field} is a value of type {type(value).__name__}", f"write {field}={form}", "PLUGIN"
        elif not is_list:
            for name, entry in dict(value).items():
                yield from _wrong_entry(field, name, entry)


def _wrong_entry(field: str, name: Any, entry: Any) -> Iterator[tuple[str, str, str | type]]:
    kind, base = "analysis" if field == "analyses" else field[:-1], FIELDS[field][1]
    value = f"the class {entry.__name__}" if isinstance(entry, type) else f"a value of type {type(entry).__name__}"
    signs = "_" if kind == "metric" else "._/-"  # a metric is a column
    if not isinstance(name, str) or not re.fullmatch(f"[A-Za-z0-9][A-Za-z0-9{signs}]{{0,99}}", name):
        yield f"{name!r} cannot be the name of a {kind}", f"a name has letters, digits and {' '.join(signs)}", name
    elif kind == "analysis" and not (callable(entry) and "/" in name):
        hint = "an analysis is 'mechanism/analysis': a function of the mechanism that returns an Analysis"
        yield f"the analysis '{name}' is no such pair", hint, name
    elif kind == "metric" and not (inspect.isfunction(entry) and len(inspect.signature(entry).parameters) == 2):
        hint = "a metric is a function of theta [estimators, replicates, ...] and problem"
        yield f"metric '{name}' is no function of two arguments", hint, name
    elif base:
        interface, a_class = resolve_name(base), isinstance(entry, type)
        fits = isinstance(entry, interface) if kind in VALUES else a_class and issubclass(entry, interface)
        if not fits:
            hint = f"it has to {'be a' if kind in VALUES else 'inherit from'} {base.replace(':', '.')}"
            yield f"{kind} '{name}' is {value}", hint, entry if a_class else name
        elif kind in LAWS:
            function = getattr(entry, kind)
            if not inspect.isfunction(function) or len(inspect.signature(function).parameters) != 2:
                yield f"{kind} '{name}' has no function `{kind}(z, k)`", f"{base.replace(':', '.')} explains it", name
            # functions of a law read its keys as attributes, among which are the grammar's own
            law = resolve_name(f"dpexp.problems.population:{kind.capitalize()}Law")
            keys = entry.keys if isinstance(entry.keys, Mapping) else {"keys": entry.keys}
            for key in sorted(keys.keys() & {*dir(law), "law", "times", "heteroscedastic"}):
                yield f"{kind} '{name}': its key '{key}' means something else", "give the key another name", name
        elif a_class:
            for problem, hint in _wrong_class(kind, name, entry, interface):
                yield f"{kind} '{name}': {problem}", hint, entry


def _wrong_class(kind: str, name: str, entry: Any, interface: type) -> Iterator[tuple[str, str]]:
    """Mistakes in a class that a config or a command line can name: its name, absent members."""
    own = entry.model_fields.get("name")
    if kind in ("problem", "algorithm", "schedule", "weight") and (own is None or own.default != name):
        text = "no field `name`" if own is None else f"the name {own.default!r}"
        yield f"the class {entry.__name__} has {text}", f'write `name: Literal["{name}"] = "{name}"` in the class'
    # needed is what classes of dpexp declare without a value, or by a method that raises NotImplementedError alone; an
    # algorithm that simulates by itself needs nothing of what a base of ours simulates with
    simulates = getattr(entry, "simulate", _raises).__module__[:6] != "dpexp."
    bases = [base for base in (interface if simulates else entry).__mro__ if base.__module__[:6] == "dpexp."]
    declared = {member: base for base in bases for member in (*inspect.get_annotations(base), *vars(base))}
    for member, base in declared.items():
        value = inspect.getattr_static(entry, member, None)
        needed = not member.startswith("__") and member not in (*OPTIONAL, *entry.model_fields)
        if needed and (value is None or _raises(value)):
            yield f"the class {entry.__name__} has no `{member}`", f"{base.__module__}.{base.__name__} explains it"
        function = getattr(entry, member, None) if member in ARGUMENTS else None
        if inspect.isfunction(function) and len(inspect.signature(function).parameters) != ARGUMENTS[member]:
            yield f"`{member}` takes other arguments", f"it is static; {base.__module__}.{base.__name__} explains it"


def _raises(member: object) -> bool:
    """Whether a method or property does nothing but raise NotImplementedError."""
    function = member.fget if isinstance(member, property) else member
    return inspect.isfunction(function) and function.__code__.co_names[:1] == ("NotImplementedError",)
