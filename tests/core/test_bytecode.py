"""What runs is the text that is hashed, also where Python would take old byte code for it."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dpexp

PACKAGE = Path(dpexp.__file__).parent
CHECKED = (3).to_bytes(4, "little")


def said(folder, code):
    """What another process prints that finds its modules in a folder."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


def edit_unnoticed(path, old, new):
    """An edit that keeps the size and the time of the file, as `cp -p` does with two files of one second."""
    before, text = path.stat(), path.read_text()
    assert len(old) == len(new)
    assert old in text
    path.write_text(text.replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def copy(tmp_path):
    """The package, as far as one module of it is imported."""
    (tmp_path / "dpexp" / "core").mkdir(parents=True)
    for name in ("__init__.py", "core/__init__.py", "core/bytecode.py", "core/version.py"):
        shutil.copy(PACKAGE / name, tmp_path / "dpexp" / name)
    (tmp_path / "other.py").write_text("VALUE = 17\n")
    return tmp_path


def test_an_edit_of_equal_size_and_time_runs(copy):
    ask = "from dpexp.core.version import VERSION; print(VERSION)"
    assert said(copy, ask) == dpexp.__version__ == "0.1.0"
    edit_unnoticed(copy / "dpexp" / "core" / "version.py", "0.1.0", "0.9.7")
    assert said(copy, ask) == "0.9.7"


def test_byte_code_that_python_wrote_by_itself_is_not_taken(copy):
    """It is there already: this dpexp was used before by an older version of itself, or was compiled by pip."""
    path = copy / "dpexp" / "core" / "version.py"
    said(copy, f"import py_compile; py_compile.compile({str(path)!r})")
    edit_unnoticed(path, "0.1.0", "0.9.7")
    assert said(copy, "from dpexp.core.version import VERSION; print(VERSION)") == "0.9.7"
    kept = Path(importlib.util.cache_from_source(str(path))).read_bytes()
    assert kept[4:8] == CHECKED
    assert kept[8:16] == importlib.util.source_hash(path.read_bytes())


def test_an_installed_plug_in_runs_its_text_too(copy):
    """And what is no business of ours is left to Python, which takes the old byte code: the fault is still there."""
    ask = "import other; print(other.VALUE)"
    asked = f"from dpexp.core.bytecode import compile_from_text; compile_from_text('other'); {ask}"
    assert said(copy, ask) == "17"
    edit_unnoticed(copy / "other.py", "17", "29")
    assert said(copy, ask) == "17"
    assert said(copy, asked) == "29"
    edit_unnoticed(copy / "other.py", "29", "31")
    assert said(copy, asked) == "31"


def test_byte_code_is_kept(copy):
    """A second process compiles nothing."""
    said(copy, "import dpexp")
    counted = (
        "import builtins, dpexp.core.bytecode as b; seen = []; original = b.SourceFileLoader.source_to_code;"
        "b.SourceFileLoader.source_to_code = lambda *a, **k: seen.append(1) or original(*a, **k);"
        "b.compile_from_text('other'); import other; print(len(seen))"
    )
    assert said(copy, counted) == "1"
    assert said(copy, counted) == "0"


def test_all_of_dpexp_comes_through_this_loader():
    unguarded = {
        name
        for name, module in sys.modules.items()
        if name.split(".")[0] == "dpexp" and type(module.__loader__).__module__ != "dpexp.core.bytecode"
    }
    assert unguarded == {"dpexp", "dpexp.core", "dpexp.core.bytecode"}
