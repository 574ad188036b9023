"""The campaign of edits of plug-ins: every edit of a plug-in's file or of its helpers is noticed, harmless ones are not.

A plug-in with helpers, a package and relative imports is written to a temporary folder. Numbers, operators and texts of any
of its files are changed, and its data file; every change must be seen in the fingerprint of a cell that uses the plug-in.
Comments, docstrings, formatting, files that it does not import and the place of the folder are changed too; none of
these may be seen.

`python -m tests.campaigns.plugin_edits` prints the counts.
"""

from __future__ import annotations

import argparse
import ast
import random
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from dpexp.config.cells import Cell
from dpexp.config.experiment_file import load_experiment
from dpexp.plugins import loaded as plugin
from dpexp.plugins import loading as plugins
from dpexp.plugins import observed
from dpexp.store.fingerprint import code_of
from dpexp.store.source_code import without_text
from tests.campaigns.edits import harmless
from tests.campaigns.kernel_edits import change, places
from tests.plugin_lab import write_lab

UNUSED = {
    "notes.py": "X = 1\n",
    "inner/old.py": "Y = 2\n",
    "README.md": "Notes.\n",
    "test_lab.py": "from lab import PLUGIN\n",
}
"""files that lie in the folder and are not imported"""


def write(folder: Path) -> Path:
    """The plug-in, with a data file that a helper reads and with files beside it that it does not use."""
    file = write_lab(folder)
    scores = folder / "scores.py"
    reads = "from pathlib import Path\n\nTABLE = Path(__file__).with_name('numbers.csv').read_text()\n"
    scores.write_text(f"{scores.read_text()}\n\n{reads}")
    (folder / "numbers.csv").write_text("1,2\n")
    for name, text in UNUSED.items():
        (folder / name).write_text(text)
    return file


def code_at(folder: Path) -> dict[str, str]:
    """The fingerprint of the first cell of the plug-in's config, as a process that begins now would find it."""
    with plugins.using(folder / "lab.py"):
        code = code_of(load_experiment(folder / "lab.yaml").cells[0])
        return code | observed.found(code)


def again(cell: Cell, before: dict[str, str]) -> dict[str, str]:
    """The fingerprint with the plug-in's files read anew; those of dpexp, which nobody edits here, are remembered."""
    plugin.LOADED["lab.py"] = replace(plugin.LOADED["lab.py"], read_at=time.time_ns())
    return code_of(cell) | observed.again(before)


def edit(path: Path, draws: random.Random) -> str:
    """Change a number, an operator or a text of a file; what was done, in words."""
    if path.suffix != ".py":
        path.write_text(path.read_text() + "3,4\n")
        return "a line more"
    tree = ast.parse(path.read_text())
    texts = [n for n in ast.walk(without_text(tree)) if isinstance(n, ast.Constant) and type(n.value) is str]
    outside = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) in (int, float)]
    if places(tree) and draws.random() < 0.6:
        what = change(tree, draws)
    elif outside and draws.random() < 0.5:
        node = draws.choice(outside)
        what = f"line {node.lineno}: {node.value} -> {node.value + 1}"
        node.value += 1
    else:
        tree.body.append(ast.parse(f"EXTRA_{draws.randrange(10**6)} = {len(texts)}").body[0])
        what = "an assignment more"
    path.write_text(ast.unparse(tree))
    return what


def campaign(edits: int, harmless_edits: int, seed: int = 0) -> tuple[list[str], list[str], int]:
    """Edits that were missed, harmless edits that were taken for changes, and how many files were edited."""
    draws = random.Random(seed)
    missed, alarms, touched = [], [], set()
    with tempfile.TemporaryDirectory(prefix="dpexp-plugin-edits-") as name:
        folder = Path(name, "lab")
        write(folder)
        before = code_at(folder)
        with plugins.using(folder / "lab.py"):
            cell = load_experiment(folder / "lab.yaml").cells[0]
            used = sorted(
                p for p in folder.rglob("*") if p.suffix in (".py", ".csv") and _relative(p, folder) not in UNUSED
            )
            used = [p for p in used if p.stat().st_size]
            for _ in range(edits):
                path = draws.choice(used)
                original = path.read_text()
                what = f"{_relative(path, folder)}, {edit(path, draws)}"
                touched.add(path)
                if again(cell, before) == before:
                    missed.append(what)
                path.write_text(original)
            for k in range(harmless_edits):
                path = (
                    folder / draws.choice(sorted(UNUSED))
                    if k % 5 == 4
                    else draws.choice([p for p in used if p.suffix == ".py"])
                )
                original = path.read_text()
                text, what = (original + "# more\nZ = 3\n", "not imported") if k % 5 == 4 else harmless(original, draws)
                path.write_text(text)
                if again(cell, before) != before:
                    alarms.append(f"{_relative(path, folder)}, {what}")
                path.write_text(original)
        elsewhere = Path(name, "somewhere", "else")
        shutil.copytree(folder, elsewhere)
        if code_at(elsewhere) != before:
            alarms.append("the folder lies elsewhere")
    return missed, alarms, len(touched)


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=50)
    parser.add_argument("--harmless", type=int, default=50)
    wanted = parser.parse_args()
    missed, alarms, touched = campaign(wanted.edits, wanted.harmless)
    print(f"{wanted.edits} edits of a plug-in and its helpers, in {touched} files: {len(missed)} missed")
    print(
        f"{wanted.harmless} edits of comments, docstrings, formatting and files that are not imported, "
        f"and the folder moved: {len(alarms)} false alarms"
    )
    print("\n".join([*missed, *alarms]))
    return 1 if missed or alarms else 0


if __name__ == "__main__":
    sys.exit(main())
