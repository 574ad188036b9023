"""How users are made of random numbers, in lanes: rows, the common factor of a row, and the errors of responses.

Every column has one standard normal g of its own, whatever the law: laws are compared on common random numbers.

(a) Normals are correlated in place: by the recursion of AR(1), by that of equal correlations, or by a Cholesky factor.
(b) The common factor of a spherical t is sqrt(df / chi-square(df)). A chi-square with an even df is -2 log of a product
of df / 2 uniform numbers, and one more degree is a squared normal.
(c) A column is a function of its g. One with a law of its own is the quantile of that law at Phi(g).
(d) Bailey (1994): for two normals and s = z^2 + v^2, z sqrt(df expm1(s / df) / s) is t with df degrees, for any real
df. As df grows it becomes z.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dpexp.engine.lanes.elementwise import Value, absolute, expm1, log, maximum, normal_cdf, sqrt, where
from dpexp.engine.lanes.language import inlined
from dpexp.engine.lanes.vectors import LANES, load, reals, store

MOST_FACTORS = 18
"""uniform numbers are 2^-52 or more: a product of 18 is no denormal number"""


Law = str | Callable[..., Any]
"""a name of `COLUMNS` or `ERRORS`, or a plug-in's function of a normal number and of numbers k"""


class ErrorShape(NamedTuple):
    """The law of the number from which a response is made: what is compiled."""

    kind: str = "normal"  # `normal` or `uniform`: the stream's own numbers
    unit: Law | None = None  # of `ERRORS`; None: the stream's number itself
    second: bool = False  # whether v is used, a normal of another stream
    grows: bool = False  # whether the error is multiplied by a + b |x_1|
    bends: bool = False  # whether bend (x_1^2 - E x_1^2) is added to the linear predictor


class RowShape(NamedTuple):
    """The law of rows: what is compiled."""

    mixing: str = "independent"  # of the normals: independent, ar1, exchangeable, matrix
    uniforms: int = 0  # uniform numbers of the chi-square of a user
    normals: int = 0  # 0 or 1, of the same
    columns: tuple[tuple[Law, int], ...] = ()  # a law and how many columns in a row have it; none: all are sd g
    table: bool = False  # whether rows are drawn from a table, by one uniform number each

    @property
    def second(self) -> int:
        """Columns that take a second normal."""
        return sum(count for law, count in self.columns if law == "t")


class RowNumbers(NamedTuple):
    """Numbers of that law; other values compile nothing."""

    a: np.ndarray  # [d] sd, or the width of a range, or the value below the cut, or degrees of freedom
    b: np.ndarray  # [d] mean, or the low end, or the value above the cut, or the scale of a t
    low: np.ndarray  # [d] cuts of categories
    high: np.ndarray
    mix: np.ndarray  # [2, d] own share and the share of what came before, or the Cholesky factor [d, d]
    df: float
    errors: np.ndarray  # [7] a and b of a + b |x_1|, two numbers of the law, the size, the bend, and E x_1^2
    weight: np.ndarray  # [1] the cap of the weight
    table: np.ndarray  # [N, d] rows


def t_of(z: Value, v: Value, df: Value) -> Value:
    """(d)"""
    s = maximum(z * z + v * v, 1e-280)
    return z * sqrt(expm1(s / df) * df / s)


COLUMNS: dict[str, Callable[..., Value]] = {
    "normal": lambda g, v, k: k[1] + k[0] * g,
    "uniform": lambda g, v, k: k[1] + k[0] * normal_cdf(g),
    "bernoulli": lambda g, v, k: where(g <= k[3], k[0], k[1]),
    "categorical": lambda g, v, k: where(g <= k[3], 1.0, 0.0) - where(g <= k[2], 1.0, 0.0),
    "t": lambda g, v, k: k[1] * t_of(g, v, k[0]),
}
"""(c): of its own normal (of a factor's columns the first one's), a second one, and a, b, low, high of the design"""


def laplace_error(z: Value, v: Value, k: Value) -> Value:
    size = -log(2.0 * normal_cdf(-absolute(z)))
    return where(z < 0.0, -size, size)


def bounded_error(z: Value, v: Value, k: Value) -> Value:
    """P(e < -r) = (1 - r)^4 / 2 for 0 <= r <= 1, symmetric."""
    size = 1.0 - sqrt(sqrt(2.0 * normal_cdf(-absolute(z))))
    return where(z < 0.0, -size, size)


ERRORS: dict[str, Callable[..., Value]] = {
    "normal": lambda z, v, k: z,
    "t": lambda z, v, k: t_of(z, v, k[0]),
    "laplace": laplace_error,
    "logistic": lambda z, v, k: log(normal_cdf(z)) - log(normal_cdf(-z)),
    "contaminated": lambda z, v, k: where(v <= k[0], k[1] * z, z),
    "skewed": lambda z, v, k: -log(normal_cdf(-z)) - 1.0,
    "bounded": bounded_error,
}
"""the error over its size, of its normal, a second one, and the two numbers of the law"""


def function_of(law: Law, ours: Mapping[str, Callable[..., Value]], compiler: Any = None) -> Callable[..., Value]:
    """One of `COLUMNS` or `ERRORS`, or a plug-in's, of its normal and k, as `compiler` makes it."""
    if isinstance(law, str):
        return ours[law]
    own = compiler(law) if compiler else law
    return lambda z, v, k: own(z, k)


def mixing_of(design: RowShape) -> Callable[..., Any]:
    """(a): mix(x, b, d, n), in place."""
    if design.mixing == "ar1":

        def mix(x, b, d, n):
            before = load(x, (b, 0))
            for j in range(1, d):
                before = n.mix[1, j] * before + n.mix[0, j] * load(x, (b, j))
                store(x, (b, j), before)

    elif design.mixing == "exchangeable":

        def mix(x, b, d, n):
            total = reals(0.0)
            for j in range(d):
                z = load(x, (b, j))
                store(x, (b, j), total + n.mix[0, j] * z)
                total = total + n.mix[1, j] * z

    elif design.mixing == "matrix":

        def mix(x, b, d, n):
            # from the last one, so that what is read has not been written
            for i in range(d):
                j = d - 1 - i
                total = n.mix[j, 0] * load(x, (b, 0))
                for k in range(1, j + 1):
                    total = total + n.mix[j, k] * load(x, (b, k))
                store(x, (b, j), total)

    else:

        def mix(x, b, d, n):
            pass

    return inlined(mix)


def factor_of(design: RowShape) -> Callable[..., Any] | None:
    """(b): factor(u, v, b, n), of every column of the row."""
    count, odd = design.uniforms, design.normals
    if design.table or (not count and not odd):
        return None

    def factor(u, v, b, n):
        total = reals(0.0)
        product = reals(1.0)
        for k in range(count):
            product = product * load(u, (b, k))
            if k % MOST_FACTORS == MOST_FACTORS - 1:
                total = total - 2.0 * log(product)
                product = reals(1.0)
        if count % MOST_FACTORS != 0:
            total = total - 2.0 * log(product)
        if odd > 0:
            z = load(v, (b, 0))
            total = total + z * z
        return sqrt(n.df / maximum(total, 1e-280))

    return inlined(factor)


def column_maker(design: RowShape) -> Callable[..., Any] | None:
    """(c): columns(x, v, b, n), in place; None where all are sd g. Of a table v are the uniform numbers of rows."""
    if design.table:
        return inlined(_from_table)
    if not design.columns:
        return None
    place, used = 0, design.normals
    made = inlined(lambda x, v, b, n: None)
    for law, count in design.columns:
        column, takes = inlined(function_of(law, COLUMNS, inlined)), law == "t"
        made = _chained(made, column, place, place + count, used if takes else -1, law == "categorical")
        place, used = place + count, used + count * takes
    return made


def _from_table(x, u, b, n):
    for lane in range(LANES):
        # uniform numbers are in (0, 1]
        k = int((1.0 - u[b, 0, lane]) * len(n.table))
        for j in range(x.shape[1]):
            x[b, j, lane] = n.table[k, j]


def _chained(before: Any, column: Any, start: int, stop: int, second: int, factor: bool) -> Callable[..., Any]:
    takes = second >= 0

    def columns(x, v, b, n):
        before(x, v, b, n)
        first = load(x, (b, start)) if factor else reals(0.0)
        for j in range(start, stop):
            own = first if factor else load(x, (b, j))
            other = load(v, (b, second + j - start)) if takes else reals(0.0)
            store(x, (b, j), column(own, other, (n.a[j], n.b[j], n.low[j], n.high[j])))

    return inlined(columns)
