"""What makes results stale: all code of dpexp that computes, a plug-in, data; not comments and not how it is installed."""

import ast
import json
import shutil
import subprocess
import sys

import pytest

from dpexp.store.fingerprint import NUMBERS, ROOT, changed, code_of
from tests.config.test_config import GOOD, load

HANDS_ON = {"dpexp.plugins.loaded"}
"""says which line of a plug-in an error comes from"""


def imports(file):
    """The modules of dpexp that a file imports, those for types alone apart."""
    tree = ast.parse(file.read_text())
    typed = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    apart = {inner for node in typed for inner in ast.walk(node)}
    for node in set(ast.walk(tree)) - apart:
        if isinstance(node, ast.ImportFrom):
            yield from (str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def file_of(module):
    place = ROOT.parent / module.replace(".", "/")
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


def test_what_code_that_counts_imports_counts_too():
    counted = {
        file for place in NUMBERS for file in ([ROOT / place] if place[-3:] == ".py" else (ROOT / place).rglob("*.py"))
    }
    asked = {module for file in counted for module in imports(file) if module.startswith("dpexp.")}
    assert {module for module in asked - HANDS_ON if (file_of(module) or ROOT) not in {*counted, ROOT}} == set()
    assert len(counted) > 150


PROGRAM = """
import json, sys
from pathlib import Path
from dpexp.store import fingerprint

def code():
    for cached in (fingerprint.code_of_rooms, fingerprint.files_of_rooms, fingerprint.hash_of_code):
        cached.cache_clear()
    return fingerprint.today({"dpexp": ""})

before, found = code(), {}
for name, (file, old, new) in json.load(sys.stdin).items():
    path = Path("dpexp", file)
    there = path.read_text() if path.exists() else ""
    assert old in there, name
    path.write_text(there.replace(old, new, 1))
    found[name] = fingerprint.changed(before, code())
    path.write_text(there) if there else path.unlink()
print(json.dumps([before, found]))
"""
COUNT = {
    "an update rule": ("algorithms/ldp_sgd.py", "def update(", "def update_("),
    "a privacy formula": ("accounting/gaussian.py", "import math", "import cmath as math"),
    "a table of privacy": ("privacy/momentum/iterates.json", "{", "{ "),
    "a new module": ("engine/another.py", "", "A = 1"),
}
DO_NOT_COUNT = {
    "a comment": ("engine/linear/kernel.py", "\nimport", "\n# so\nimport"),
    "formatting": ("engine/linear/kernel.py", " = ", "  =  "),
    "a page": ("reporting/page.py", "", "A = 1\n"),
    "a note beside it": ("engine/NOTES.md", "", "what is no code"),
}


@pytest.fixture(scope="module")
def edits(tmp_path_factory):
    """What each edit of a copy of dpexp changes; the copy lacks what a wheel lacks."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "dpexp", ignore=shutil.ignore_patterns("__pycache__", "fashion.npz", "py.typed"))
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, input=json.dumps(COUNT | DO_NOT_COUNT),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_every_edit_of_code_that_computes_is_seen_and_no_other(edits):
    assert [name for name, files in edits[1].items() if files == ["dpexp"]] == list(COUNT)
    assert [name for name, files in edits[1].items() if files == []] == list(DO_NOT_COUNT)


def test_a_wheel_and_a_clone_have_one_code(edits, tmp_path):
    code = code_of(load(tmp_path, GOOD).cells[0])
    assert list(code) == ["dpexp"]
    assert edits[0] == code


def test_the_same_bytes_or_the_same_code_are_no_change():
    assert changed({"dpexp": "bytes code"}, {"dpexp": "other code"}) == []
    assert changed({"dpexp": "bytes code"}, {"dpexp": "bytes other"}) == []  # as another Python has it
    assert changed({"dpexp": "a b", "plugin p.py": "c d"}, {"dpexp": "e f"}) == ["dpexp", "the plug-in p.py"]
    # of a dpexp that named modules
    assert changed({"dpexp.engine.linear.kernel": "a"}, {"dpexp": "a a"}) == ["dpexp"]
