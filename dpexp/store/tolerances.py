"""How far a number may be from the published one, by metric, and why.

Numbers are the same bits on every processor that was tried or played. A plug-in may compute by a library's matrix
products, whose order of summation the processor chooses, and another system's library may round otherwise.
"""

from __future__ import annotations

from typing import NamedTuple


class Tolerance(NamedTuple):
    """A number agrees if it differs by at most `relative` of its size, or of the largest number of its kind in the file
    where it is much smaller than that; or by at most `absolute`."""

    relative: float
    absolute: float
    why: str


SHORT = Tolerance(1e-12, 0.0, "short runs in 64 bits, which hardly amplify a rounding error")
LONG = Tolerance(1e-6, 0.0, "long runs in 64 bits, which amplify one")
SINGLE = Tolerance(1e-4, 0.0, "runs in 32 bits")
RECORDS = Tolerance(0.0, 2e-3, "a share of records, of which a few lie on the boundary between two classes")
INTERVALS = Tolerance(1e-6, 0.0, "lengths and errors of intervals, from small systems of equations in 64 bits")
RUNS = Tolerance(0.0, 1 / 64, "a share of runs, one of which may have its interval's end at the truth")
DIFFERENCE = Tolerance(1e-9, 0.0, "differences of numbers of short runs in 64 bits")
COORDINATES = ("intercept", "slopes", "first_slope", "last_slope", "last")
BY_METRIC = {
    "param_distance_sq": SHORT,
    "param_distance": SHORT,
    "coef_distance_sq": SHORT,
    "loss_gap": SHORT,
    "param_distance_sq_controlled": DIFFERENCE,
    "loss_gap_controlled": DIFFERENCE,
    "projections": SHORT,
    "objective": LONG,
    "grad_norm": LONG,
    "mean_grad_norm": LONG,
    "direction_error": LONG,
    "lemma5_slack": LONG,
    "param_norm_sq": SINGLE,
    "train_loss": SINGLE,
    "test_accuracy": RECORDS,
    "runs": SHORT,
    "score": Tolerance(0.0, 5.0, "a number of records, of which a few lie on the boundary between two classes"),
    "candidate": Tolerance(0.0, 1.0, "which candidate is the best can hang on a few records"),
    **{f"{what}_{name}": RUNS for what in ("covered", "bounded", "wald") for name in COORDINATES},
    **{
        f"{what}_{name}": INTERVALS
        for what in ("length", "length_over_bound", "error_over_bound")
        for name in COORDINATES
    },
}
EVIDENCE = Tolerance(1e-6, 1e-9, "numbers behind a verdict, which follow from all of these")
STATED = Tolerance(1e-9, 0.0, "parameters and privacy statements, which are sums and quadratures")
