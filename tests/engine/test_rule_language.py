"""The language of rules: its functions take numbers and lanes alike, helpers are allowed, a mistake is one sentence."""

import inspect
from functools import cache

import numpy as np
import pytest

from dpexp.core.errors import UsageError
from dpexp.engine.compiled import compiled
from dpexp.engine.lanes import elementwise
from dpexp.engine.lanes.elementwise import exp
from dpexp.engine.lanes.language import FUNCTIONS, inlined, located_errors
from dpexp.engine.lanes.vectors import reals, store
from dpexp.engine.linear.rule import received_at
from tests.conftest import mostly_slow

ONE = [name for name in FUNCTIONS if len(inspect.signature(getattr(elementwise, name)).parameters) == 1]


@cache
def compiled_for(function):
    """Compiled once for all numbers of a type."""
    inner = function if function.__module__ == elementwise.__name__ else inlined(function)

    @compiled(cached=True)
    def both_kinds(a, out):
        store(out, (0,), inner(reals(a)))
        return inner(a)

    return both_kinds


def both(function, a):
    """What compiled code makes of a number, and of lanes of the same number [8]."""
    out = np.empty((1, 8))
    with located_errors():
        number = compiled_for(function)(a, out)
    return number, out[0]


@pytest.mark.parametrize("name", mostly_slow(ONE))  # each is compiled
def test_functions_of_one_number_have_the_bits_of_lanes(name):
    function = getattr(elementwise, name)
    for a in (0.3, 2.0, 9.5, 2) + ((-1.3,) if name not in ("sqrt", "log") else ()):
        number, lanes = both(function, a)
        assert isinstance(number, float)
        assert (lanes == number).all()
        assert number == pytest.approx(float(function(np.float64(a))), rel=1e-13, abs=1e-15)


def power(a):
    return exp(a) + a**0.5


def branch(a):
    if a > 1.0:
        return a
    return -a


def of_numpy(a):
    return np.tanh(a)


def in_a_helper(a):
    return 1.0 + power(a)


@pytest.mark.parametrize(
    ("function", "at", "offset", "said"),
    [
        (power, power, 1, "write a * a, or sqrt(a) for a ** 0.5"),
        (branch, branch, 1, "write where(condition, a, b)"),
        (of_numpy, of_numpy, 1, "`np.tanh` is no function of the rule language"),
        (in_a_helper, power, 1, "write a * a, or sqrt(a) for a ** 0.5"),
    ],
)
def test_a_mistake_is_one_sentence_at_its_line(function, at, offset, said):
    with pytest.raises(UsageError) as caught:
        both(function, 0.5)
    line = inspect.getsourcelines(at)[1] + offset
    assert f"test_rule_language.py:{line}: " in caught.value.message
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    assert all(name in caught.value.hint for name in FUNCTIONS)


def test_what_a_server_has_in_hand_of_one_step():
    assert received_at(1.0, 3.0, 0.25, 2.0) == (3.0, 0.25, 2.0, 0.5, 0.5)
