"""What the tests notice: one-line mutants of dpexp, drawn by a seed, each held against the tests of its own room.

    python -m tools.power draw TREE LIST.csv         # 3 of each numerical room, and 30 by the operators of cosmic-ray
    python -m tools.power run TREE LIST.csv OUT.csv  # TREE is a clone, whose files are altered; rows in OUT are kept

(a) The first rule: in each of ten rooms, three arithmetic or comparison operators. (b) The second: in accounting,
engine/linear, inference and store, also numbers (n + 1), `and`/`or`, `not` and branches. Annotations, messages and
`raise` are left out. (c) A mutant is named by its file, function and expression, so that it is met again after an edit.
(d) Files that import the mutated module are tried first; a run that passes its time counts as undecided.
"""

from __future__ import annotations

import ast
import csv
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
OTHER = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
BY_COSMIC_RAY = (ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.And, ast.Or)
FIELDS = ("rule", "file", "function", "before", "after", "nth")
TEXT = (ast.JoinedStr, ast.Raise)


def altered(node: ast.expr, wide: bool) -> str | None:
    """The expression with its operator exchanged, or None if it is no target of the rule."""
    if not isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare | ast.UnaryOp | ast.Constant):
        return None
    if any(isinstance(part, TEXT) or isinstance(getattr(part, "value", None), str) for part in ast.walk(node)):
        return None
    copy = ast.parse(ast.unparse(node), mode="eval").body
    if isinstance(copy, ast.BinOp | ast.BoolOp) and type(copy.op) in OTHER:
        copy.op = OTHER[type(copy.op)]()
    elif isinstance(copy, ast.Compare) and len(copy.ops) == 1 and type(copy.ops[0]) in OTHER:
        copy.ops = [OTHER[type(copy.ops[0])]()]
    elif wide and isinstance(copy, ast.UnaryOp) and isinstance(copy.op, ast.Not):
        copy = copy.operand
    elif wide and isinstance(copy, ast.Constant) and type(copy.value) in (int, float):
        copy.value += 1
    elif wide and isinstance(copy, ast.Constant) and isinstance(copy.value, bool):
        copy.value = not copy.value
    else:
        return None
    operator = getattr(node, "op", None) or (node.ops[0] if isinstance(node, ast.Compare) else None)
    return None if not wide and isinstance(operator, BY_COSMIC_RAY) else ast.unparse(copy)


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
                    if isinstance(child, ast.expr) and place and (after := altered(child, wide)):
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
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


def against_tests(tree: Path, row: dict, limit: float) -> dict:
    """One mutant's verdict: caught (and by what), not caught, undecided (the clock), or gone from the code."""
    room = row["file"].split("/")[1]
    same = [t for t in targets(tree, room, row["rule"] == "b") if all(str(t[0][f]) == row[f] for f in FIELDS)]
    if not same:
        return {"verdict": "gone", "by": "", "seconds": 0}
    _, path, node = same[0]
    text, module = path.read_bytes(), path.stem
    lines = text.splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    files = sorted(
        (tree / "tests" / room).rglob("test_*.py"),
        key=lambda f: (not re.search(rf"\b{module}\b", f.read_text()), f.name),
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow",
        "--timeout",
        "150",
        *map(str, files),
    ]
    path.write_bytes(text[:start] + b"(" + row["after"].encode() + b")" + text[end:])
    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            capture_output=True,
            text=True,
            timeout=limit,
        )
        killer = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
        verdict = {0: "not caught", 1: "caught", 2: "caught", 3: "caught"}.get(
            done.returncode, f"exit {done.returncode}"
        )
        by = killer[1] if killer else ("" if done.returncode == 0 else (done.stdout + done.stderr)[-200:])
    except subprocess.TimeoutExpired:
        verdict, by = "undecided", ""
    finally:
        path.write_bytes(text)
    return {"verdict": verdict, "by": by, "seconds": round(time.monotonic() - began)}


def run(tree: Path, rows: Path, out: Path, limit: float = 300):
    known = {tuple(r[f] for f in FIELDS) for r in csv.DictReader(out.open())} if out.exists() else set()
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, (*FIELDS, "verdict", "by", "seconds"))
        if not known:
            writer.writeheader()
        for row in csv.DictReader(rows.open()):
            if tuple(row[f] for f in FIELDS) not in known:
                writer.writerow(row | against_tests(tree, row, limit))
                file.flush()


if __name__ == "__main__":
    {"draw": draw, "run": run}[sys.argv[1]](*map(Path, sys.argv[2:]))
