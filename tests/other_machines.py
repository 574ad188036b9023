"""Other machines, played by variables of the environment.

OpenBLAS has routines for every kind of processor and numpy loops for every set of its instructions, and both take those
that suit the processor at hand; the compiler writes code for it. All three can be told to suit another one.
"""

from __future__ import annotations

MACHINES: dict[str, dict[str, str]] = {
    "this one": {},
    "BLAS of Skylake": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "BLAS of Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "BLAS of Prescott": {"OPENBLAS_CORETYPE": "Prescott"},
    "numpy without AVX-512": {"NPY_DISABLE_CPU_FEATURES": "X86_V4,AVX512_ICL,AVX512F,AVX512_SKX"},
    "compiled for Haswell": {"NUMBA_CPU_NAME": "haswell"},
}
"""name -> environment; the last one compiles everything anew"""
