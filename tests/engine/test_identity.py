"""The key of a kept kernel: another one after every change that can reach machine code, none where that is not known."""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import numba
import pytest

from dpexp.algorithms.heavy_ball_ldp_sgd import HeavyBallLdpSgd
from dpexp.engine import identity
from dpexp.engine.finite_sum.lane_steps import lane_steps_of
from dpexp.engine.finite_sum.losses import LOSSES
from dpexp.engine.linear.kernel import compiled_segment
from dpexp.engine.softmax import steps
from dpexp.problems.huber_linear import HuberLinear
from tests.conftest import ROOT

PROGRAM = """
import importlib, json, os, sys
import numba.experimental, numba.extending
from numba import types
from dpexp.engine import identity

@numba.njit
def first(x):
    return x

first.targetctx.refresh()  # of what numba brings: the children refresh what their own modules add
found = {}
for name in sorted(os.listdir(".")):
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            os.chdir(name)
            sys.path.insert(0, os.getcwd())
            kernel = importlib.import_module("kernel").kernel
            kernel.targetctx.refresh()
            try:
                key = identity.key_of(kernel, getattr(sys.modules["kernel"], "SIGNATURE", (types.float64,)))
            except identity.Unknown:
                key = "unknown"
            os.write(writing, key.encode())
        finally:
            os._exit(0)
    os.close(writing)
    found[name] = os.fdopen(reading).read()
    os.wait()
print(json.dumps(found))
"""
BEGIN = """
import numpy as np
from numba import njit, types, float32, float64, vectorize, cfunc
from numba.extending import overload, overload_method, intrinsic, register_jitable
import helper
"""
KERNEL = """
@njit
def kernel(x):
    return {}
"""
HELPER = "from numba import njit\nFACTOR = 2.0\ndef deep(x):\n    return x * FACTOR\ndef emit(b, x):\n    return b.fadd(x, x)\n"
OVERLOAD = """
deep = njit(helper.deep)
def stub(x):
    raise NotImplementedError
@overload(stub)
def _stub(x):
    return lambda x: deep(x) + 1.0
"""
INTRINSIC = """
@intrinsic
def twice(context, x):
    def codegen(context, builder, signature, arguments):
        return helper.emit(builder, arguments[0])
    return x(x), codegen
"""
METHOD = """
@overload_method(types.Array, "doubled")
def _doubled(a):
    return lambda a: a.sum() * 2.0
SIGNATURE = (types.float64[::1],)
"""
JITABLE = "@register_jitable\ndef g(x):\n    return x * 2.0\n@register_jitable\ndef h(x):\n    return g(x)\n"
ENUM = "from enum import IntEnum\nclass Colour(IntEnum):\n    RED = 1\n"
TUPLE = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: float\n    b: float = 2.0\n"
FIELDS = "R = np.zeros(1, dtype=[('a', '<f8'), ('b', '<f8')])\nR.view('<f8')[:] = [1.0, 2.0]\n"
SIGNED = "@njit('float64(float64)')\ndef half(x):\n    return x / 2.5\n"
CLOSURE = "def make(k):\n    @njit\n    def inner(x):\n        return k * x\n    return inner\ninner = make(0.5)\n"
DEFAULT = "@njit\ndef h(x, k=2.0):\n    return x * k\n"
LOCALS = "@njit(locals={'y': float64})\ndef kernel(x):\n    y = x\n    return y\n"

CHANGES = {
    # what numba is taught, three calls deep
    "the body of an overload": (OVERLOAD + KERNEL.format("stub(x)"), "+ 1.0", "+ 3.0"),
    "a constant behind an overload": (OVERLOAD + KERNEL.format("stub(x)"), "FACTOR = 2.0", "FACTOR = 2.5"),
    "what an intrinsic emits": (INTRINSIC + KERNEL.format("twice(x)"), "fadd", "fmul"),
    "a method of arrays": (METHOD + KERNEL.format("x.doubled()"), "* 2.0", "* 3.0"),
    "a jitable function": (JITABLE + KERNEL.format("h(x)"), "* 2.0", "* 3.0"),
    # values
    "a default of a named tuple": (TUPLE + KERNEL.format("Pair(x).b"), "= 2.0\n\n", "= 3.0\n\n"),
    "the fields of an array": (FIELDS + KERNEL.format("R[0]['a'] + x"), "('a', '<f8'), ('b'", "('b', '<f8'), ('a'"),
    "the order of an array": ("M = np.zeros((2, 3), order='C')" + KERNEL.format("M[0, 1] + x"), "'C'", "'F'"),
    "a sign of zero": ("Z = 0.0" + KERNEL.format("x * Z"), "Z = 0.0", "Z = -0.0"),
    "an integer for a float": ("Z = 1.0" + KERNEL.format("x * Z"), "Z = 1.0", "Z = 1"),
    "a computed constant": ("Z = tuple(k / 3 for k in range(4))" + KERNEL.format("x * Z[1]"), "k / 3", "k / 4"),
    "a closure": (CLOSURE + KERNEL.format("inner(x)"), "make(0.5)", "make(0.75)"),
    "a default of a callee": (DEFAULT + KERNEL.format("h(x)"), "k=2.0", "k=3.0"),
    # options
    "declared types": (LOCALS, "'y': float64", "'y': float32"),
    "declared arguments": (SIGNED + KERNEL.format("half(x)"), "float64(float64)", "float64(float32)"),
    "fast mathematics of a callee": (DEFAULT + KERNEL.format("h(x)"), "@njit\ndef h", "@njit(fastmath={'nsz'})\ndef h"),
    "a division by zero": (DEFAULT + KERNEL.format("h(x)"), "@njit\ndef h", "@njit(error_model='numpy')\ndef h"),
    "a setting of numba in a program": (KERNEL.format("x"), "import helper", "import helper, numba\nnumba.config.BOUNDSCHECK = 1"),
    "a module of the user called like one of Python's": ("import colorsys\nh = njit(colorsys.h)" + KERNEL.format("h(x)"),
                                                         "return x - 1", "return x - 2"),
}  # fmt: skip
UNKNOWN = {
    "a compiled class": "from numba.experimental import jitclass\n@jitclass([('a', float64)])\nclass P:\n"
    "    def __init__(self, a):\n        self.a = a\n" + KERNEL.format("P(x).a"),
    "a vectorized function": "v = vectorize(helper.deep)" + KERNEL.format("v(x)"),
    "a function of C": "import ctypes\nf = ctypes.CDLL(None).cos" + KERNEL.format("f(x)"),
    "a callback as argument": "SIGNATURE = (types.FunctionType(float64(float64)),)" + KERNEL.format("x(1.0)"),
    "a member of an enumeration": ENUM + KERNEL.format("x + Colour.RED.value"),
    "a class of one's own": "class K:\n    A = 2.0\n" + KERNEL.format("x * K.A"),
    "an overload that imports": OVERLOAD.replace("    return lambda", "    from helper import FACTOR\n    return lambda")
    + KERNEL.format("stub(x)"),
    "an array of objects": "A = np.array([None])" + KERNEL.format("x").replace("return x", "return x + len(A)"),
}  # fmt: skip
SAME = {
    "a comment": (OVERLOAD + KERNEL.format("stub(x)"), "    return lambda", "    # now\n    return lambda"),
    "threads": (KERNEL.format("x"), "import helper", "import helper, numba\nnumba.config.NUMBA_NUM_THREADS = 1"),
    "a name that is not used": (KERNEL.format("x"), "import helper", "import helper\nOTHER = 5"),
}
SHADOW = "def h(x):\n    return x - 1\n"


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """The key of every case, before and after its change; each in a process that has seen no other."""
    folder = tmp_path_factory.mktemp("cases")
    cases = {f"{name}, before": (text, "", "") for name, (text, _, _) in {**CHANGES, **SAME}.items()}
    cases |= {f"{name}, after": case for name, case in {**CHANGES, **SAME}.items()}
    cases |= {name: (text, "", "") for name, text in UNKNOWN.items()}
    for name, (text, old, new) in cases.items():
        (folder / name).mkdir()
        files = {"kernel.py": BEGIN + text, "helper.py": HELPER, "colorsys.py": SHADOW}
        assert any(old in content for content in files.values()), name
        for file, content in files.items():
            (folder / name / file).write_text(textwrap.dedent(content).replace(old, new) if old else content)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, env=environment, capture_output=True, text=True, timeout=500
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_what_reaches_machine_code_gives_another_key(keys, name):
    before, after = keys[f"{name}, before"], keys[f"{name}, after"]
    assert len(before) == len(after) == 32, (before, after)
    assert before != after


@pytest.mark.slow
@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_understood_has_no_key(keys, name):
    assert keys[name] == "unknown"


@pytest.mark.slow
@pytest.mark.parametrize("name", SAME)
def test_a_change_that_does_not_reach_machine_code_gives_the_same_key(keys, name):
    before, after = keys[f"{name}, before"], keys[f"{name}, after"]
    assert len(before) == 32
    assert before == after


def test_of_the_environment_only_what_numba_reads_counts(monkeypatch):
    from dpexp.engine.identity import settings

    before = settings()
    monkeypatch.setenv("A_VARIABLE_OF_THE_USER", "1")
    assert settings() == before
    monkeypatch.setenv("NUMBA_SOMETHING_NEW", "1")
    changed = settings()
    assert changed != before
    monkeypatch.setenv("NUMBA_SOMETHING_NEW", "2")
    assert settings() not in (before, changed)


CALLED = {
    "pass": {
        "dpexp.engine.linear.kernel": "draw moved step keep segment remember <lambda>",
        "dpexp.engine.lanes.streams": "next_state unit fill_uniform fill_normal",
        "dpexp.problems.huber_linear": "response",
        "dpexp.problems.regression_models": "huber_score",
        "dpexp.problems.mallows": "mallows_weight",
        "dpexp.algorithms.heavy_ball_ldp_sgd": "update",
    },
    "softmax": {
        "dpexp.engine.softmax.steps": "_score _add _in_tiles _clipped_slopes _sums project _move steps",
    },
    "momentum": {
        "dpexp.engine.finite_sum.lane_steps": "lane_steps lay_out distance_and_dot squared_length",
        "dpexp.engine.finite_sum.losses": "_logistic_gradient dot sigmoid _logistic ridge",
    },
}
"""kernel -> module -> its functions that are called, however indirectly: written down by hand from the text of the kernels"""


def test_all_that_a_shipped_kernel_calls_is_looked_at():
    """What is looked at counts, as above; lanes count by their text besides."""
    kernels = {
        "pass": compiled_segment(HuberLinear().model().shape, HeavyBallLdpSgd().rule().source, None),
        "softmax": steps.steps,
        "momentum": lane_steps_of(LOSSES["logistic-ridge"]),
    }
    for name, kernel in kernels.items():
        assert isinstance(kernel, numba.core.dispatcher.Dispatcher)
        seen = identity._Seen()
        seen.value(kernel)
        found = {(function.__module__, function.__name__) for function in seen.functions}
        wanted = {(module, function) for module, names in CALLED[name].items() for function in names.split()}
        assert wanted <= found, name


LANES_OF_ANOTHER_TEXT = """
import os, time
from numba import types
import dpexp.engine.lanes.streams as streams
from dpexp.engine import identity
from dpexp.engine.lanes import vectormath, vectors

def key():
    try:
        return identity.key_of(streams.fill_uniform, ())
    except identity.Unknown as error:
        return str(error)

assert len(key()) == 32
before, vectormath.log = vectormath.log, vectormath.exp
print(key())
vectormath.log = before
assert len(key()) == 32
identity._text.cache_clear()
os.utime(vectors.__file__)
print(key())
"""


def test_where_lanes_are_not_what_their_text_says_no_code_is_kept(tmp_path):
    """A part of them replaced, or a file edited after it was read: what runs is not what would be hashed."""
    shutil.copytree(ROOT / "dpexp", tmp_path / "dpexp", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-c", LANES_OF_ANOTHER_TEXT]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert found.stdout.splitlines() == [
        "lanes are not what their text says",
        "files were edited after this process had begun to read them",
    ], found.stderr
