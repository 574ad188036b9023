"""A numba that is too old, or newer and different, is named before anything is computed."""

import ast
import importlib
import os
import subprocess
import sys

import pytest

from dpexp.core.errors import DpexpError
from dpexp.engine.lanes import internals
from tests.conftest import ROOT

LANES = ROOT / "dpexp" / "engine" / "lanes"


def test_every_word_of_lanes_is_tried():
    """Read from the source: each instruction, and each store and load, is in the kernel, or in a function that it calls."""
    tried = set(
        ast.unparse(ast.parse((LANES / "internals.py").read_text())).replace(".", " ").replace("(", " ").split()
    )
    tried |= {
        "polynomial",
        "wide_polynomial",
        "chebyshev",
        "reals",
        "bits_of",
        "real_of",
        "times_power",
    }  # of functions
    for file in ("vectors.py", "tiles.py"):
        for node in ast.parse((LANES / file).read_text()).body:
            if isinstance(node, ast.FunctionDef) and any(ast.unparse(d) == "intrinsic" for d in node.decorator_list):
                assert node.name in tried or node.name.startswith("_"), node.name


CHANGED = """
import os, sys
from dpexp.core.errors import DpexpError
from dpexp.engine.lanes import internals
exec(sys.argv[1])
internals.version = lambda name: "9.1"
try:
    print(internals.require_compiler())
except DpexpError as error:
    print(error.message)
    print(error.hint)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("", "numba 9.1 is newer than"),
        ("from llvmlite import ir; del ir.IRBuilder.shuffle_vector", "no attribute 'shuffle_vector'"),
        ("from numba.core import cgutils; del cgutils.unpack_tuple", "no attribute 'unpack_tuple'"),
        ("from numba.core.datamodel import registry; registry.register_default = lambda kind, model: None", "'model'"),
    ],
)
def test_a_newer_numba_is_tried_and_what_it_lacks_is_named(change, expected):
    found = subprocess.run(
        [sys.executable, "-c", CHANGED, change], capture_output=True, text=True, timeout=500,
        env={**os.environ, "DPEXP_CACHE": "off"}, cwd=ROOT,
    )  # fmt: skip
    first, *hint = found.stdout.splitlines()
    assert expected in first, found.stderr
    if change:
        assert first.startswith("numba 9.1 with llvmlite 9.1 cannot compile lanes: ")
        assert internals.OLDEST in hint[0]
        assert internals.NEWEST in hint[0]


@pytest.mark.parametrize(
    ("module", "kind", "name"),
    [
        ("numba.core.codegen", "JITCPUCodegen", "unserialize_library"),
        ("numba.core.compiler", "CompileResult", "_find_referenced_environments"),
    ],
)
def test_code_is_not_kept_where_a_newer_numba_has_changed(monkeypatch, module, kind, name):
    """Lanes still compile: a remark, not a refusal."""
    monkeypatch.setenv("DPEXP_CACHE", "somewhere")
    assert internals.keep_only_what_fits() is None
    monkeypatch.setattr(internals, "version", lambda name: "9.1")
    assert internals.keep_only_what_fits() is None
    assert os.environ["DPEXP_CACHE"] == "somewhere"
    for base in getattr(importlib.import_module(module), kind).__mro__:
        if name in vars(base):
            monkeypatch.delattr(base, name)
    remark = internals.keep_only_what_fits()
    assert remark == f"compiled code is not kept on disk: '{kind}' object has no attribute '{name}', in numba 9.1"
    assert os.environ["DPEXP_CACHE"] == "off"


def test_versions_outside_those_tested_are_named(monkeypatch):
    monkeypatch.setattr(internals, "_vocabulary", lambda: None)  # compiled by the test above
    assert internals.require_compiler() is None
    for text, old in (("0.60.9", True), ("0.59.1", True), ("0.69.0rc1", False), ("1.0", False)):
        monkeypatch.setattr(internals, "version", lambda name, text=text: text)
        if old:
            with pytest.raises(DpexpError, match=f"numba {text} is too old"):
                internals.require_compiler()
        else:
            assert f"numba {text} is newer than" in internals.require_compiler()


def test_a_numba_that_refuses_this_numpy_is_one_line(monkeypatch):
    import builtins

    imported = builtins.__import__

    def refuse(name, *rest):
        if name == "numba":
            raise ImportError("Numba needs NumPy 2.1 or less. Got NumPy 2.4.")
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(DpexpError, match=r"cannot be imported: Numba needs NumPy 2\.1 or less"):
        internals.require_compiler()


def test_a_run_stops_before_it_computes(monkeypatch, tmp_path):
    from dpexp.commands import run as running

    def refuse():
        raise internals.CompilerMismatch("numba 9 cannot compile lanes: x is gone", "pip install")

    monkeypatch.setattr(internals, "require_compiler", refuse)
    request = running.Request(
        (ROOT / "configs" / "figure1.yaml",), (), None, 1, "threads", None, None, "smoke", tmp_path, False, False,
        True, False, False,
    )  # fmt: skip
    with pytest.raises(DpexpError, match="x is gone"):
        running.run(request)
    assert list(tmp_path.iterdir()) == []
