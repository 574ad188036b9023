"""A numba that is too old, or newer and different, is named before anything is computed."""

import ast
import json
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
    tried = set(ast.unparse(ast.parse((LANES / "trial.py").read_text())).replace(".", " ").replace("(", " ").split())
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "lanes", "kept"),
    [
        ("", "", ""),
        ("from llvmlite import ir; del ir.IRBuilder.shuffle_vector", "attribute 'shuffle_vector'", ""),
        ("from numba.core import cgutils; del cgutils.unpack_tuple", "'unpack_tuple'", "'unpack_tuple'"),
        ("import numba.extending as e; e.overload = lambda: None", "takes 0 positional arguments but 1 was given", ""),
        (
            "from numba.core.compiler import CompileResult as c; del c._find_referenced_environments",
            "",
            "_environments",
        ),
    ],
)
def test_what_a_numba_lacks_is_named(change, lanes, kept):
    # what is loaded from disk needs no instructions
    place = {"DPEXP_CACHE": "off"} if lanes else {}
    found = subprocess.run(
        [sys.executable, "-c", f"{change}\nfrom dpexp.engine.lanes import trial\ntrial.main()"],
        capture_output=True, text=True, timeout=500, env={**os.environ, **place}, cwd=ROOT,
    )  # fmt: skip
    said = json.loads(found.stdout)
    for name, expected in (("lanes", lanes), ("kept", kept)):
        assert expected in said[name] if expected else said[name] is None
        assert "\n" not in (said[name] or "")


@pytest.mark.parametrize("crash", [False, True])
def test_a_newer_numba_that_does_not_fit_is_refused_and_one_that_keeps_nothing_is_remarked(monkeypatch, crash):
    said, failed = json.dumps({"lanes": "x is gone", "kept": "y is gone"}), "Traceback\nImportError: x is gone\n"
    program = f"import sys; sys.exit({failed!r})" if crash else f"print({said!r})"
    true = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **more: true([command[0], "-c", program], **more))
    monkeypatch.setenv("DPEXP_CACHE", "somewhere")
    assert internals.require_compiler() is None
    assert internals.keep_only_what_fits() is None
    monkeypatch.setattr(internals, "version", lambda name: "9.2" if crash else "9.1")
    with pytest.raises(DpexpError) as caught:
        internals.require_compiler()
    release = internals.version("numba")
    assert caught.value.message.startswith(f"numba {release} with llvmlite {release} cannot compile lanes: ")
    assert caught.value.message.endswith("x is gone")
    assert internals.OLDEST in caught.value.hint
    assert internals.NEWEST in caught.value.hint
    remark = None if crash else f"compiled code is not kept on disk: y is gone, in numba {release}"
    assert internals.keep_only_what_fits() == remark
    assert os.environ["DPEXP_CACHE"] == ("somewhere" if crash else "off")


def test_versions_outside_those_tested_are_named(monkeypatch):
    found = subprocess.CompletedProcess([], 0, "{}", "")
    monkeypatch.setattr(subprocess, "run", lambda *args, **more: found)
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
