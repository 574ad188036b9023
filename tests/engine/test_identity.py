"""The key of a cached kernel: another one after every change that can reach machine code, none where that is not known."""

import importlib
import os
import sys
from itertools import count

import numba
import numpy as np
import pytest
from numba import types

from dpexp.algorithms.heavy_ball_ldp_sgd import HeavyBallLdpSgd
from dpexp.engine import identity
from dpexp.engine.linear.kernel import compiled_segment
from dpexp.problems.linear_losses import HuberLinear

HELPER = "from numba import njit\ndef deep(x):\n    return x * 2.0\n"
KERNEL = """\
import numba, numpy as np
from numba import njit
import {helper} as helper
deep = njit(helper.deep)
def make(value):
    @njit
    def inner(x):
        return x + value
    return inner
VALUE = None
@njit
def kernel(x):
    return deep(x)
@njit
def by_name(x):
    return x * VALUE
@njit
def in_a_module(x):
    return x * helper.VALUE
"""
NUMBER = count()


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A kernel's module and its helper, of any text, as files that were there before this process began."""
    monkeypatch.syspath_prepend(tmp_path)

    def load(kernel=KERNEL, helper=HELPER, folder="", old=True):
        # names and folders do not count here: a key begins with the module's
        place = tmp_path / str(next(NUMBER)) / folder
        place.mkdir(parents=True)
        monkeypatch.syspath_prepend(place)
        for name in ("kernel", "helper"):
            sys.modules.pop(name, None)
        for name, text in {"helper": helper, "kernel": kernel.format(helper="helper")}.items():
            (place / f"{name}.py").write_text(text)
            if old:
                os.utime(place / f"{name}.py", ns=(identity.IMPORTED_AT - 1,) * 2)
        importlib.invalidate_caches()
        return importlib.import_module("kernel")

    yield load
    for name in ("kernel", "helper"):
        sys.modules.pop(name, None)


def key(function, *sig):
    return identity.key_of(function, sig or (types.float64,))


def test_text_options_and_argument_types_count_and_the_place_does_not(load):
    before = key(load().kernel)
    assert key(load(folder="elsewhere").kernel) == before
    others = [
        key(load().kernel, types.float32),
        key(load(helper=HELPER.replace("2.0", "2.5")).kernel),
        key(load(helper=HELPER.replace("x *", "x /")).kernel),
        key(load(kernel=KERNEL.replace("@njit\ndef kernel", "@njit(fastmath=True)\ndef kernel")).kernel),
        key(load(kernel=KERNEL.replace("njit(helper.deep)", "njit(error_model='numpy')(helper.deep)")).kernel),
    ]
    assert len({before, *others}) == 1 + len(others)


FIELDS = [("a", "<f8"), ("b", "<f8")]
VALUES = (
    *(1.0, 1, True, -1.0, 1 + 2**-52, 0.0, -0.0, 1j, np.float32(1), np.float64(1), (1.0, 2.0), (1, 2), ((1.0,), 2.0)),
    *(np.zeros((2, 3)), np.zeros((2, 3), order="F"), np.zeros((3, 2)), np.zeros((2, 3), np.float32)),
    *(np.zeros(1, FIELDS), np.zeros(1, FIELDS[::-1]), np.ones(1, FIELDS)),
)


def test_values_that_are_compiled_in_count_wherever_they_are(load):
    module = load()
    keys = {"closure": [], "name": [], "module": []}
    for value in VALUES:
        module.VALUE = module.helper.VALUE = value
        keys["closure"].append(key(module.make(value)))
        keys["name"].append(key(module.by_name))
        keys["module"].append(key(module.in_a_module))
        assert key(module.by_name) == keys["name"][-1]
    assert {place: len(set(own)) for place, own in keys.items()} == dict.fromkeys(keys, len(VALUES))


def test_what_cannot_be_named_has_no_key(load):
    module = load()
    for value in (object(), np.array([None]), {"a": object()}):
        with pytest.raises(identity.Unknown):
            key(module.make(value))
    with pytest.raises(identity.Unknown):
        key(load(old=False).kernel)


def test_only_settings_that_reach_machine_code_count(monkeypatch):
    kernel = compiled_segment(HuberLinear().model().shape, HeavyBallLdpSgd().rule().source, None, False)
    before = key(kernel)
    for name, same in (("NUMBA_NUM_THREADS", True), ("BOUNDSCHECK", False)):
        monkeypatch.setattr(numba.config, name, 7)
        assert (key(kernel) == before) == same, name
