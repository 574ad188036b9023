"""Compiled code on disk: loaded again where everything that it depends on is the same, and never otherwise."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from dpexp.engine import compiled as compiled_code
from tests.conftest import ROOT, share

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

    @compiled(cached=True)
    def total(f, values):
        found = 0.0
        for value in values:
            found += inner(plain(value)) + f(value) + helper.TABLE[1]
        return found

    return total


@njit
def square(x):
    return x * x


total = make(SLOPE)
print(repr(total(square, np.arange(4.0))), sum(total.stats.cache_hits.values()), sum(total.stats.cache_misses.values()))
"""
VALUES = [0.0, 1.0, 2.0, 3.0]


def right(slope=0.5):
    return sum(slope * (x * 2.0) + 1.0 + x * x + 3.0 for x in VALUES)


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
    code, folder = tmp_path / "code", tmp_path / "cache"
    code.mkdir()

    def run(kernel=KERNEL, slope="0.5", extra=""):
        (code / "helper.py").write_text(HELPER)
        (code / "kernel.py").write_text(kernel.replace("SLOPE", slope) + extra)
        forks.stdin.write(json.dumps({"folder": str(code), "cache": str(folder)}) + "\n")
        forks.stdin.flush()
        printed, status = json.loads(forks.stdout.readline())
        assert status == 0, printed
        value, hits, misses = printed.split()
        return float(value), int(hits), int(misses)

    return run, folder / "kernels"


RECORDED = """
import sys
from numba.core import event
from dpexp.commands.cli import main
sys.argv[0] = "dpexp"
with event.install_recorder("numba:compile") as recorder:
    try:
        main()
    finally:
        print(len(recorder.buffer), file=sys.stderr)
"""


@pytest.mark.slow
def test_a_second_run_compiles_nothing(tmp_path):
    """Also what Python calls by itself, such as the noise of momentum runs; after others the first one compiles nothing."""
    for results in ("first", "second"):
        words = ["run", str(ROOT / "configs" / "momentum_epochs.yaml"), "--profile", "smoke", "-q", "-j", "1"]
        command = [sys.executable, "-c", RECORDED, *words, "--results", str(tmp_path / results)]
        ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        if (compilations := int(ended.stderr.splitlines()[-1])) == 0:
            break
    assert compilations == 0


@pytest.mark.parametrize("way", ["ours", "open to the group", "a link"])
def test_a_folder_is_used_only_if_it_is_ours_alone(way, tmp_path, monkeypatch):
    place = tmp_path / "kernels"
    if way == "a link":
        place.symlink_to(tmp_path)
    else:
        place.mkdir(mode=0o700)
        place.chmod(0o770 if way == "open to the group" else 0o700)
    monkeypatch.setenv("DPEXP_CACHE", str(tmp_path))
    assert compiled_code.folder.__wrapped__() == (place if way == "ours" else None)


@pytest.mark.slow
def test_code_of_two_processes_is_not_mixed_up_in_a_third(place):
    """Two closures of one name, compiled alone, would be one symbol; loaded together each must stay what it is."""
    run, cache = place
    asked = cache.parent.parent / "code" / "asked"
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


@pytest.mark.slow
def test_damaged_code_and_that_of_another_function_are_compiled_anew(place):
    run, cache = place
    run()
    (file,) = cache.iterdir()
    content = file.read_bytes()
    for broken in share([content[:100] + bytes([content[100] ^ 1]) + content[101:], content[:-1]], 2):
        file.write_bytes(broken)
        assert run() == (right(), 0, 1)
    assert run() == (right(), 1, 0)
    run(slope="0.75")
    (other,) = [path for path in cache.iterdir() if path != file]
    other.write_bytes(file.read_bytes())
    assert run(slope="0.75") == (right(slope=0.75), 0, 1)
