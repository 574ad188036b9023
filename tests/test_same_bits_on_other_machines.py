"""Stored numbers are the same bits on every x86-64 machine: other machines are played by environment variables.

BLAS chooses its kernels and numpy its loops by the processor, and compiled code is made for it. All of them differ in
last digits, and none of them may decide a number that is stored.
"""

import hashlib
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

MACHINES = {
    "one with AVX-512, to BLAS": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "an old one, to BLAS": {"OPENBLAS_CORETYPE": "Prescott"},
    "one without AVX-512, to numpy": {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR AVX512_SKX AVX512F"},
    "one without AVX2, to numpy": {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX512_SKX AVX512F AVX2 FMA3"
    },
    "one without AVX-512, to the compiler": {"NUMBA_CPU_NAME": "haswell"},
}
MEAN, RUN = "problem: {name: rippled-mean, N: 50, d: 5}", "run: {replicates: 3, seed: 1, checkpoints: 3}"
TARGET, PATH = "privacy: {eps: [1, 4], delta: 1e-5}", "schedule: {name: path-length, length: 3}"
CONFIGS = {  # parts of a config, one line each; to add another is to add a line
    "tree": (MEAN, RUN, TARGET, PATH, "algorithm: {name: tree-momentum, epochs: 8}"),
    "tree_printed": (MEAN, RUN, TARGET, PATH, "algorithm: {name: tree-momentum, calibration: paper, epochs: 8}"),
    "tree_plain": (MEAN, RUN, TARGET, PATH, "algorithm: {name: tree-momentum, normalised: false, epochs: 8}"),
    "independent": (MEAN, RUN, TARGET, PATH, "algorithm: {name: tree-momentum, design: independent, epochs: 8}"),
    "root": (MEAN, RUN, TARGET, PATH, "algorithm: {name: tree-momentum, design: square-root, order: fixed, epochs: 8}"),
    "reduced": (MEAN, RUN, TARGET, PATH, "algorithm: {name: reduced-momentum, epochs: 8}"),
    "reduced_printed": (MEAN, RUN, TARGET, PATH, "algorithm: {name: reduced-momentum, calibration: paper, epochs: 8}"),
    "reduced_drawn": (MEAN, RUN, TARGET, PATH, "algorithm: {name: reduced-momentum, order: reshuffled, epochs: 4}"),
    "recursion": (MEAN, RUN, TARGET, PATH, "algorithm: {name: gradient-recursion, epochs: 30}"),
    "descent": (MEAN, RUN, TARGET, "schedule: {name: constant, eta: 0.2}", "algorithm: {name: batch-descent, epochs: 30}"),
    "ridge": ("problem: {name: logistic-ridge, N: 50}", RUN, TARGET, PATH, "algorithm: {name: tree-momentum, epochs: 8}"),
    "welsch": ("problem: {name: welsch-regression, N: 50}", RUN, TARGET, PATH, "algorithm: {name: tree-momentum, epochs: 8}"),
    "adult": ("problem: {name: logistic-ridge, data: adult, N: 50}", RUN, TARGET, PATH, "algorithm: {name: tree-momentum, epochs: 8}"),
}  # fmt: skip
SAMPLED = "algorithm: {name: batch-descent, sampling_rate: 0.1, epochs: 3}"
SUMMARIES = {  # of these the summary alone: their epsilon is a sum of privacy losses, in the last digits another's matter
    "sampled": (MEAN, RUN, TARGET, "schedule: {name: constant, eta: 0.2}", SAMPLED),
}


def stored(folder, machine):
    """Hashes of what is stored after one process has run all configs on one machine."""
    configs = []
    for name, parts in {**CONFIGS, **SUMMARIES}.items():
        configs.append(folder / f"{name}.yaml")
        configs[-1].write_text("\n".join([f"experiment: {name}", *parts]) + "\n")
    results = folder / "results"
    command = [sys.executable, "-m", "dpexp", "run", *map(str, configs), "--results", str(results), "-j", "1", "-q"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **machine}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = [(name, "cells.parquet") for name in CONFIGS]
    files += [(name, "summary.parquet") for name in (*CONFIGS, *SUMMARIES)]
    return {f"{name}/{file}": hashlib.sha256((results / name / file).read_bytes()).hexdigest() for name, file in files}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("here"), {})


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_stored_is_the_same_on_another_machine(machine, here, tmp_path):
    there = stored(tmp_path, MACHINES[machine])
    assert [name for name in here if here[name] != there[name]] == []
