"""Other machines, played by variables of the environment.

OpenBLAS has routines for every kind of processor and numpy loops for every set of its instructions, and both take those
that suit the processor at hand; the compiler writes code for it. All three can be told to suit another one.
"""

from __future__ import annotations

import os

import pandas as pd

from tests.conftest import AT_LENGTH

MACHINES: dict[str, dict[str, str]] = {
    "this one": {},
    "one with AVX-512, to BLAS": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "one without AVX-512, to BLAS": {"OPENBLAS_CORETYPE": "Haswell"},
    "an old one, to BLAS": {"OPENBLAS_CORETYPE": "Prescott"},
    "one without AVX-512, to numpy": {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR AVX512_SKX AVX512F"},
    "one without AVX2, to numpy": {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX512_SKX AVX512F AVX2 FMA3"
    },
    "an old one, to BLAS and numpy": {
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX512_SKX AVX512F AVX2 FMA3",
    },
    "one without AVX-512, to the compiler": {"NUMBA_CPU_NAME": "haswell"},
}
"""name -> what its environment has more"""
OTHERS = [machine for machine in MACHINES if machine != "this one"]


TRIED = OTHERS if AT_LENGTH else OTHERS[-2:]
"""those of whole runs: one for BLAS and numpy and one for the compiler, and in `make soak` all"""


def environment(machine: str) -> dict[str, str]:
    """Of a process on that machine. numpy warns of features to turn off that it does not know."""
    played = {name for more in MACHINES.values() for name in more}
    own = {name: value for name, value in os.environ.items() if name not in played}
    return {**own, **MACHINES[machine], "PYTHONWARNINGS": "ignore"}


def compiles_anew(machine: str) -> bool:
    """Whether nothing that was compiled before is of use there."""
    return "NUMBA_CPU_NAME" in MACHINES[machine]


SOLVED = ("length_", "error_over_bound_", "param_distance_sq_controlled", "loss_gap_controlled")
"""beginnings of the names of metrics that a library solves for or integrates: they agree to 1e-9"""


def of_runs(summary: pd.DataFrame) -> pd.Series:
    """Which rows of a summary are numbers of a run alone, which are the same bits on every machine; a loss is an integral
    beside it."""
    own = (summary["estimator"] != "central-newton") & (summary["metric"] != "loss_gap")
    return own & ~summary["metric"].str.startswith(SOLVED)
