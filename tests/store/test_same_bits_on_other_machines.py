"""Stored numbers of runs are the same bits on every x86-64 machine: other machines are played by environment variables.

BLAS chooses its kernels and numpy its loops by the processor, and compiled code is made for it. All of them differ in
last digits, and none of them may decide a number of a run. What is solved or integrated beside runs agrees to 1e-9:
privacy numbers, intervals, a central fit, and second moments that are known exactly.
"""

import os
import subprocess
import sys

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.conftest import ROOT, call

pytestmark = pytest.mark.slow

MACHINES = {
    "an old one, to BLAS and numpy": {
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX512_SKX AVX512F AVX2 FMA3",
    },
    "one without AVX-512, to the compiler": {"NUMBA_CPU_NAME": "haswell"},
}
"""name -> what its environment has more"""
SOLVED = ("length_", "error_over_bound_", "param_distance_sq_controlled", "loss_gap_controlled")
"""beginnings of the names of metrics that a library solves for or integrates: they agree to 1e-9"""

MEAN, RUN = "problem: {name: rippled-mean, N: 50, d: 5}", "run: {replicates: 3, seed: 1, checkpoints: 3}"
TARGET, PATH = "privacy: {eps: [1, 4], delta: 1e-5}", "schedule: {name: path-length, length: 3}"
SAMPLED = "algorithm: {name: batch-descent, sampling_rate: 0.1, epochs: 3}"
ONE_PASS, STEPS = (
    "run: {n: 3000, replicates: 3, seed: 1, checkpoints: 5}",
    "schedule: {name: power, eta: 0.2, alpha: [1/3, 0.4, 1/2]}",
)
BUDGETS = "privacy: {mu: [1, {uniform: [1, 2]}]}"
SOFTMAX, BATCHES, EPS = (
    "problem: {name: softmax, data: {name: digits}}",
    "run: {n: 30, replicates: 2, seed: 1, checkpoints: 2}",
    "privacy: {eps: 2, delta: 1e-5}",
)
LINEAR = "problem: {name: huber-linear, sensitivity: exact}"
INTERVALS, NEWTON = "run: {n: 3000, replicates: 8, seed: 11, checkpoints: 1}", "schedule: {name: prescribed}"
FITS = "privacy: {mu: [2, inf, {uniform: [1, 2]}]}"
LANGEVIN = "algorithm: {name: dp-sgld, batch_size: 100, accountant: [published, theorem-3-1, pld, last-iterate]}"


def research(place):
    return f"plugins: {ROOT}/research/{place}"


CONFIGS = {  # of every engine one at least
    "tree": (MEAN, RUN, TARGET, PATH, "algorithm: {name: tree-momentum, epochs: 8}"),
    "sampled": (MEAN, RUN, TARGET, "schedule: {name: constant, eta: 0.2}", SAMPLED),
    "linear": ("problem: {name: huber-linear, d: [5, 20]}", ONE_PASS, STEPS, BUDGETS, "algorithm: {name: ldp-sgd}"),
    "logistic": ("problem: {name: mallows-logistic}", ONE_PASS, STEPS, BUDGETS, "algorithm: {name: clipped-ldp-sgd, clip: 0.5}"),
    "langevin": (SOFTMAX, BATCHES, EPS, "schedule: {name: langevin, decreasing: true}", LANGEVIN),
    "newton": (LINEAR, INTERVALS, NEWTON, FITS, "algorithm: {name: staged-newton}"),
    "paths": (LINEAR, INTERVALS, STEPS, FITS, "algorithm: {name: path-intervals}", research("rivals/path_intervals.py")),
}  # fmt: skip
COMPILED_ANEW = ("tree",)
"""what is tried where everything has to be compiled once more, which takes most of the time; one pass on narrower vectors is in
tests/algorithms/test_ldp_sgd.py"""


def stored(folder, machine, names):
    """The summary, and the rows of cells, after a run of the configs of these names on a machine, "" for this process."""
    configs = []
    for name in names:
        configs.append(folder / f"{name}.yaml")
        configs[-1].write_text("\n".join([f"experiment: {name}", *CONFIGS[name]]) + "\n")
    results = folder / "results"
    words = ["run", *map(str, configs), "--results", str(results), "-j", "1", "-q"]
    if machine:
        env = {**os.environ, **MACHINES[machine], "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, "-m", "dpexp", *words]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    else:
        call(*words)
    return {
        name: (
            pd.read_parquet(results / name / "summary.parquet"),
            pq.read_table(results / name / "cells.parquet").to_pylist(),
        )
        for name in names
    }


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("here"), "", CONFIGS)


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_stored_is_the_same_on_another_machine(machine, here, tmp_path):
    there = stored(tmp_path, machine, COMPILED_ANEW if "compiler" in machine else CONFIGS)
    for name, (summary, rows) in there.items():
        # intervals of fits rest on the linear algebra of numpy's BLAS: to 1e-9, below
        measured = (summary["metric"] != "loss_gap") & ~summary["metric"].str.startswith(SOLVED)
        exact = measured & (not name.startswith(("newton", "paths")))
        pd.testing.assert_frame_equal(summary[exact], here[name][0][exact], check_exact=True, obj=name)
        pd.testing.assert_frame_equal(summary, here[name][0], check_exact=False, rtol=1e-9, atol=1e-12, obj=name)
        for row, wanted in zip(rows, here[name][1], strict=True):
            stated = {key for key in row if key.startswith(("eps_", "sound_eps_")) or key in ("gdp_mu", "sound_mu")}
            # every other column to the bit, among them the noise; repr, since nan is no number
            assert {k: repr(v) for k, v in row.items() if k not in stated} == {
                k: repr(v) for k, v in wanted.items() if k not in stated
            }
            assert {k: row[k] for k in stated} == pytest.approx({k: wanted[k] for k in stated}, rel=1e-9, nan_ok=True)
