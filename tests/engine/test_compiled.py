"""Compiled code on disk: loaded again where everything that it depends on is the same, and never otherwise."""

import json
import os
import subprocess
import sys
import textwrap
import time

import pytest

from dpexp.core import files as whole
from dpexp.core.files import forget_oldest
from dpexp.engine import compiled as compiled_code
from tests.conftest import ROOT, at_length

HELPER = """
FACTOR = 2.0
TABLE = (1.0, 3.0)


def plain(x):
    return x * FACTOR
"""
KERNEL = """
import sys
import numpy as np
from numba import njit
from dpexp.engine.compiled import compiled
import helper

plain = njit(helper.plain)


def make(slope):
    @njit
    def inner(x):
        return slope * x + 1.0

    @compiled(kept=True)
    def total(f, values):
        found = 0.0
        for value in values:
            found += inner(plain(value)) + f(value) + helper.TABLE[1]
        return found

    return total


@njit
def square(x):
    return x * x


@njit
def cube(x):
    return x * x * x


total = make(SLOPE)
print(repr(total(square, np.arange(4.0))), sum(total.stats.cache_hits.values()), sum(total.stats.cache_misses.values()))
"""
VALUES = [0.0, 1.0, 2.0, 3.0]


def right(slope=0.5, factor=2.0, table=3.0, f=lambda x: x * x):
    return sum(slope * (x * factor) + 1.0 + f(x) + table for x in VALUES)


FORKS = """
import json, os, runpy, sys, traceback
import numba, numpy  # and nothing of dpexp: each child imports it and compiles as a process of its own would

numba.njit(lambda x: x).targetctx.refresh()  # what numba brings: half of the time of its first compilation
for line in sys.stdin:
    asked = json.loads(line)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(writing, 1)
        os.chdir(asked["folder"])
        sys.path.insert(0, asked["folder"])
        os.environ["DPEXP_CACHE"], status = asked["cache"], 0
        try:
            runpy.run_path("kernel.py", run_name="__main__")
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        os._exit(status)
    os.close(writing)
    printed = os.fdopen(reading).read()
    print(json.dumps([printed, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]), flush=True)
"""


@pytest.fixture(scope="module")
def forks():
    """A process that has imported numba, and starts others that go on from there: most of their time is its import."""
    command = [sys.executable, "-c", FORKS]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def place(tmp_path, forks):
    """A folder of code, and one for what is compiled from it."""
    code, kept = tmp_path / "code", tmp_path / "kept"
    code.mkdir()

    def run(kernel=KERNEL, helper=HELPER, slope="0.5", cache=kept, extra=""):
        (code / "helper.py").write_text(helper)
        (code / "kernel.py").write_text(kernel.replace("SLOPE", slope) + extra)
        forks.stdin.write(json.dumps({"folder": str(code), "cache": str(cache)}) + "\n")
        forks.stdin.flush()
        printed, status = json.loads(forks.stdout.readline())
        assert status == 0, printed
        value, hits, misses = printed.split()
        return float(value), int(hits), int(misses)

    return run, kept / "kernels"


@pytest.mark.slow
def test_a_second_process_compiles_nothing_and_finds_the_same(place):
    run, kept = place
    assert run() == (right(), 0, 1)
    (file,) = kept.iterdir()
    os.utime(file, (0, 0))
    assert run() == (right(), 1, 0)
    assert file.stat().st_mtime > 0  # of those that go first it is now the last
    assert run(cache="off") == (right(), 0, 1)


HEARD = """
import sys
from dpexp.core.terminal import compiling
from dpexp.commands.cli import main
heard = []
sys.argv[0] = "dpexp"
with compiling.listening(heard.append):
    try:
        main()
    finally:
        print(len(heard), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["momentum_epochs", pytest.param("coverage_local", marks=at_length)])
def test_a_second_run_of_any_engine_compiles_nothing(name, tmp_path):
    """Also what Python calls by itself, such as the noise of momentum runs."""

    def compilations(results):
        words = ["run", str(ROOT / "configs" / f"{name}.yaml"), "--profile", "smoke", "-q", "-j", "1"]
        words += ["--results", str(tmp_path / results)]
        ended = subprocess.run(
            [sys.executable, "-c", HEARD, *words], capture_output=True, text=True, check=True, cwd=tmp_path
        )
        return int(ended.stderr.splitlines()[-1])

    compilations("first")
    assert compilations("second") == 0


@pytest.mark.slow
def test_every_edit_of_what_a_kernel_calls_is_seen(place):
    run, _ = place
    run()
    edits = {
        "a constant of a module": ({"helper": HELPER.replace("2.0", "2.5")}, right(factor=2.5)),
        "a table that is reached through a module": ({"helper": HELPER.replace("3.0", "4.0")}, right(table=4.0)),
        "an operator in a helper": ({"helper": HELPER.replace("x * FACTOR", "x / FACTOR")}, right(factor=0.5)),
        "a number in a closure": ({"slope": "0.75"}, right(slope=0.75)),
        "another function as argument": ({"kernel": KERNEL.replace("total(square", "total(cube")}, right(f=lambda x: x**3)),
        "the function that is an argument": (
            {"kernel": KERNEL.replace("return x * x\n", "return x + x\n")}, right(f=lambda x: x + x),
        ),
        "a callee": ({"kernel": KERNEL.replace("+ 1.0", "+ 2.0")}, right() + 4),
        "options of the compiler": ({"kernel": KERNEL.replace("kept=True", "kept=True, fastmath={'nnan'}")}, right()),
    }  # fmt: skip
    for what, (changed, expected) in edits.items():
        value, hits, misses = run(**changed)
        assert (value, hits, misses) == (pytest.approx(expected, rel=1e-15), 0, 1), what
    assert run(**changed)[1:] == (1, 0)  # the last edit again: it is kept


@pytest.mark.parametrize("way", ["ours", "of another user", "open to the group", "open to all", "a file", "a link"])
def test_a_folder_is_used_only_if_it_is_ours_alone(way, tmp_path, monkeypatch):
    place = tmp_path / "kernels"
    if way == "a link":
        place.symlink_to(tmp_path)
    else:
        place.touch() if way == "a file" else place.mkdir(mode=0o700)
    if way == "of another user":
        monkeypatch.setattr(os, "getuid", lambda: place.stat().st_uid + 1)
    if way.startswith("open"):
        place.chmod(0o770 if way == "open to the group" else 0o707)
    monkeypatch.setenv("DPEXP_CACHE", str(tmp_path))
    assert compiled_code.folder.__wrapped__() == (place if way == "ours" else None)


@pytest.mark.slow
def test_code_of_two_processes_is_not_mixed_up_in_a_third(place):
    """Two closures of one name, compiled alone, would be one symbol; loaded together each must stay what it is."""
    run, kept = place
    asked = kept.parent.parent / "code" / "asked"
    kernel = KERNEL.replace("make(SLOPE)", "make(float(open('asked').read().split()[0]))")
    kernel = kernel.replace("print(repr(total", "'both' in open('asked').read() or print(repr(total")
    both = textwrap.dedent(
        """
        if 'both' in open('asked').read():
            other = make(0.5)
            third = make(0.75)
            x = np.arange(4.0)
            print(other(square, x) + 1000 * third(square, x), sum(other.stats.cache_hits.values()),
                  sum(third.stats.cache_hits.values()))
        """
    )
    for slope in ("0.5", "0.75"):
        asked.write_text(slope)
        assert run(kernel=kernel, extra=both) == (right(slope=float(slope)), 0, 1)
    asked.write_text("0.5 both")
    assert run(kernel=kernel, extra=both) == (right(slope=0.5) + 1000 * right(slope=0.75), 1, 1)


def test_the_folder_keeps_what_was_used_last_and_what_is_not_its_own(tmp_path):
    names = [f"{age:032x}" for age in range(5)]
    for age, name in enumerate([*names, "notes.txt", "9"]):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, time.time() - age * 86400))
    os.utime(tmp_path / names[4])
    forget_oldest(tmp_path, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == [names[0], names[1], names[4], "9", "notes.txt"]


@pytest.mark.parametrize("home", ["", "relative", "usual"])
@pytest.mark.parametrize("cache", ["", "/", "/tmp/..", "~/x"])
def test_nothing_is_kept_in_the_root_of_the_disk(tmp_path, monkeypatch, home, cache):
    """Wherever HOME is nobody's home, or DPEXP_CACHE the root, however either is spelled."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path) if home == "usual" else home)
    monkeypatch.setenv("DPEXP_CACHE", cache)
    kept = home == "usual" and not cache.startswith("/")
    assert (whole.own_folder("kernels") is not None) == kept
    if kept:
        assert tmp_path in whole.own_folder("kernels").parents


@pytest.mark.slow
def test_what_is_damaged_foreign_or_open_to_others_is_left_alone(place, tmp_path):
    run, kept = place
    run()
    (file,) = kept.iterdir()
    content = file.read_bytes()
    for broken in (content[:-1], content[:100] + bytes([content[100] ^ 1]) + content[101:], b"", b"x" * 40):
        file.write_bytes(broken)
        assert run() == (right(), 0, 1)  # compiled again, and stored whole
        assert run() == (right(), 1, 0)
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o777)
    shared.chmod(0o777)
    assert run(cache=shared) == (right(), 0, 1)
    assert not list(shared.iterdir())
    run(slope="0.75")
    (other,) = [path for path in kept.iterdir() if path != file]
    other.write_bytes(file.read_bytes())  # whole and ours, but the code of another function
    assert run(slope="0.75") == (right(slope=0.75), 0, 1)
    assert run(cache=tmp_path / "code" / "kernel.py") == (right(), 0, 1)  # a file where the folder should be
