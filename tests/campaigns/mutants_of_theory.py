"""Mutants of theory: constants times 1.2, exponents 0.05 off, terms left out, in every function of `dpexp/theory`.

A mutant is put into the functions that are already loaded, in a process of its own, so that everything that holds a
reference to them has the wrong one. Claims that call the function are settled from stored results and compared with
what they said before; then the fast tests of theory run until one fails.
"""

from __future__ import annotations

import ast
import copy
import functools
import gc
import hashlib
import importlib
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from dpexp.engine.compiled import folder
from dpexp.reporting.claim import Claim
from tests.campaigns.altered_runs import AlteredEvidence, Stored
from tests.campaigns.equivalent_mutants import THEORY as EQUIVALENT
from tests.campaigns.mutants_of_code import ROOT, imports
from tests.campaigns.mutants_of_evidence import Said, asked
from tests.campaigns.places_of_mutants import module_name

LIMIT_S = 120.0
KINDS = ("constant x 1.2", "exponent + 0.05", "exponent - 0.05", "left term dropped", "right term dropped")
SLOW_TO_FORGET = ("_curvature", "_hessian_lipschitz")
"""caches of quadratures, which theory has no part in"""


class Mutant(NamedTuple):
    path: str
    function: str
    """qualified name"""
    kind: str
    index: int
    """which of the places of this kind in the function"""
    line: int
    becomes: str

    @property
    def id(self) -> str:
        return hashlib.sha256(repr(self[:4] + self[5:]).encode()).hexdigest()[:10]


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions of a module and methods of its classes, by qualified name."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{n.name}", n) for n in node.body if isinstance(n, ast.FunctionDef))


def spots(function: ast.FunctionDef, kind: str) -> list[ast.AST]:
    """Places of a kind in a function's body. None in indices, messages, defaults of decorators or conditions on types."""
    powers, skipped = set(), set()
    body = [node for statement in function.body for node in ast.walk(statement)]
    for node in body:
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
            skipped |= {id(inner) for inner in ast.walk(node)}
        elif isinstance(node, ast.Subscript):
            skipped |= {id(inner) for inner in ast.walk(node.slice)}
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            powers |= {id(inner) for inner in ast.walk(node.right)}
    nodes = [node for node in body if id(node) not in skipped]
    if kind.startswith("constant"):
        return [
            n
            for n in nodes
            if isinstance(n, ast.Constant) and type(n.value) in (int, float) and n.value and id(n) not in powers
        ]
    if kind.startswith("exponent"):
        return [n for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow)]
    return [n for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add | ast.Sub)]


def change(node: ast.AST, kind: str) -> ast.AST:
    """The node, changed in place."""
    if isinstance(node, ast.Constant):
        node.value = node.value * 1.2  # type: ignore[operator]
        return node
    assert isinstance(node, ast.BinOp)
    if kind.startswith("exponent"):
        node.right = ast.BinOp(node.right, ast.Add(), ast.Constant(0.05 if "+" in kind else -0.05))
    elif kind.startswith("left"):
        node.left = ast.Constant(0)
    else:
        node.right = ast.Constant(0)
    return node


def drawn(count: int, seed: int = 0, root: Path = ROOT) -> list[Mutant]:
    """Mutants in an order in which every function has one of a kind before any has a second."""
    draws, ranked = random.Random(seed), []
    for path in sorted((root / "dpexp" / "theory").rglob("*.py")):
        for name, function in functions(ast.parse(path.read_bytes())):
            for kind in KINDS:
                found = spots(function, kind)
                for rank, index in enumerate(draws.sample(range(len(found)), len(found))):
                    becomes = ast.unparse(change(copy.deepcopy(found[index]), kind))[:100]
                    line = found[index].lineno  # type: ignore[attr-defined]
                    mutant = Mutant(path.relative_to(root).as_posix(), name, kind, index, line, becomes)
                    ranked.append((rank, draws.random(), mutant))
    return [mutant for _, _, mutant in sorted(ranked, key=lambda entry: entry[:2])][:count]


# --- putting a mutant in place ----------------------------------------------------------------------------------


def codes(code: CodeType, prefix: str = "") -> Iterator[tuple[str, CodeType]]:
    """Code objects of functions of a module and of methods of its classes, by qualified name."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield prefix + constant.co_name, constant
            yield from codes(constant, prefix + constant.co_name + ".")


def loaded(module: str, function: str) -> FunctionType:
    """The function of a loaded module, below its caches and properties."""
    found: Any = importlib.import_module(module)
    for part in function.split("."):
        found = vars(found)[part]
    for _ in range(3):
        found = getattr(
            found, "__wrapped__", getattr(found, "fget", getattr(found, "func", getattr(found, "__func__", found)))
        )
    assert isinstance(found, FunctionType), f"{module}.{function} is no function"
    return found


def put(mutant: Mutant, root: Path = ROOT) -> None:
    """Change the function that is loaded, and forget what was computed with the old one."""
    path = root / mutant.path
    tree = ast.parse(path.read_bytes())
    change(spots(dict(functions(tree))[mutant.function], mutant.kind)[mutant.index], mutant.kind)
    code = dict(codes(compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)))[mutant.function]
    loaded(module_name(path, root), mutant.function).__code__ = code
    if mutant.function == "_kernel":
        os.environ["DPEXP_CACHE"] = (
            "off"  # kept kernels are known by the text of their file, which is not that of the mutant
        )
        folder.cache_clear()
    forget()


def forget() -> None:
    """Empty every cache of what theory was asked, but for quadratures."""
    for thing in gc.get_objects():
        if isinstance(thing, functools._lru_cache_wrapper):
            module = getattr(thing, "__module__", "") or ""
            if module.startswith(("dpexp.theory", "dpexp.papers")) and thing.__name__ not in SLOW_TO_FORGET:
                thing.cache_clear()


def callers(stored: Stored, claims: Sequence[Claim]) -> tuple[dict[str, Said], dict[tuple[str, str], list[str]]]:
    """What claims say, and which of them call each function of theory."""
    before, found = {}, {}
    theory = str(ROOT / "dpexp" / "theory")
    for claim in claims:
        seen: set[tuple[str, str]] = set()

        def look(frame: Any, event: str, argument: Any, seen: set[tuple[str, str]] = seen) -> None:
            if event == "call" and frame.f_code.co_filename.startswith(theory):
                seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))

        forget()
        sys.setprofile(look)
        try:
            before[claim.id] = asked(claim, AlteredEvidence(stored))
        finally:
            sys.setprofile(None)
        for place in seen:
            found.setdefault((Path(place[0]).relative_to(ROOT).as_posix(), place[1]), []).append(claim.id)
    return before, found


def files_about(module: str, root: Path = ROOT) -> list[str]:
    """Test files of theory, those that import the module first."""
    files = sorted((root / "tests").glob("test_theory*.py"))
    more = [
        p
        for p in sorted((root / "tests").glob("test_*.py"))
        if p not in files and any(name.startswith(module) for name in imports(p))
    ]
    files.sort(key=lambda p: not any(name.startswith(module) for name in imports(p)))
    return [p.relative_to(root).as_posix() for p in [*files, *more]]


def outcome(
    mutant: Mutant, stored: Stored, claims: Sequence[Claim], before: dict[str, Said], log: Path
) -> dict[str, Any]:
    """What notices a mutant, found in a process of its own."""
    start = os.times()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reader)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        put(mutant)
        verdicts, states = [], []
        for claim in claims:
            after = asked(claim, AlteredEvidence(stored))
            if after.verdict != before[claim.id].verdict:
                verdicts.append(claim.id)
                break  # one that notices is enough
            if after != before[claim.id]:
                states.append(claim.id)
        os.write(writer, json.dumps({"claims": verdicts, "states": states}).encode() + b"\n")
        import pytest

        code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", "-m", "not slow",
                            *files_about(module_name(ROOT / mutant.path, ROOT))])  # fmt: skip
        os.write(writer, json.dumps({"tests": int(code)}).encode() + b"\n")
        os._exit(0)
    os.close(writer)
    end = time.monotonic() + LIMIT_S
    while not (ended := os.waitpid(child, os.WNOHANG)[0]) and time.monotonic() < end:
        time.sleep(0.05)
    if not ended:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        said = {key: value for line in pipe.read().splitlines() for key, value in json.loads(line).items()}
    by = next(
        (line for line in log.read_text(errors="replace").splitlines() if line.startswith(("FAILED ", "ERROR "))), ""
    )
    cpu = os.times()
    return {
        "id": mutant.id, "path": mutant.path, "function": mutant.function, "kind": mutant.kind, "line": mutant.line,
        "becomes": mutant.becomes, "claims": said.get("claims", []), "states": said.get("states", []),
        "tests": said.get("tests", -1) not in (0, 5), "by": by[:150] if ended else "never ends",
        "cpu_s": round(cpu.children_user + cpu.children_system - start.children_user - start.children_system, 1),
    }  # fmt: skip


def campaign(
    mutants: Sequence[Mutant],
    stored: Stored,
    claims: Sequence[Claim],
    outcomes: Path,
    cpu_minutes: float,
    log: Callable[[str], object],
) -> list[dict[str, Any]]:
    """Outcomes of all mutants that were tried, now or before."""
    known = {}
    if outcomes.exists():
        known = {found["id"]: found for found in map(json.loads, outcomes.read_text().splitlines())}
    spent, by_id = 0.0, {claim.id: claim for claim in claims}
    todo = [mutant for mutant in mutants if mutant.id not in known]
    before, called = callers(stored, claims) if todo else ({}, {})
    for mutant in todo:
        if spent > 60 * cpu_minutes:
            log(f"stopped after {spent / 60:.1f} CPU minutes; the same command goes on from here")
            break
        concerned = [by_id[name] for name in called.get((mutant.path, mutant.function), [])]
        found = outcome(mutant, stored, concerned, before, outcomes.with_suffix(".log"))
        found["asked"] = len(concerned)
        known[mutant.id] = found
        spent += found["cpu_s"]
        with outcomes.open("a") as file:
            file.write(json.dumps(found) + "\n")
        log(f"{'tests' if found['tests'] else '':6}{'claims' if found['claims'] else '':7} {found['cpu_s']:5.1f} s  {found['path']} "
            f"{found['function']}: {found['kind']}: {found['becomes']}   {found['by'][:80]} {found['claims']}")  # fmt: skip
    ids = {mutant.id for mutant in mutants}
    return [found for id, found in known.items() if id in ids]


def explained(found: dict[str, Any]) -> str:
    """Why nothing can notice a mutant, where that is known."""
    return EQUIVALENT.get((found["path"], found["function"], found["becomes"]), "")


def table(found: Sequence[dict[str, Any]]) -> str:
    """Counts by kind, and what noticed."""
    rows = [f"{'kind':20} mutants  tests  claims  neither  (that a claim computes with: of them, claims notice)"]
    for kind in [*KINDS, "all"]:
        mine = [f for f in found if kind in (f["kind"], "all")]
        counts = Counter((f["tests"], bool(f["claims"])) for f in mine)
        used = [f for f in mine if f["asked"]]
        rows.append(
            f"{kind:20} {len(mine):7}  {counts[True, True] + counts[True, False]:5}  {counts[True, True] + counts[False, True]:6}"
            f"  {counts[False, False]:7}  ({len(used)}: {sum(bool(f['claims']) for f in used)})"
        )
    return "\n".join(rows)
