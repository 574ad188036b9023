"""The statements of `ldp-sgd`, with what each bounds and when it may be trusted."""

from functools import partial

from dpexp.theory.ldp_sgd import convex, table1, terms, theorem3, theorem4
from dpexp.theory.theorem import Theorem

_ONCE = ("every user is used once", "budgets independent of the data")
_STRONG = ("gradients bounded by C0", "M-smooth and m-strongly convex where the iterates are (m is local)")
_HESSIAN = (*_STRONG, "Lipschitz Hessian, in the mean")
_CONVEX = ("gradients bounded by C0", "convex")
_SMOOTH = (*_CONVEX, "M-smooth", "Lipschitz Hessian")
_OPEN, _CLOSED, _THIRD = "alpha in [0, 1)", "alpha in [0, 1]", "alpha in [1/3, 1)"
_of = partial(Theorem, "ldp-sgd")
_gdp = partial(_of, form="printed", kind="guarantee", quantity="gdp_mu", assumes=_ONCE, valid="any budgets")
_distance = partial(_of, kind="upper", quantity="param_distance_sq")
_iterate = partial(_distance, estimator="sgd", assumes=_STRONG)
_average = partial(_distance, estimator="asgd", assumes=_HESSIAN)
_printed_gap = partial(_of, form="printed", kind="upper", quantity="loss_gap", assumes=_SMOOTH)
_convex_gap = partial(_printed_gap, form="completed", assumes=_CONVEX, valid=_CLOSED)
_exponent = partial(_of, form="printed", kind="rate", quantity="exponent", estimator="both", assumes=())

THEOREMS: dict[str, Theorem] = {
    "ldp-sgd/theorem-1": _gdp("Theorem 1", estimator="sgd", function=terms.theorem1),
    "ldp-sgd/theorem-2": _gdp("Theorem 2", estimator="asgd", function=terms.theorem2),
    "ldp-sgd/theorem-3": _iterate("Theorem 3", "printed", valid=_OPEN, function=theorem3.theorem3_printed),
    "ldp-sgd/theorem-3/recursion": _iterate(
        "Theorem 3", "completed", valid=_CLOSED, function=theorem3.theorem3_recursion,
    ),
    "ldp-sgd/theorem-4": _average(
        "Theorem 4 (log10; C_{3,0} = C_{4,0} = 0)", "printed", valid=_OPEN, function=theorem4.theorem4_printed_log10,
    ),
    "ldp-sgd/theorem-4/squared": _average(
        "Theorem 4 (log10), with eta^2 in B", "completed", valid=_OPEN, function=theorem4.theorem4_squared_log10,
    ),
    "ldp-sgd/theorem-4/without-b": _average(
        "Theorem 4, the terms without B", "printed", kind="rate", valid=_OPEN, function=theorem4.theorem4_without_b,
    ),
    "ldp-sgd/theorem-4/completed": _average(
        "Theorem 4", "completed", valid=_CLOSED, function=theorem4.theorem4_completed,
    ),
    "ldp-sgd/theorem-5": _printed_gap("Theorem 5", estimator="sgd", valid=_THIRD, function=convex.theorem5_printed),
    "ldp-sgd/theorem-5/rooted": _printed_gap(
        "Theorem 5, with a root in its third case", form="completed", estimator="sgd", valid=_THIRD,
        function=convex.theorem5_rooted,
    ),
    "ldp-sgd/theorem-5/last-iterate": _convex_gap(
        "Theorem 5", estimator="sgd", function=convex.theorem5_last_iterate,
    ),
    "ldp-sgd/theorem-6": _printed_gap(
        "Theorem 6 (two of its three terms)", estimator="asgd", valid=_OPEN, function=convex.theorem6_visible,
    ),
    "ldp-sgd/theorem-6/completed": _convex_gap("Theorem 6", estimator="asgd", function=convex.theorem6_completed),
    "ldp-sgd/table-1": _exponent(
        "Table 1", valid="alpha inside the table's intervals", function=table1.table1_exponent,
    ),
    "ldp-sgd/remarks": _exponent("Remarks 1 to 4", valid=_OPEN, function=table1.remark_exponent),
    "ldp-sgd/table-1/corrected": _exponent(
        "Table 1, strongly convex", form="completed", assumes=_HESSIAN, valid="alpha in (0, 1)",
        function=table1.corrected_exponent,
    ),
}  # fmt: skip
