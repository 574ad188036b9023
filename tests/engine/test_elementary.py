"""The compiled elementary functions beside numpy's: every bit, on every machine, and loaded only where that pays."""

import os
import subprocess
import sys

import numpy as np
import pytest

from dpexp.core import elementary as plain
from dpexp.engine import elementary
from dpexp.engine import elementary_loops as loops
from tests.conftest import ROOT
from tests.other_machines import OTHERS, environment

NAMES = ("exp", "expm1", "log", "log1p", "erfcx", "ndtr", "log_ndtr")
SPECIAL = [
    0.0, -0.0, 5e-324, -5e-324, 1e-310, -1e-310, 2.0**-1022, -(2.0**-1022), 2.0**-1021, 1.7976931348623157e308,
    -1.7976931348623157e308, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0**-54, -(2.0**-54), 2.0**-53, 2.0**52, 2.0**53,
    708.0, 709.0, np.nextafter(709.0, 710), 709.78, 709.79, 710.0, 711.0, -50.0, np.nextafter(-50.0, -51), -708.3,
    -745.0, -745.2, -746.0, -747.0, 0.5**0.5, np.nextafter(0.5**0.5, 0), 2.0**0.5, np.nextafter(2.0**0.5, 2),
    *np.arange(-40, 40) * np.log(2) / 64,  # ties of the reduction are among the neighbours
]  # fmt: skip


def numbers():
    """More than a million, of every size and sign, the specials and their neighbours first."""
    random = np.random.default_rng(12)
    special = np.array(SPECIAL)
    bits = random.integers(-(2**63), 2**63, 400_000, dtype=np.int64).view(np.float64)
    subnormal = random.integers(0, 2**52, 20_000, dtype=np.int64).view(np.float64)
    ranges = [random.uniform(-a, a, 150_000) for a in (1e-9, 1e-3, 1.0, 40.0, 760.0)]
    with np.errstate(over="ignore"):
        near = [np.nextafter(special, np.inf), np.nextafter(special, -np.inf)]
    return np.concatenate([special, *near, bits[~np.isnan(bits)], subnormal, -subnormal, *ranges])


def domain(name, x):
    return x[~(x < -1)] if name == "log1p" else x


def differ(a, b):
    """Where the bits are not the same; one NaN is as good as another."""
    return (a.view(np.int64) != b.view(np.int64)) & ~(np.isnan(a) & np.isnan(b))


@pytest.mark.parametrize("name", NAMES)
def test_every_bit_is_that_of_numpy(name):
    x = domain(name, numbers())
    assert len(x) > 800_000
    found = np.empty_like(x)
    getattr(loops, name)(x, found)
    with np.errstate(all="ignore"):
        wanted = getattr(plain, name)(x)
    assert not differ(found, wanted).any(), x[differ(found, wanted)][:5]


def test_a_last_digit_would_be_seen():
    x = np.linspace(-3.0, 3.0, 100)
    wanted = plain.exp(x)
    off = wanted.copy()
    off[17] = np.nextafter(off[17], 9.0)
    assert np.flatnonzero(differ(off, wanted)).tolist() == [17]
    assert differ(np.array([0.0]), np.array([-0.0])).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 8, 9, 15, 31, 33, 100])
def test_any_number_of_numbers_has_the_same_bits(name, count):
    """Vectors of the processor, and what is left beside them."""
    x = np.abs(np.random.default_rng(count).normal(size=count)) * 5
    found = np.empty_like(x)
    getattr(loops, name)(x, found)
    assert np.array_equal(found, getattr(plain, name)(x))


@pytest.fixture
def compiled_at_once(monkeypatch):
    monkeypatch.setattr(elementary, "_spent", 1e9)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_any_kind(name, compiled_at_once):
    function, numpys = getattr(elementary, name), getattr(plain, name)
    many = np.random.default_rng(2).uniform(0.0, 9.0, (40, 30))
    locked = many[0].copy()
    locked.flags.writeable = False
    for x in (many, many.T, many[::3, ::-2], many[0], locked, np.broadcast_to(many[0], (3, 30)), np.float64(0.3), 2, [1.0, 2.0]):  # fmt: skip
        found, wanted = function(x), numpys(np.asarray(x, dtype=float))
        assert type(found) is np.ndarray
        assert found.shape == wanted.shape
        assert np.array_equal(found, wanted)
    assert np.array_equal(locked, many[0])  # what is given stays as it is


def test_numpy_is_asked_until_loading_pays(monkeypatch):
    asked = []
    monkeypatch.setattr(elementary, "_loops", lambda: asked.append(1) or loops)
    monkeypatch.setattr(elementary, "_spent", 0.0)
    x = np.linspace(0.0, 1.0, 10_000)
    calls = 0
    while not asked:
        elementary.exp(x)
        calls += 1
    # the compiler is loaded in this process: this many calls are estimated to take as long as loading the loops
    each = 1e-9 * elementary.NANOSECONDS["exp"] * (len(x) + elementary.OF_A_CALL)
    assert calls - 1 == pytest.approx(elementary.LOOPS_S / each, abs=1)


def outcome(script, **more):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True, cwd=ROOT,
        env={**os.environ, **more},
    )  # fmt: skip
    return done.stdout.strip()


FEW = """
import sys
import numpy as np
from dpexp.engine import elementary
x = np.linspace(0.0, 1.0, 1000)
for _ in range(COUNT):
    elementary.exp(x)
print("numba" in sys.modules, "dpexp.engine.elementary_loops" in sys.modules)
"""


def calls(share):
    """As many calls as are estimated to take this share of the seconds that loading the compiler takes."""
    each = 1e-9 * elementary.NANOSECONDS["exp"] * (1000 + elementary.OF_A_CALL)
    return FEW.replace("COUNT", str(int(share * elementary.LOADING_S / each)))


@pytest.mark.slow
def test_few_numbers_load_no_compiler_and_many_do():
    assert outcome(calls(0.95)) == "False False"
    assert outcome(calls(1.05)) == "True True"


@pytest.mark.slow
def test_where_numba_is_off_numpy_answers():
    assert outcome(calls(1.05), NUMBA_DISABLE_JIT="1") == "True False"


BITS = """
import hashlib
import numpy as np
from dpexp.core import elementary as plain
from dpexp.engine import elementary
from tests.engine.test_elementary import NAMES, domain, numbers
elementary._spent = 1e9
hashes = []
for kind in (plain, elementary):
    with np.errstate(all="ignore"):
        found = np.concatenate([getattr(kind, name)(domain(name, numbers()[::7])) for name in NAMES])
    found[np.isnan(found)] = np.nan
    hashes.append(hashlib.sha256(found.tobytes()).hexdigest())
print(*hashes)
"""


@pytest.fixture(scope="module")
def here():
    first, second = outcome(BITS).split()
    assert first == second
    return first


@pytest.mark.slow
@pytest.mark.parametrize("machine", [machine for machine in OTHERS if "BLAS" not in machine])  # nothing here calls it
def test_other_machines_have_the_same_bits(machine, here):
    found = subprocess.run(
        [sys.executable, "-c", BITS], capture_output=True, text=True, check=True, cwd=ROOT, env=environment(machine)
    )
    assert found.stdout.split() == [here, here]


def test_an_edit_of_the_loops_makes_cells_stale():
    from dpexp.store.fingerprint import closure

    seen = closure(("dpexp.privacy.accounting.mixtures",))
    assert {"dpexp.engine.elementary", "dpexp.engine.elementary_loops", "dpexp.core.elementary"} <= set(seen)
