"""The campaign of edits of kernels: compiled code is never taken from the disk after an edit of what it was made from.

dpexp is copied to a temporary folder. One number or operator of the copy is changed at a time, in a function that one
of three kernels calls, however indirectly. Which functions these are is written down by hand below, from the text of
the kernels; nothing of it is shared with the code that finds them. Every edit must change the key under which the
kernel is kept. Comments, docstrings and formatting of the same files must not, except in the files that define lanes:
these count as text.

Every copy is imported by a process of its own, forked from one that has imported numba and the like but not dpexp.

At last a toy run is stored, and after each of some edits `dpexp run --confirm` is asked, in a process of its own that finds
the kept kernels of the code before. It must not confirm what a whole run computes otherwise.

`python -m tests.campaigns.kernel_edits` prints the counts.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "dpexp"
ALL = "every function of the file"
CALLED: dict[str, tuple[str, ...] | str] = {
    "engine/linear/kernel.py": ("draw", "moved", "step", "keep", "segment", "remember", "_recalling"),
    "engine/lanes/streams.py": ("next_state", "unit", "fill_uniform", "fill_normal"),
    "engine/lanes/elementwise.py": ALL,
    "engine/lanes/vectors.py": ALL,
    "engine/lanes/vectormath.py": ALL,
    "problems/huber_linear.py": ("response", "score"),
    "problems/linear_predictor.py": ("mallows_weight",),
    "algorithms/heavy_ball_ldp_sgd.py": ("update",),
    "engine/softmax/steps.py": (
        "_score",
        "_add",
        "_scores",
        "_add_all",
        "_clipped_slopes",
        "_sums",
        "project",
        "_move",
        "steps",
    ),
    "engine/lanes/tiles.py": ALL,
    "engine/finite_sum/loop.py": ("move", "momentum_steps"),
    "engine/finite_sum/losses.py": ("_logistic_gradient", "dot", "sigmoid"),
}
"""file -> its functions that are called by a pass of heavy-ball LDP-SGD, a run of softmax steps or of momentum steps"""
OTHER: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.Lt: ast.LtE,
    ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def keys() -> dict[str, str]:
    """The keys of the three kernels, from the dpexp that is imported here."""
    from dpexp.algorithms.heavy_ball_ldp_sgd import HeavyBallLdpSgd
    from dpexp.engine.compiled import key_of
    from dpexp.engine.finite_sum import loop
    from dpexp.engine.finite_sum.losses import LOSSES
    from dpexp.engine.linear.kernel import compiled_segment
    from dpexp.engine.softmax import steps
    from dpexp.problems.huber_linear import HuberLinear

    one_pass = compiled_segment(HuberLinear().model().shape, HeavyBallLdpSgd().rule().source, None)
    return {
        "pass": key_of(one_pass, ()),
        "softmax": key_of(steps.steps, ()),
        "momentum": key_of(loop.momentum_steps_of(LOSSES["logistic-ridge"]), ()),
    }


def keys_of(folder: Path) -> dict[str, str]:
    """The keys that a process finds which imports dpexp from this folder."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            sys.path.insert(0, str(folder))
            importlib.invalidate_caches()
            os.write(writing, json.dumps(keys()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found: dict[str, str] = json.loads(pipe.read() or b"{}")
    os.waitpid(child, 0)
    return found


def places(tree: ast.Module, called: tuple[str, ...] | str = ALL) -> list[ast.AST]:
    """Numbers and operators inside the functions, also of those that are defined in other functions."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and (called == ALL or n.name in called)]
    assert called == ALL or {f.name for f in functions} == set(called), "a function is called otherwise now"
    inside = list({id(n): n for f in functions for s in f.body for n in ast.walk(s)}.values())
    numbers = [n for n in inside if isinstance(n, ast.Constant) and type(n.value) in (int, float)]
    binary = [n for n in inside if isinstance(n, ast.BinOp | ast.BoolOp) and type(n.op) in OTHER]
    compared = [n for n in inside if isinstance(n, ast.Compare) and type(n.ops[0]) in OTHER]
    return [*numbers, *binary, *compared]


def change(tree: ast.Module, draws: random.Random, called: tuple[str, ...] | str = ALL) -> str:
    """Change one number or operator in place; what was done, in words."""
    node = draws.choice(places(tree, called))
    where = f"line {node.lineno}"  # type: ignore[attr-defined]
    if isinstance(node, ast.Constant):
        old, node.value = node.value, node.value * 2 + 1
        return f"{where}: {old} -> {node.value}"
    if isinstance(node, ast.BinOp | ast.BoolOp):
        old = type(node.op)
        node.op = OTHER[old]()
    else:
        assert isinstance(node, ast.Compare)
        old = type(node.ops[0])
        node.ops[0] = OTHER[old]()
    return f"{where}: {old.__name__} -> {OTHER[old].__name__}"


def edit(source: str, called: tuple[str, ...] | str, draws: random.Random) -> tuple[str, str]:
    """The text with one number or operator changed, and what was done, in words."""
    tree = ast.parse(source)
    what = change(tree, draws, called)
    return ast.unparse(tree), what


def campaign(edits: int, harmless: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Edits after which a kernel kept its key, and harmless ones after which it did not."""
    draws = random.Random(seed)
    missed, alarms = [], []
    plain = [name for name in CALLED if not name.startswith("engine/lanes/")]
    with tempfile.TemporaryDirectory(prefix="dpexp-kernel-edits-") as name:
        copy = Path(name)
        shutil.copytree(PACKAGE, copy / "dpexp", ignore=shutil.ignore_patterns("__pycache__"))
        before = keys_of(copy)
        assert len(before) == 3, "the kernels cannot be imported"
        for k in range(edits + harmless):
            file = [*CALLED][k % len(CALLED)] if k < edits else plain[k % len(plain)]
            path = copy / "dpexp" / file
            original = path.read_text()
            text, what = edit(original, CALLED[file], draws) if k < edits else (ast.unparse(ast.parse(original)), "")
            path.write_text(text)
            after = keys_of(copy)
            if k < edits and after == before:
                missed.append(f"{file}, {what}")
            if k >= edits and after != before:
                alarms.append(f"{file} without comments and formatting")
            path.write_text(original)
    return missed, alarms


TOY = """\
experiment: toy
problem: {name: huber-linear, d: 5}
algorithm: {name: heavy-ball-ldp-sgd}
schedule: {eta: 0.2, alpha: [1/3, 1/2]}
privacy: {mu: [1, inf]}
run: {n: 300, replicates: 12, seed: 3, checkpoints: 4}
"""
OF_THE_TOY = [name for name in CALLED if "softmax" not in name and "finite_sum" not in name and "tiles" not in name]


def confirmations(edits: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Edits of the toy's kernel that were confirmed although a whole run has other numbers; and those that moved some."""
    draws = random.Random(seed)
    silent, moved = [], []
    with tempfile.TemporaryDirectory(prefix="dpexp-confirmed-edits-") as name:
        copy = Path(name)
        shutil.copytree(PACKAGE, copy / "dpexp", ignore=shutil.ignore_patterns("__pycache__"))
        (copy / "toy.yaml").write_text(TOY)
        environment = {**os.environ, "DPEXP_CACHE": str(copy / "kept"), "PYTHONDONTWRITEBYTECODE": "1"}

        def dpexp(*words: str) -> int:
            command = [sys.executable, "-m", "dpexp", "run", "toy.yaml", "-q", *words]
            return subprocess.run(command, cwd=copy, env=environment, capture_output=True).returncode

        def numbers(results: str) -> list[str] | None:
            path = copy / results / "toy" / "manifest.json"
            return [one["numbers"] for one in json.loads(path.read_text())["computed_from"].values()]

        assert dpexp("--results", "stored") == 0
        for k in range(edits):
            file = OF_THE_TOY[k % len(OF_THE_TOY)]
            path = copy / "dpexp" / file
            original = path.read_text()
            text, what = edit(original, CALLED[file], draws)
            path.write_text(text)
            shutil.copytree(copy / "stored", copy / "asked")
            confirmed = dpexp("--confirm", "--results", "asked") == 0
            ran = dpexp("--results", "fresh") == 0
            if not ran or numbers("fresh") != numbers("stored"):
                moved.append(what)
                silent += [f"{file}, {what}"] * confirmed
            path.write_text(original)
            shutil.rmtree(copy / "asked")
            shutil.rmtree(copy / "fresh", ignore_errors=True)
    return silent, moved


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=30)
    parser.add_argument("--harmless", type=int, default=7)
    parser.add_argument("--confirmed", type=int, default=12)
    wanted = parser.parse_args()
    sys.dont_write_bytecode = True
    for module in ("numba", "scipy.special", "pydantic", "filelock"):
        importlib.import_module(module)
    assert "dpexp" not in sys.modules
    missed, alarms = campaign(wanted.edits, wanted.harmless)
    print(f"{wanted.edits} edits of what kernels call: {len(missed)} missed")
    print(f"{wanted.harmless} files without their comments and formatting: {len(alarms)} false alarms")
    silent, moved = confirmations(wanted.confirmed)
    print(
        f"{wanted.confirmed} edits of a stored run's kernel, of which {len(moved)} moved numbers: {len(silent)} confirmed"
    )
    print("\n".join([*missed, *alarms, *silent]))
    return 1 if missed or alarms or silent else 0


if __name__ == "__main__":
    sys.exit(main())
