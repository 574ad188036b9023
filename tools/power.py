"""What the tests notice: one-line mutants of dpexp, drawn by a seed, each held against the tests of its own room.

    python -m tools.power draw TREE LIST.csv SEED         # TREE is a clone
    python -m tools.power trace TREE ROOM                 # which tests reach which lines, by `coverage`
    python -m tools.power run TREE LIST.csv OUT.csv

Rule a: in each of ten rooms, three arithmetic or comparison operators. Rule b: in accounting, engine/linear, inference
and store, also numbers (n + 1), `in`, `is`, `and` and `not`; never annotations, messages and `raise`. Each meets the
tests of its room that reach its lines where the room is traced, slow ones too; otherwise (compiled code is not traced)
all of the room, those files first that name its module. A run beyond its time counts as undecided.
"""

import ast
import csv
import itertools
import os
import random
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

LIMIT_S = 240
"""of CPU time, for one mutant"""
REACH = "build/reach"
ROOMS = ("core", "engine", "theory", "data", "problems", "accounting", "privacy", "inference", "algorithms", "config")
SHARES = {"accounting": 8, "engine/linear": 8, "inference": 7, "store": 7}
PAIRS = "Add Sub, Sub Add, Mult Div, Div Mult, Pow Mult, FloorDiv Mult, Mod Mult"
ORDERS = "Lt LtE, LtE Lt, Gt GtE, GtE Gt, Eq NotEq, NotEq Eq"
OTHER = {getattr(ast, a): getattr(ast, b) for a, b in map(str.split, f"{PAIRS}, {ORDERS}".split(", "))}
WIDE = OTHER | {ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
WIDE |= {ast.And: ast.Or, ast.Or: ast.And}
FIELDS = ("rule", "file", "function", "before", "after", "nth")
TEXT, SHAPES = (ast.JoinedStr, ast.Raise), (ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.Constant)


def altered(node: ast.expr, wide: bool) -> str | None:
    """The expression with its operator exchanged, or None if it is no target of the rule."""
    if any(isinstance(part, TEXT) or isinstance(getattr(part, "value", None), str) for part in ast.walk(node)):
        return None
    exchange, copy = WIDE if wide else OTHER, ast.parse(ast.unparse(node), mode="eval").body
    if isinstance(copy, ast.BinOp | ast.BoolOp) and type(copy.op) in exchange:
        copy.op = exchange[type(copy.op)]()
    elif isinstance(copy, ast.Compare) and len(copy.ops) == 1 and type(copy.ops[0]) in exchange:
        copy.ops = [exchange[type(copy.ops[0])]()]
    elif wide and isinstance(copy, ast.UnaryOp) and isinstance(copy.op, ast.Not):
        copy = copy.operand
    elif wide and isinstance(copy, ast.Constant) and isinstance(copy.value, bool | int | float):
        copy.value = not copy.value if isinstance(copy.value, bool) else copy.value + 1
    else:
        return None
    return ast.unparse(copy)


def targets(tree: Path, folder: str, wide: bool):
    """Every mutant of a folder, with the place of its expression: (row, path, node)."""
    for path in sorted((tree / "dpexp" / folder).rglob("*.py")):
        counts: dict[tuple[str, str], int] = {}

        def visit(node, function, path=path, counts=counts):
            for name, value in ast.iter_fields(node):
                for child in value if isinstance(value, list) else [value]:
                    if not isinstance(child, ast.AST) or isinstance(child, TEXT) or name in ("annotation", "returns"):
                        continue
                    inner = isinstance(child, ast.FunctionDef | ast.ClassDef)
                    place = f"{function}.{child.name}".strip(".") if inner else function
                    if isinstance(child, SHAPES) and place and (after := altered(child, wide)):
                        before = ast.unparse(child)
                        nth = counts[place, before] = counts.get((place, before), -1) + 1
                        file = path.relative_to(tree).as_posix()
                        yield dict(zip(FIELDS, ("ab"[wide], file, place, before, after, nth), strict=True)), path, child
                    yield from visit(child, place)

        yield from visit(ast.parse(path.read_text()), "")


def draw(tree: Path, out: str, seed: str):
    rng, rows = random.Random(int(seed)), []
    for folder, count, wide in [(room, 3, False) for room in ROOMS] + [(*share, True) for share in SHARES.items()]:
        rows += [row for row, _, _ in rng.sample(list(targets(tree, folder, wide)), count)]
    rng.shuffle(rows)  # so that a run that is cut short has some of each
    with Path(out).open("w", newline="") as file:
        csv.DictWriter(file, FIELDS).writerows([dict(zip(FIELDS, FIELDS, strict=True)), *rows])


def pytest_of(tree: Path, *before: str) -> list[str]:
    return [sys.executable, *before, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "0"]


def trace(tree: Path, room: str):
    """Write the lines that each test function of a room reaches."""
    (tree / REACH).mkdir(parents=True, exist_ok=True)
    (tree / REACH / "rc").write_text("[run]\nsource = dpexp\ndynamic_context = test_function\n")
    traced = ("-m", "coverage", "run", f"--rcfile={REACH}/rc", f"--data-file={REACH}/{room}")
    subprocess.run([*pytest_of(tree, *traced), f"tests/{room}"], cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)})


def tests_of(tree: Path, room: str, path: Path, lines: range) -> list[str]:
    """What is tried of a room against a mutant in these lines, the likeliest first."""
    reached: set[str] = set()
    if (tree / REACH / room).exists():
        from coverage import CoverageData

        data = CoverageData(str(tree / REACH / room))
        data.read()
        by_line = data.contexts_by_lineno(str(path))
        reached = {name for line in lines for name in by_line.get(line, ()) if name}
    named = re.compile(rf"\b{path.stem}\b")
    files = sorted((tree / "tests" / room).rglob("test_*.py"), key=lambda file: not named.search(file.read_text()))
    if not reached:
        return list(map(str, files))
    places = [(str(f), ".".join(f.relative_to(tree).with_suffix("").parts) + ".") for f in files]
    return [
        f"{f}::{name[len(m) :].replace('.', '::')}" for f, m in places for name in sorted(reached) if name.startswith(m)
    ]


def limited():
    """End the process, and what it starts, beyond its CPU time: other work on the machine decides nothing."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))


def against_tests(tree: Path, row: dict) -> dict:
    """One mutant's verdict: caught (and by what), not caught, undecided (the clock), or gone from the code."""
    room = row["file"].split("/")[1]
    same = [t for t in targets(tree, room, row["rule"] == "b") if all(str(t[0][f]) == row[f] for f in FIELDS)]
    if not same:
        return {"verdict": "gone", "by": "", "seconds": 0}
    path, node = same[0][1:]
    text = path.read_bytes()
    ends = [0, *itertools.accumulate(map(len, text.splitlines(keepends=True)))]
    start, end = ends[node.lineno - 1] + node.col_offset, ends[node.end_lineno - 1] + node.end_col_offset
    command = [*pytest_of(tree), "-x", *tests_of(tree, room, path, range(node.lineno, node.end_lineno + 1))]
    path.write_bytes(text[:start] + b"(" + row["after"].encode() + b")" + text[end:])
    began, env = time.monotonic(), os.environ | {"PYTHONPATH": str(tree)}
    try:
        done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, preexec_fn=limited)
        killers = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
        verdict = "undecided" if done.returncode < 0 else "caught" if done.returncode else "not caught"
    finally:
        path.write_bytes(text)
    return {"verdict": verdict, "by": "".join(killers[:1]), "seconds": round(time.monotonic() - began)}


def run(tree: Path, rows: str, out: str):
    before = Path(out).read_text() if Path(out).exists() else ""
    tried = [[row[f] for f in FIELDS] for row in csv.DictReader(before.splitlines())]
    with Path(out).open("a", newline="") as file:
        writer = csv.DictWriter(file, (*FIELDS, "verdict", "by", "seconds"))
        if not tried:
            writer.writeheader()
        for row in (
            row for row in csv.DictReader(Path(rows).read_text().splitlines()) if list(row.values()) not in tried
        ):
            writer.writerow(row | against_tests(tree, row))
            file.flush()


if __name__ == "__main__":
    command, tree, *rest = sys.argv[1:]
    {"draw": draw, "trace": trace, "run": run}[command](Path(tree).resolve(), *rest)
