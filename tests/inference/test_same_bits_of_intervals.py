"""Private regression gives the same bits on every x86-64 machine.

Other machines are played by variables of the environment: the routines of OpenBLAS for other processors, numpy's loops
for processors without AVX-512, and code that is compiled for another processor. Each is a process of its own.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conftest import ROOT
from tests.other_machines import TRIED, compiles_anew, environment

SCRIPT = """
import hashlib, json, math, sys, warnings
import numpy as np
warnings.simplefilter("ignore")  # numpy warns of features to turn off that it does not know
from dpexp.algorithms.path_intervals import PathIntervals
from dpexp.algorithms.schedules import Power
from dpexp.algorithms.staged_newton import StagedNewton
from dpexp.privacy.budgets import ConstantBudget, UniformBudget
from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.logistic import MallowsLogistic

steps = [Power(eta=0.2, alpha=alpha) for alpha in (1 / 3, 0.5, 2 / 3)]
budgets = [ConstantBudget(mu=2), ConstantBudget(mu=math.inf), UniformBudget(uniform=(1, 2))]
linear, logistic = HuberLinear(sensitivity="exact"), MallowsLogistic(sensitivity="exact")
wide = HuberLinear(d=20, sigma=1.0, sigma_z=0.2236, sensitivity="exact")
cases = {
    "logistic": (StagedNewton(), logistic),
    "linear": (StagedNewton(), linear),
    "bent": (StagedNewton(bend=0.5), linear),
    "student": (StagedNewton(errors="student"), linear),
    "wide": (StagedNewton(), wide),
    "paths": (PathIntervals(), linear),
    "logistic paths": (PathIntervals(), logistic),
}
found = {}
for name in sys.argv[1:]:
    algorithm, problem = cases[name]
    pairs = list(zip(steps, budgets))
    passed = algorithm.simulate(problem, pairs, np.array([3000]), 11, range(8))
    found[name] = hashlib.sha256(np.ascontiguousarray(passed.values).tobytes()).hexdigest()
print(json.dumps(found))
"""
ALL = ("logistic", "linear", "bent", "student", "wide", "paths", "logistic paths")
COMPILED_ANEW = ("logistic",)
"""what is tried where everything has to be compiled once more, which takes most of the time"""


def hashes(machine):
    names = COMPILED_ANEW if compiles_anew(machine) else ALL
    command = [sys.executable, "-c", SCRIPT, *names]
    result = subprocess.run(command, env=environment(machine), capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(result.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def found():
    first = hashes("this one")  # compiles what is not yet kept, for all but the last
    with ThreadPoolExecutor(2) as pool:
        return {"this one": first, **dict(zip(TRIED, pool.map(hashes, TRIED), strict=True))}


@pytest.mark.parametrize("machine", TRIED)
def test_every_machine_finds_the_same_bits(found, machine):
    assert found[machine]
    assert found[machine] == {name: found["this one"][name] for name in found[machine]}


def test_hashes_tell_runs_apart(found):
    assert len(set(found["this one"].values())) == len(ALL)
