"""Table 1 of `ldp-sgd`: the exponents of n in the printed rates, and what the last decade can be expected to show."""

from __future__ import annotations

STRONGLY = "strongly convex"
NON_STRONGLY = "non-strongly convex"


def table1_exponent(estimator: str, convexity: str, alpha: float) -> float | None:
    """Printed exponent of n for eta_n = eta n^-alpha, or None where no column of the table covers alpha.

    Strongly convex: of E|theta - theta*|^2; otherwise of E F(theta) - F*. `estimator` is "sgd" or "asgd". The columns
    are open intervals: 1/3 (non-strongly), 1/2, 2/3 and 1 belong to none. Raises ValueError for an unknown name.
    """
    _check(estimator, convexity)
    # inside its open intervals the table says what the remarks say
    ends = (0, 1 / 2, 1) if convexity == STRONGLY else (1 / 3, 1 / 2, 2 / 3, 1)
    inside = ends[0] < alpha < 1 and alpha not in ends
    return remark_exponent(estimator, convexity, alpha) if inside else None


def remark_exponent(estimator: str, convexity: str, alpha: float) -> float | None:
    """The exponent that Remarks 1 to 4 give, up to logarithms; they also cover some ends of the table's intervals."""
    _check(estimator, convexity)
    if not 0 <= alpha < 1:
        return None
    if convexity == STRONGLY:
        if estimator == "sgd":
            return -alpha
        return -1.0 if alpha <= 1 / 2 else -2 * (1 - alpha)
    if estimator == "sgd":
        if alpha <= 1 / 3:
            return None
        return -(3 * alpha - 1) / 2 if alpha <= 1 / 2 else -alpha / 2 if alpha <= 2 / 3 else -(1 - alpha)
    return -alpha if alpha < 1 / 2 else -(1 - alpha)


def corrected_exponent(estimator: str, alpha: float) -> float | None:
    """The exponent of E|theta - theta*|^2 that holds asymptotically for strongly convex, non-quadratic risk, alpha < 1.

    The average has a bias of order n^-alpha (averaged curvature times the iterate's variance), so its mean square is
    max(n^-1, n^-2 alpha): Table 1 is too optimistic below 1/2 and too pessimistic above.
    """
    _check(estimator, STRONGLY)
    if not 0 < alpha < 1:
        return None
    return -alpha if estimator == "sgd" else -min(1.0, 2 * alpha)


def _check(estimator: str, convexity: str) -> None:
    if estimator not in ("sgd", "asgd"):
        raise ValueError(f"estimator is 'sgd' or 'asgd', not {estimator!r}")
    if convexity not in (STRONGLY, NON_STRONGLY):
        raise ValueError(f"convexity is {STRONGLY!r} or {NON_STRONGLY!r}, not {convexity!r}")
