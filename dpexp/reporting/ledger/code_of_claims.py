"""What code a verdict comes from: the modules that a claim's check runs through, by the store's fingerprints.

It starts where the check is made, where the functions that it calls are, and where a check is carried out.
All that these import counts, as it does for a cell.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from dpexp.plugins.loaded import LOADED
from dpexp.reporting.claim import Claim
from dpexp.store.fingerprint import REGISTRIES, closure, modules_named, modules_of

SETTLING = "dpexp.reporting.ledger.settling"
"""what carries every check out"""
READING = frozenset({"dpexp.reporting.evidence"})
"""what reads stored results: it does not count for a claim that declares none, since `Evidence.only` gives it none"""
PAPERS = "dpexp.papers"


def code_of_claim(claim: Claim) -> dict[str, str]:
    """Hashes of the modules and shipped data that a claim's verdict comes from, by name, sorted."""
    asked = (claim.check, *(hypothesis.broken for hypothesis in claim.hypotheses))
    modules = {SETTLING, *_written_in(claim), *(module for one in asked for module in modules_behind(one))}
    return closure(tuple(sorted(modules)), leave_out=frozenset() if claim.experiments else READING)


def _written_in(claim: Claim) -> Iterator[str]:
    """Where the check of a claim is made, with the numbers that it is made from: of ours the modules that list it.

    A claim of a plug-in counts with the plug-in's file. Its words, which no verdict comes from, are no code.
    """
    for loaded in LOADED.values():
        lists = (loaded.plugin.claims, *(paper.claims for paper in loaded.plugin.papers))
        if any(one is claim for some in lists for one in some):
            yield loaded.key(loaded.inside)
            return
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{PAPERS}.") and name not in REGISTRIES and claim.id in vars(module).get("CHECKS", ()):
            yield name


def modules_behind(value: object) -> set[str]:
    """The modules of every function and class that can be reached from a value: what it was made from counts too."""
    found: set[str] = set()
    _collect(value, found, set())
    return found


def _collect(value: Any, found: set[str], seen: set[int]) -> None:
    if id(value) in seen:
        return
    seen.add(id(value))
    inside: Iterable[Any] = ()
    if isinstance(value, partial):
        inside = (value.func, value.args, value.keywords)
    elif isinstance(value, MethodType):
        inside = (value.__self__, value.__func__)
    elif isinstance(value, FunctionType):
        found.update(_followed(modules_named(value.__module__)))
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        inside = (cells, value.__defaults__, value.__kwdefaults__)
    elif isinstance(value, dict):
        inside = (*value.keys(), *value.values())
    elif isinstance(value, tuple | list | set | frozenset):
        inside = value
    elif isinstance(value, type):
        found.update(_followed(modules_named(value.__module__)))
    else:
        found.update(_followed(modules_of(value)))
        if is_dataclass(value):
            inside = [vars(value)[field.name] for field in fields(value) if field.name in vars(value)]
    for one in inside:
        _collect(one, found, seen)


def _followed(modules: Iterable[str]) -> Iterator[str]:
    """Those of dpexp and of plug-ins: the versions of libraries are recorded with the results."""
    return (name for name in modules if name.split(".")[0] == "dpexp" or ":" in name)
