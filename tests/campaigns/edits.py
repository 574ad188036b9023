"""The campaign of edits: what a cell uses is noticed when it changes, and nothing else is.

Random constants and operators are changed in modules whose functions ran for a cell (the profiler says which, not the fingerprint).
Where they ran in the simulation, the edit must change the fingerprint of the simulation; where they ran for its row or for what
it receives, that of the row, which has both values computed again. Comments, docstrings, formatting and unrelated
modules are changed too; none of these may.

`python -m tests.campaigns.edits` prints the counts.
"""

from __future__ import annotations

import argparse
import ast
import random
import shutil
import sys
import tempfile
from pathlib import Path

from dpexp.store import fingerprint
from dpexp.store.fingerprint import ROOT, code_of, source_of, statement_of
from dpexp.store.rows import ended, row_of
from dpexp.store.simulating import simulate
from tests.campaigns.kernel_edits import change, places
from tests.store.test_fingerprint_of_what_runs import CANNOT_CHANGE_A_NUMBER, PAIRS, cell_of, ran


def harmless(source: str, draws: random.Random) -> tuple[str, str]:
    """Change comments, formatting or docstrings."""
    way = draws.randrange(4)
    if way == 0:
        return "# a comment\n" + source.replace("\n\n\n", "\n\n\n# and another\n"), "comments"
    if way == 1:
        return ast.unparse(ast.parse(source)), "formatting"
    if way == 2:
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
                node.body[0] = ast.Expr(ast.Constant("Another text."))
                node.body += [] if len(node.body) > 1 else [ast.Pass()]
        return ast.unparse(ast.fix_missing_locations(tree)), "docstrings"
    return source.replace("\n\n", "\n\n\n") + "\n\n", "blank lines"


def used(cell) -> dict[str, int]:
    """Modules whose functions run for a cell: 0 where that is for its simulation, 1 for its row or what it receives."""
    vars(cell).pop("received", None)
    first = ran(lambda: cell.received)
    data = []
    second = ran(lambda: data.append(simulate([cell], [0]).passed.of(0)))
    first |= ran(lambda: row_of(cell, (1e-5,), ended(cell, data[0])))
    found = dict.fromkeys(first, 1) | dict.fromkeys(second, 0)
    return {module: stage for module, stage in found.items() if module not in CANNOT_CHANGE_A_NUMBER}


class Copy:
    """A copy of the package that can be edited; its data files are links."""

    def __init__(self, root: Path) -> None:
        self.root = root / "dpexp"
        self.unedited: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
        """fingerprints of cells by their ids, before any edit"""
        for path in sorted(p for p in ROOT.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            target = self.root / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target) if path.suffix == ".py" else target.symlink_to(path)

    def prints(self, cell) -> tuple[dict[str, str], dict[str, str]]:
        fingerprint.forget()
        return code_of(cell, self.root), statement_of(cell, self.root)

    def edited(self, cell, module: str, text: str, stage: int | None = None) -> bool:
        """Whether an edit of a module is noticed for a cell: in the fingerprint of this stage, or in any."""
        path = source_of(module, self.root)
        assert path is not None
        if cell.cell_id not in self.unedited:
            self.unedited[cell.cell_id] = self.prints(cell)
        original = path.read_text()
        path.write_text(text)
        stages = [one != other for one, other in zip(self.prints(cell), self.unedited[cell.cell_id], strict=True)]
        noticed = any(stages) if stage is None else stages[stage]
        path.write_text(original)
        return noticed


def campaign(edits: int, harmless_edits: int, seed: int = 0) -> tuple[list[str], list[str], int]:
    """Edits that were missed, harmless edits that were taken for changes, and how many modules were edited."""
    draws = random.Random(seed)
    names = sorted(PAIRS)
    stages = {name: used(cell_of(name)) for name in draws.sample(names, min(len(names), 6 + edits // 10))}
    chosen = {name: sorted(found) for name, found in stages.items()}
    missed, alarms, touched = [], [], set()
    with tempfile.TemporaryDirectory(prefix="dpexp-edits-") as folder:
        copy = Copy(Path(folder))
        while edits:
            name = draws.choice(sorted(chosen))
            module = draws.choice(chosen[name])
            tree = ast.parse(source_of(module).read_text())  # type: ignore[union-attr]
            if not places(tree):
                continue
            edits -= 1
            touched.add(module)
            what = change(tree, draws)
            if not copy.edited(cell_of(name), module, ast.unparse(tree), stages[name][module]):
                missed.append(f"{name}: {module}, {what}")
        everything = [
            ".".join(["dpexp", *p.relative_to(ROOT).with_suffix("").parts]) for p in sorted(ROOT.rglob("*.py"))
        ]
        for k in range(harmless_edits):
            name = draws.choice(sorted(chosen))
            cell = cell_of(name)
            if k % 3:
                module = draws.choice(chosen[name])
                text, what = harmless(source_of(module).read_text(), draws)  # type: ignore[union-attr]
            else:
                known = set(code_of(cell)) | set(statement_of(cell)) | set(chosen[name])
                rest = [m for m in everything if m not in known and places(ast.parse(source_of(m).read_text()))]  # type: ignore[union-attr]
                module = draws.choice(rest)
                tree = ast.parse(source_of(module).read_text())  # type: ignore[union-attr]
                what = f"unrelated module, {change(tree, draws)}"
                text = ast.unparse(tree)
            if copy.edited(cell, module, text):
                alarms.append(f"{name}: {module}, {what}")
    fingerprint.forget()
    return missed, alarms, len(touched)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=100)
    parser.add_argument("--harmless", type=int, default=50)
    wanted = parser.parse_args()
    missed, alarms, touched = campaign(wanted.edits, wanted.harmless)
    print(f"{wanted.edits} edits of numbers and operators in {touched} modules that cells use: {len(missed)} missed")
    print(
        f"{wanted.harmless} edits of comments, docstrings, formatting and unrelated modules: {len(alarms)} false alarms"
    )
    print("\n".join([*missed, *alarms]))
    return 1 if missed or alarms else 0


if __name__ == "__main__":
    sys.exit(main())
