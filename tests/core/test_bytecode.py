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


def said(folder, code, **more):
    """What another process prints that finds its modules in a folder."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), **more}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    assert not done.stderr
    return done.stdout.strip()


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
    for name in ("__init__.py", "core/__init__.py", "core/bytecode.py", "core/files.py", "core/version.py"):
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


# --- where Python keeps none

SEEN = """\
import importlib.machinery as machinery, os
seen, original, access = [], machinery.SourceFileLoader.source_to_code, os.access
def compiling(self, data, path, **options):
    seen.append(os.path.basename(path))
    return original(self, data, path, **options)
machinery.SourceFileLoader.source_to_code = compiling
from dpexp.core.version import VERSION
print(VERSION, "compiled" if "version.py" in seen else "kept")
"""


@pytest.fixture
def bare(copy):
    """What a process says that writes no byte code, and the file that dpexp then keeps."""
    (copy / "home").mkdir()
    (copy / "cache").mkdir(mode=0o700)
    usual = {"PYTHONDONTWRITEBYTECODE": "1", "HOME": str(copy / "home"), "DPEXP_CACHE": str(copy / "cache")}
    file = copy / "cache" / "bytecode" / sys.implementation.cache_tag
    return lambda program=SEEN, **more: said(copy, program, **usual | more), file


def test_without_byte_code_of_python_a_second_process_compiles_nothing(bare, copy):
    say, _ = bare
    assert say() == "0.1.0 compiled"
    assert say() == "0.1.0 kept"
    assert say(PYTHONOPTIMIZE="1") == "0.1.0 compiled"  # without what is asserted
    assert not list(copy.rglob("*.pyc"))


def test_so_it_is_where_the_folder_of_the_package_is_not_ours(bare, copy):
    say, _ = bare
    (copy / "dpexp" / "core" / "__pycache__").write_text("in the way")
    closed = SEEN.replace(
        "from dpexp", f"os.access = lambda at, mode: {str(copy / 'dpexp')!r} not in str(at)\nfrom dpexp"
    )
    assert closed != SEEN
    assert say(closed, PYTHONDONTWRITEBYTECODE="") == "0.1.0 compiled"
    assert say(closed, PYTHONDONTWRITEBYTECODE="") == "0.1.0 kept"


def test_byte_code_that_is_kept_for_another_text_is_not_run(bare, copy):
    say, file = bare
    say()
    edit_unnoticed(copy / "dpexp" / "core" / "version.py", "0.1.0", "0.9.7")
    assert say() == "0.9.7 compiled"
    assert say() == "0.9.7 kept"
    assert file.stat().st_mode & 0o777 == 0o600


def test_byte_code_of_others_or_open_to_them_is_not_run(bare, copy):
    say, file = bare
    say()
    forge = """\
import marshal, pathlib, dpexp.core.bytecode as b
from dpexp.core.files import write_bytes_sealed
trap = marshal.dumps(compile("VERSION = 'trap'; IMPORTED_AT = 0", "trap", "exec"))
write_bytes_sealed(pathlib.Path(%r), %s marshal.dumps(dict.fromkeys(b._kept(), trap)), private=True)
b._NEW.clear()
"""
    whole = forge % (str(file), "b._MARK,")
    for wrong, other in ((whole, {"HOME": str(copy)}), (forge % (str(file), ""), {})):
        say(wrong, **other)  # sealed by somebody else, or of something else
        assert say() == "0.1.0 compiled"
        assert say() == "0.1.0 kept"
    say(whole)
    assert say() == "trap kept"  # written here by this user, and so it is run: the trap is one
    for place, mode in ((file, 0o622), (file.parent, 0o777)):
        place.chmod(mode)
        assert say() == "0.1.0 compiled"
        place.chmod(0o700)


def test_nothing_is_kept_where_that_is_turned_off_or_cannot_be_and_at_most_so_many(bare, copy):
    say, file = bare
    file.mkdir(parents=True)
    assert {say(), say()} == {"0.1.0 compiled"}
    file.rmdir()
    (copy / "taken").write_text("")
    for where in ("off", str(copy / "taken"), "/proc/nowhere"):
        assert {say(DPEXP_CACHE=where), say(DPEXP_CACHE=where)} == {"0.1.0 compiled"}
    say("import dpexp.core.bytecode as b; b.MOST_MODULES = 3; b._NEW.update({bytes([k]): b'' for k in range(9)})")
    assert say("import dpexp.core.bytecode as b; print(*map(list, b._kept.__wrapped__()))") == "[6] [7] [8]"


def test_all_of_dpexp_comes_through_this_loader():
    unguarded = {
        name
        for name, module in sys.modules.items()
        if name.split(".")[0] == "dpexp" and type(module.__loader__).__module__ != "dpexp.core.bytecode"
    }
    assert unguarded == {"dpexp", "dpexp.core", "dpexp.core.bytecode"}
