"""Each paper, algorithm, schedule, problem, mechanism and command is deleted in turn, and the rest still works.

`python -m tests.campaigns.deletions [MODULE...]`, some ten CPU minutes for all. Deleted are the file or folder and its
line in the registry. A module that imports what is gone when it is imported itself goes too, with its own line: the
algorithms of a problem. Of what is left every module is imported, and
results are validated, run, drawn, listed, stated, cited and reported by the commands themselves.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dpexp"
REGISTRIES = ("algorithms", "algorithms/schedules", "problems", "privacy/mechanisms", "papers")
EDITED = {
    *(f"dpexp.{registry.replace('/', '.')}" for registry in REGISTRIES),
    "dpexp.commands.cli",
    "dpexp.commands.api",
}
LEFT = {"dpexp.privacy.mechanisms.local_gaussian"}
"""the mechanism of users, which a statement tells from all others"""
HELPERS = {
    "api",
    "cli",
    "config_statement",
    "joint_releases",
    "mechanism_arguments",
    "progress",
    "selection",
    "released_model",
    "inventory",
}
"""files of `commands` that are no command, or list them all; those of one command are called after it"""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def listed() -> dict[str, tuple[str, list[str]]]:
    """What can be deleted: a module, with its registry and the names by which that lists it."""
    found: dict[str, tuple[str, list[str]]] = {}
    for registry in REGISTRIES:
        tree, room = ast.parse((PACKAGE / registry / "__init__.py").read_text()), f"dpexp.{registry.replace('/', '.')}."
        values = [v for n in ast.walk(tree) if isinstance(n, ast.Dict | ast.Tuple)
                  for v in (n.values if isinstance(n, ast.Dict) else n.elts)]  # fmt: skip
        known = {value.id for value in values if isinstance(value, ast.Name)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(room):
                names = [alias.asname or alias.name for alias in node.names]
                found |= {str(node.module): (registry, names)} if known & set(names) else {}
    found = {module: entry for module, entry in found.items() if module not in LEFT}
    for path in sorted((PACKAGE / "commands").glob("[a-z]*.py")):
        if path.stem.partition("_")[0] == path.stem and path.stem not in HELPERS:
            found[module_of(path)] = ("commands", [])
    return found


def _imports(listing: dict[str, tuple[str, list[str]]]) -> Iterator[tuple[str, str]]:
    """(who, what) of every import of the package that is carried out when a module is imported."""
    home = {
        f"dpexp.{registry.replace('/', '.')}.{name}": module
        for module, (registry, names) in listing.items()
        for name in names
    }
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                for what in (node.module, *(f"{node.module}.{name.name}" for name in node.names)):
                    yield module_of(path), home.get(what, what)


def with_what_is_built_on_it(module: str, listing: dict[str, tuple[str, list[str]]]) -> list[str]:
    """The module, and those that import it, or import one of these; registries lose a line instead."""
    imports, gone = list(_imports(listing)), [module]
    for one in gone:
        users = {who for who, what in imports if what == one or what.startswith(f"{one}.")}
        users = {".".join(user.split(".")[:3]) if user.startswith("dpexp.papers.") else user for user in users}
        gone += sorted(users - EDITED - {*gone})
    return gone


def _without(text: str, module: str, names: Sequence[str]) -> str:
    """A registry without the line that imports a module, and without its entries."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        ends = []
        if isinstance(node, ast.ImportFrom) and node.module == module:
            ends = [(node.lineno, node.end_lineno or node.lineno)]
        elif isinstance(node, ast.Dict):
            ends = [(key.lineno, value.end_lineno or value.lineno) for key, value in zip(node.keys, node.values, strict=True)
                    if key is not None and isinstance(value, ast.Name) and value.id in names]  # fmt: skip
        for first, last in ends:
            lines[first - 1 : last] = [""] * (last - first + 1)
    return re.sub("|".join(rf"\b{name}, |, {name}\b" for name in names) or "$^", "", "".join(lines))


TRIED = """
import contextlib, importlib, io, json, pkgutil, sys
wrong, (config, results, commands) = [], json.loads(sys.argv[1])
import dpexp
for one in pkgutil.walk_packages(dpexp.__path__, "dpexp."):
    if not one.name.endswith("__main__"):
        try:
            importlib.import_module(one.name)
        except Exception as error:
            wrong.append(f"import {one.name}: {error!r}")
from dpexp.commands.cli import main
for words in commands:
    sys.argv, said = ["dpexp", *words], io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
    if code not in ((0, 3) if words[0] == "claims" else (0,)):
        wrong.append(f"{' '.join(words)}: {code}: {said.getvalue().strip()[-300:]}")
print(json.dumps(wrong))
"""


def what_breaks(module: str) -> tuple[list[str], list[str]]:
    """What no longer works once a module is deleted, in words; and the commands that go with it."""
    known = listed()
    gone = with_what_is_built_on_it(module, known)
    with_it = [one.rpartition(".")[2] for one in gone if one.startswith("dpexp.commands.") and one != module]
    linear = not {"dpexp.problems.huber_linear", "dpexp.algorithms.ldp_sgd", "dpexp.algorithms.schedules.power"} & set(
        gone
    )
    name = "linear_d5" if linear else "momentum_epochs"
    config, results = str(ROOT / "configs" / f"{name}.yaml"), str(ROOT / "results")
    shown = [name, "--results", "toy"]
    commands = [
        ["list"], ["validate", "--schema"], ["validate", config], ["run", config, "--profile", "smoke", "-q", "-j", "1", *shown[1:]],
        ["plot", *shown, "--format", "png"], ["table", *shown], ["privacy", config], ["claims", "--results", results],
        ["report", "toy", "--out", "page.html"],
    ]  # fmt: skip
    commands = [words for words in commands if f"dpexp.commands.{words[0]}" not in gone]
    if module == "dpexp.commands.run":  # there is nothing to show then
        commands = [words for words in commands if "toy" not in words]
    with TemporaryDirectory(prefix="dpexp-deleted-") as folder:
        copy = Path(folder) / "dpexp"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        for one in gone:
            path = copy.parent.joinpath(*one.split("."))
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.with_suffix(".py").unlink(missing_ok=True)  # of a folder that is gone
            registry, names = known.get(one, ("", []))
            if names:
                init = copy / registry / "__init__.py"
                init.write_text(_without(init.read_text(), one, names))
        done = subprocess.run(
            [sys.executable, "-c", TRIED, json.dumps([config, results, commands])], cwd=folder, capture_output=True,
            text=True, check=False, env={**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
    if done.returncode:
        return [done.stderr[-1000:]], with_it
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found, with_it


def main() -> None:
    """Delete each, or those that are named; exit code 1 where something broke."""
    broken = 0
    for count, module in enumerate(sys.argv[1:] or listed(), 1):
        wrong, commands = what_breaks(module)
        broken += bool(wrong)
        without = f", without {', '.join(commands)}" if commands else ""
        print(f"{count}. {module}: {'; '.join(wrong) or 'the rest works'}{without}", flush=True)
    print(f"{count} deleted in turn, {broken} of them broke something else")
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
