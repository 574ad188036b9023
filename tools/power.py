"""What the tests notice: one-line mutants of dpexp, drawn by a seed, each held against the tests of its own room.

    python -m tools.power draw TREE LIST.csv; python -m tools.power run TREE LIST.csv OUT.csv  # TREE is a clone

Rule a: in each of ten rooms, three arithmetic or comparison operators. Rule b: in accounting, engine/linear, inference
and store, also numbers (n + 1), `in`, `is`, `and` and `not`; never annotations, messages and `raise`. Each meets
the test files of its room that name its module, or all; a run beyond its time counts as undecided.
"""

import ast
import csv
import itertools
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

SEED = 20261129
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


def draw(tree: Path, out: Path):
    rng, rows = random.Random(SEED), []
    for folder, count, wide in [(room, 3, False) for room in ROOMS] + [(*share, True) for share in SHARES.items()]:
        rows += [row for row, _, _ in rng.sample(list(targets(tree, folder, wide)), count)]
    rng.shuffle(rows)  # so that a run that is cut short has some of each
    csv.DictWriter(out.open("w", newline=""), FIELDS).writerows([dict(zip(FIELDS, FIELDS, strict=True)), *rows])


def against_tests(tree: Path, row: dict, limit: float) -> dict:
    """One mutant's verdict: caught (and by what), not caught, undecided (the clock), or gone from the code."""
    room = row["file"].split("/")[1]
    same = [t for t in targets(tree, room, row["rule"] == "b") if all(str(t[0][f]) == row[f] for f in FIELDS)]
    if not same:
        return {"verdict": "gone", "by": "", "seconds": 0}
    path, node = same[0][1:]
    text, module = path.read_bytes(), path.stem
    ends = [0, *itertools.accumulate(map(len, text.splitlines(keepends=True)))]
    start, end = ends[node.lineno - 1] + node.col_offset, ends[node.end_lineno - 1] + node.end_col_offset
    every = sorted((tree / "tests" / room).rglob("test_*.py"))
    files = [file for file in every if re.search(rf"\b{module}\b", file.read_text())] or every
    command = f"{sys.executable} -m pytest -x -q -p no:cacheprovider --timeout 0 -m".split()
    path.write_bytes(text[:start] + b"(" + row["after"].encode() + b")" + text[end:])
    began, env = time.monotonic(), {**os.environ, "PYTHONPATH": str(tree)}
    try:
        command += ["not slow", *files]
        done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, timeout=limit)
        killers = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
        verdict, by = "caught" if done.returncode else "not caught", "".join(killers[:1])
    except subprocess.TimeoutExpired:
        verdict, by = "undecided", ""
    finally:
        path.write_bytes(text)
    return {"verdict": verdict, "by": by, "seconds": round(time.monotonic() - began)}


def run(tree: Path, rows: Path, out: Path, limit: float = 300):
    tried = [[row[f] for f in FIELDS] for row in csv.DictReader(out.open())] if out.exists() else []
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, (*FIELDS, "verdict", "by", "seconds"))
        if not tried:
            writer.writeheader()
        for row in (row for row in csv.DictReader(rows.open()) if list(row.values()) not in tried):
            writer.writerow(row | against_tests(tree, row, limit))
            file.flush()


if __name__ == "__main__":
    {"draw": draw, "run": run}[sys.argv[1]](*map(Path, sys.argv[2:]))
