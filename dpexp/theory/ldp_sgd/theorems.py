"""The statements of `ldp-sgd`, with what each bounds and when it may be trusted."""

from functools import partial

from dpexp.theory.ldp_sgd.privacy import theorem1, theorem2
from dpexp.theory.ldp_sgd.table1 import corrected_exponent, remark_exponent, table1_exponent
from dpexp.theory.ldp_sgd.theorem3 import theorem3_printed, theorem3_recursion
from dpexp.theory.ldp_sgd.theorem4 import (
    theorem4_completed,
    theorem4_printed_log10,
    theorem4_squared_log10,
    theorem4_without_b,
)
from dpexp.theory.ldp_sgd.theorem5 import theorem5_last_iterate, theorem5_printed, theorem5_rooted
from dpexp.theory.ldp_sgd.theorem6 import theorem6_completed, theorem6_visible
from dpexp.theory.theorem import Theorem

_ONCE = ("every user is used once", "budgets independent of the data")
_STRONG = ("gradients bounded by C0", "M-smooth and m-strongly convex where the iterates are (m is local)")
_HESSIAN = (*_STRONG, "Lipschitz Hessian, in the mean")
_CONVEX = ("gradients bounded by C0", "convex")
_SMOOTH = (*_CONVEX, "M-smooth", "Lipschitz Hessian")
_of = partial(Theorem, "ldp-sgd")

THEOREMS: dict[str, Theorem] = {
    "ldp-sgd/theorem-1": _of("Theorem 1", "printed", "guarantee", "gdp_mu", "sgd", _ONCE, "any budgets", theorem1),
    "ldp-sgd/theorem-2": _of("Theorem 2", "printed", "guarantee", "gdp_mu", "asgd", _ONCE, "any budgets", theorem2),
    "ldp-sgd/theorem-3": _of(
        "Theorem 3", "printed", "upper", "param_distance_sq", "sgd", _STRONG, "alpha in [0, 1)", theorem3_printed,
    ),
    "ldp-sgd/theorem-3/recursion": _of(
        "Theorem 3", "completed", "upper", "param_distance_sq", "sgd", _STRONG, "alpha in [0, 1]", theorem3_recursion,
    ),
    "ldp-sgd/theorem-4": _of(
        "Theorem 4 (log10; C_{3,0} = C_{4,0} = 0)", "printed", "upper", "param_distance_sq", "asgd", _HESSIAN,
        "alpha in [0, 1)", theorem4_printed_log10,
    ),
    "ldp-sgd/theorem-4/squared": _of(
        "Theorem 4 (log10), with eta^2 in B", "completed", "upper", "param_distance_sq", "asgd", _HESSIAN,
        "alpha in [0, 1)", theorem4_squared_log10,
    ),
    "ldp-sgd/theorem-4/without-b": _of(
        "Theorem 4, the terms without B", "printed", "rate", "param_distance_sq", "asgd", _HESSIAN, "alpha in [0, 1)",
        theorem4_without_b,
    ),
    "ldp-sgd/theorem-4/completed": _of(
        "Theorem 4", "completed", "upper", "param_distance_sq", "asgd", _HESSIAN, "alpha in [0, 1]", theorem4_completed,
    ),
    "ldp-sgd/theorem-5": _of(
        "Theorem 5", "printed", "upper", "loss_gap", "sgd", _SMOOTH, "alpha in [1/3, 1)", theorem5_printed,
    ),
    "ldp-sgd/theorem-5/rooted": _of(
        "Theorem 5, with a root in its third case", "completed", "upper", "loss_gap", "sgd", _SMOOTH,
        "alpha in [1/3, 1)", theorem5_rooted,
    ),
    "ldp-sgd/theorem-5/last-iterate": _of(
        "Theorem 5", "completed", "upper", "loss_gap", "sgd", _CONVEX, "alpha in [0, 1]", theorem5_last_iterate,
    ),
    "ldp-sgd/theorem-6": _of(
        "Theorem 6 (two of its three terms)", "printed", "upper", "loss_gap", "asgd", _SMOOTH, "alpha in [0, 1)",
        theorem6_visible,
    ),
    "ldp-sgd/theorem-6/completed": _of(
        "Theorem 6", "completed", "upper", "loss_gap", "asgd", _CONVEX, "alpha in [0, 1]", theorem6_completed,
    ),
    "ldp-sgd/table-1": _of(
        "Table 1", "printed", "rate", "exponent", "both", (), "alpha inside the table's intervals", table1_exponent,
    ),
    "ldp-sgd/remarks": _of(
        "Remarks 1 to 4", "printed", "rate", "exponent", "both", (), "alpha in [0, 1)", remark_exponent,
    ),
    "ldp-sgd/table-1/corrected": _of(
        "Table 1, strongly convex", "completed", "rate", "exponent", "both", _HESSIAN, "alpha in (0, 1)",
        corrected_exponent,
    ),
}  # fmt: skip
