"""A numba that is too old, too new or broken is named before anything is computed."""

import pytest

from dpexp.core.errors import DpexpError
from dpexp.engine.lanes import internals


def test_versions_outside_those_tested_are_refused(monkeypatch):
    for text, tested in (("0.60.9", False), ("0.61.0", True), ("0.68.9", True), ("0.69.0rc1", False), ("1.0", False)):
        monkeypatch.setattr(internals, "version", lambda name, text=text: text)
        if tested:
            internals.require_compiler()
        else:
            with pytest.raises(DpexpError, match=f"numba {text}"):
                internals.require_compiler()


def test_a_numba_that_refuses_this_numpy_is_one_line(monkeypatch):
    import builtins

    imported = builtins.__import__

    def refuse(name, *rest):
        if name == "numba":
            raise ImportError("Numba needs NumPy 2.1 or less. Got NumPy 2.4.")
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(DpexpError, match=r"NumPy 2\.1 or less"):
        internals.require_compiler()
