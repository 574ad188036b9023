"""The parts of numba and llvmlite that lanes and kept code rest on: still there, all listed, and named when one has changed."""

import ast
import importlib
import os

import pytest

from dpexp.core.errors import DpexpError
from dpexp.engine.lanes import internals
from tests.conftest import ROOT

MODULES = {
    "ir": "llvmlite.ir", "types": "numba.core.types", "cgutils": "numba.core.cgutils", "compiler": "numba.core.compiler",
    "extending": "numba.core.extending", "templates": "numba.core.typing.templates", "imputils": "numba.core.imputils",
}  # fmt: skip
"""name of a module in a source -> the module"""
OWNERS = {"builder": "IRBuilder", "b": "IRBuilder", "context": "BaseContext", "llvm": ""}
"""name of an object in a source -> its class, where one is listed"""


def test_nothing_that_we_need_has_changed():
    assert internals.changes() == []
    assert internals.changes(internals.KEPT) == []


@pytest.mark.parametrize(
    ("file", "least"), [("lanes/vectors.py", 10), ("lanes/tiles.py", 10), ("compiled.py", 5), ("identity.py", 20)]
)
def test_every_internal_that_is_named_is_listed(file, least):
    """Read from the source: what it imports, what it takes of modules, and every method that it calls on a builder."""
    known = internals.USED + internals.KEPT
    listed = {(used.module, name) for used in known for name in (used.name, used.name.split(".")[0])}
    methods = {kind: {used.name.rpartition(".")[2] for used in known if kind in used.name} for kind in OWNERS.values()}
    seen = set()
    for node in ast.walk(ast.parse((ROOT / "dpexp" / "engine" / file).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("numba.core.", "numba.extending")):
            names = {alias.name for alias in node.names}
            seen |= {(node.module, name) for name in names if f"{node.module}.{name}" not in MODULES.values()}
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in MODULES:
                seen.add((MODULES[node.value.id], node.attr))
            if node.value.id in OWNERS:
                assert node.attr in methods[OWNERS[node.value.id]], f"{node.value.id}.{node.attr} is not listed"
    elsewhere = {("numba.core.types", "Type"), ("numba.core.datamodel.registry", "register_default")}
    assert seen - elsewhere <= listed
    assert len(seen) >= least


@pytest.mark.parametrize(
    ("module", "kind", "name"),
    [
        ("numba.core.codegen", "JITCPUCodegen", "unserialize_library"),
        ("numba.core.funcdesc", "FunctionDescriptor", "llvm_func_name"),
        ("numba.core.codegen", "JITCPUCodegen", "_tm"),
    ],
)
def test_code_is_not_kept_where_numba_has_changed(monkeypatch, module, kind, name):
    """Lanes still compile: a remark, not a refusal."""
    monkeypatch.setenv("DPEXP_CACHE", "somewhere")
    assert internals.keep_only_what_fits() is None
    assert os.environ["DPEXP_CACHE"] == "somewhere"
    for base in getattr(importlib.import_module(module), kind).__mro__:
        for attribute, value in list(vars(base).items()):
            # an attribute of instances is gone when no method names it any more
            if attribute == name or (
                name == "_tm" and name in getattr(getattr(value, "__code__", None), "co_names", ())
            ):
                monkeypatch.delattr(base, attribute)
    remark = internals.keep_only_what_fits()
    assert remark.startswith(f"compiled code is not kept on disk: {module}.{kind}.{name} is gone, in numba ")
    assert os.environ["DPEXP_CACHE"] == "off"
    assert internals.require_compiler() is None


@pytest.mark.parametrize(
    ("module", "name", "replacement", "expected"),
    [
        ("numba.core.cgutils", "unpack_tuple", None, "numba.core.cgutils.unpack_tuple is gone"),
        ("llvmlite.ir", "IRBuilder.shuffle_vector", None, "llvmlite.ir.IRBuilder.shuffle_vector is gone"),
        ("llvmlite.ir", "IRBuilder.load", lambda self, ptr, typ: None, "llvmlite.ir.IRBuilder.load takes other arguments"),
        ("numba.core.datamodel", "register_default", lambda kind, model: None, "register_default takes other arguments"),
    ],
)  # fmt: skip
def test_a_change_is_named(monkeypatch, module, name, replacement, expected):
    place = importlib.import_module(module)
    *outer, last = name.split(".")
    for part in outer:
        place = getattr(place, part)
    if replacement is None:
        monkeypatch.delattr(place, last)
    else:
        monkeypatch.setattr(place, last, replacement)
    (found,) = internals.changes()
    assert expected in found
    with pytest.raises(DpexpError) as caught:
        internals.require_compiler()
    assert expected in caught.value.message
    assert "\n" not in caught.value.message
    assert internals.OLDEST in caught.value.hint
    assert internals.NEWEST in caught.value.hint


def test_versions_outside_those_tested_are_named(monkeypatch):
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
