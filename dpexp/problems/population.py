"""The population from which users are drawn, as `population:` of a config: rows, coefficients, errors and weights.

A user holds x = (1, z) and y = t* + error, or a label with the chance link(t*), for
t* = x'beta* + bend (x_1^2 - E x_1^2). Every column of z is a function of one standard normal of its own, and
`correlation` is that of these normals: laws are compared on common random numbers. Every default is filled in, so that
one population has one form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PrivateAttr,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)

from dpexp.core.errors import DataError
from dpexp.core.files import FOLDER
from dpexp.core.parameters import Dimension, Fault, Faults, Finite, Parameters
from dpexp.problems.public_rows import public_rows, with_content
from dpexp.problems.weights import OURS, WEIGHT_CAP, MallowsWeight, NoWeight, Weight, named_weight

REQUIRED = math.nan
COLUMNS: dict[str, dict[str, float]] = {
    "normal": {"sd": 1.0, "mean": 0.0},
    "t": {"df": REQUIRED, "scale": 1.0},
    "uniform": {"low": -1.0, "high": 1.0},
    "bernoulli": {"p": REQUIRED, "low": 0.0, "high": 1.0},
    "categorical": {"p": REQUIRED},
}
"""laws of a column, with the keys that each takes and their defaults"""
ROWS = ("normal", "t", "uniform")
"""laws of all columns together; `t` is spherical: one factor a row"""
ERRORS: dict[str, dict[str, float]] = {
    "normal": {"sd": 1.0},
    "t": {"df": REQUIRED, "scale": 1.0},
    "laplace": {"scale": 1.0},
    "logistic": {"scale": 1.0},
    "contaminated": {"share": 0.1, "sd": 1.0, "far": 10.0},
    "skewed": {"scale": 1.0},
    "bounded": {"support": 1.0},
}
RULES = (("intercept", "slopes"), ("nonzero", "value", "intercept"), ("first", "decay", "intercept"))
"""keys of the rules for coefficients"""
LEAST_EIGENVALUE = 1e-8
MOST_ROW_DF = 200

Keys = tuple[str | int, ...]
"""of a place in the config"""


def _shape(value: object) -> str:
    if isinstance(value, list | tuple):
        return "list"
    return "mapping" if isinstance(value, Mapping | Parameters) else "number"


Size = Annotated[float, Field(ge=1e-6, le=1e6)]
Number = Annotated[Finite, Tag("number")]
Vector = Annotated[tuple[Finite, ...], Tag("list")]
Matrix = Annotated[tuple[tuple[float, ...], ...], Tag("list")]
Chance = Annotated[float, Field(gt=0, lt=1), Tag("number")]
Chances = Annotated[tuple[Annotated[float, Field(gt=0, lt=1)], ...], Field(min_length=2, max_length=100), Tag("list")]


class _Sparse(Parameters):
    """Parameters whose stored form leaves out what is None or follows from the rest."""

    @model_serializer(mode="wrap")
    def _without_none(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values = {key: value for key, value in dump(self).items() if value is not None and (key, value) != ("times", 1)}
        listed = {"columns", "rows"} & values.keys()
        return {key: value for key, value in values.items() if not (listed and key == "law")}


class NamedLaw(_Sparse):
    """A law by its name, with all the numbers that it takes."""

    laws: ClassVar[dict[str, dict[str, float]]] = COLUMNS

    law: str = "normal"
    sd: Size | None = None
    mean: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None
    df: Annotated[float, Field(ge=0.5, le=1e6)] | None = None
    scale: Size | None = None
    p: Annotated[Chance | Chances, Discriminator(_shape)] | None = None
    share: Annotated[float, Field(ge=0, le=0.5)] | None = None
    far: Size | None = None
    support: Size | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, entry: object) -> object:
        entry = {"law": entry} if isinstance(entry, str) else entry
        if not isinstance(entry, Mapping) or "columns" in entry:
            return entry
        if "rows" in entry:
            return with_content(entry)
        defaults = {key: value for key, value in cls.keys(entry).items() if not math.isnan(value)}
        return {"law": "normal", **defaults, **entry}

    @classmethod
    def keys(cls, entry: Mapping[str, Any]) -> dict[str, float]:
        """The keys of a law with its name and some numbers, with their defaults."""
        return cls.laws.get(str(entry.get("law", "normal")), {})

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers that are set, by their keys."""
        keys = (key for key in NamedLaw.model_fields if key != "law")
        return {key: value for key in keys if (value := getattr(self, key)) is not None}

    def value(self, key: str) -> float:
        """A number of the law."""
        return float(getattr(self, key))

    def faults(self, path: Keys, kind: str) -> Iterator[Fault]:
        """What is wrong with the law alone."""
        if self.law not in self.laws:
            hint = "{law: t, df: 1}" if self.law == "cauchy" else f"laws: {', '.join(self.laws)}"
            yield Fault((*path, "law"), f"names an unknown law of {kind} '{self.law}'", hint)
            return
        numbers = self.numbers
        keys = self.keys({"law": self.law, **numbers})
        for key in (key for key in numbers if key not in keys):
            yield Fault((*path, key), f"does not belong to the law {self.law}", f"keys: {', '.join(keys)}")
        yield from (Fault(path, f"needs '{key}'") for key in keys if key not in numbers)
        if self.law == "uniform" and not self.value("low") < self.value("high"):
            yield Fault(path, f"must have low < high, got {self.value('low'):g} and {self.value('high'):g}")
        if self.p is not None and isinstance(self.p, tuple) != (self.law == "categorical"):
            yield Fault((*path, "p"), "must be a number (bernoulli) or a list (categorical)")
        elif isinstance(self.p, tuple) and abs((total := math.fsum(self.p)) - 1) > 1e-9:
            yield Fault((*path, "p"), f"is wrong: the probabilities sum to {total:.10g}, not 1")


class Squares(NamedTuple):
    """Of the columns that a law makes; inf where there is none."""

    largest: float  # sum of the largest squares
    span: float  # the largest squared distance of two values
    gap: float  # the least of 4 largest - (v + v')^2 over different values of one of them; 0 where values are close
    mean: float  # of the first


class ColumnLaw(NamedLaw):
    """One column of the rows, or `times` of them; a categorical one becomes an indicator a level after the first."""

    times: Dimension = 1

    @property
    def width(self) -> int:
        """How many columns it makes."""
        return len(self.levels) - 1 if self.law == "categorical" else self.times

    @property
    def levels(self) -> tuple[float, ...]:
        """Chances of the categories, or of 0 and 1."""
        if isinstance(self.p, tuple):
            return self.p
        return () if self.p is None else (1 - self.p, self.p)

    @property
    def squares(self) -> Squares:
        """Squares of its values."""
        if self.law == "normal":
            return Squares(math.inf, math.inf, 0.0, self.value("sd") ** 2 + self.value("mean") ** 2)
        if self.law == "t":
            df = self.value("df")
            return Squares(math.inf, math.inf, 0.0, self.value("scale") ** 2 * df / (df - 2) if df > 2 else math.inf)
        if self.law == "categorical":
            return Squares(1.0, min(2.0, self.width), 2.0 if self.width > 1 else 3.0, self.levels[1])
        low, high = self.value("low"), self.value("high")
        largest, span = max(low**2, high**2), self.times * (high - low) ** 2
        if self.law == "uniform":
            return Squares(self.times * largest, span, 0.0, (low * low + low * high + high * high) / 3)
        mean = self.levels[0] * low**2 + self.levels[1] * high**2
        return Squares(self.times * largest, span, 4 * largest - (low + high) ** 2, mean)


class Correlation(_Sparse):
    """Correlation of neighbours r, with r^k at a distance of k columns, or one correlation of all pairs."""

    ar1: float | None = None
    exchangeable: float | None = None


class RowLaw(NamedLaw):
    """The law of rows: one law for all columns, a list of columns, or the rows of a public table, drawn uniformly."""

    columns: Annotated[tuple[ColumnLaw, ...], Field(min_length=1)] | None = None
    rows: str | None = None
    """the table's file"""
    sha256: str | None = None
    longest: float | None = None
    """its hash, and the largest |(1, z)| of its rows"""
    _folder: Path | None = PrivateAttr(None)
    correlation: Annotated[Annotated[Correlation, Tag("mapping")] | Matrix, Discriminator(_shape)] | None = None

    @model_validator(mode="after")
    def _located(self) -> RowLaw:
        self._folder = None if self.rows is None else FOLDER.get()
        return self

    @property
    def table(self) -> np.ndarray:
        """The rows of the table, [N, d]. Raises DataError where they are not read."""
        assert self.rows is not None
        return public_rows(self.rows, self._folder, self.sha256)

    def matrix(self, d: int) -> np.ndarray:
        """Correlation of the columns' normals, [d, d]."""
        rule = self.correlation
        if rule is None:
            return np.eye(d)
        if isinstance(rule, tuple):
            return np.array(rule)
        if rule.ar1 is not None:
            return np.asarray(rule.ar1 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d))))
        return np.where(np.eye(d) > 0, 1.0, rule.exchangeable or 0.0)

    def all_faults(self, d: int | None) -> Iterator[Fault]:
        """What is wrong with the law of rows, of `d` columns where the config states d."""
        if self.rows is not None:
            yield from self._table_faults(d)
        elif self.columns is not None:
            if self.law != "normal" or self.numbers:
                yield Fault(("design",), "has a law and 'columns': give one of them")
            for k, column in enumerate(self.columns):
                yield from column.faults(("design", "columns", k), "columns")
            width = sum(column.width for column in self.columns)
            if d not in (None, width):
                yield Fault(("d",), f"is {d}, but 'design.columns' makes {width} columns", "leave out `d`")
        elif self.law in COLUMNS and self.law not in ROWS:
            own = {"law": self.law} | {k: v for k, v in self.numbers.items() if v != COLUMNS[self.law].get(k)}
            keys = ", ".join(f"{key}: {value}" for key, value in own.items())
            hint = f"design: {{columns: [{{{keys}, times: {d or 5}}}]}}"
            yield Fault(("design", "law"), f"is wrong: {self.law} is a law of one column", hint)
        else:
            yield from self.faults(("design",), "rows")
            if self.law == "t" and self.df is not None and not (self.df.is_integer() and 1 <= self.df <= MOST_ROW_DF):
                hint = f"`columns: [{{law: t, df: {self.df:g}, times: {d or 5}}}]` takes any"
                yield Fault(("design", "df"), f"must be a whole number, 1 to {MOST_ROW_DF}, got {self.df:g}", hint)

    def _table_faults(self, d: int | None) -> Iterator[Fault]:
        if others := sorted(self.model_fields_set - {"rows", "sha256", "longest"}):
            yield Fault(("design", others[0]), "does not go with 'rows', which is a law", "keep one of them")
        try:
            # stored results state d, and do not read their rows
            columns = d if d and self._folder is None else self.table.shape[1]
        except DataError as error:
            yield Fault(("design", "rows"), f"cannot be used: {error.message}", error.hint)
            return
        if d not in (None, columns):
            yield Fault(("d",), f"is {d}, but the table has {columns} columns", "leave out `d`")

    def correlation_faults(self, d: int) -> Iterator[Fault]:
        """What is wrong with the correlation of d columns."""
        rule, path, hint = self.correlation, ("design", "correlation"), f"with {d} columns above -1/{d - 1}"
        if isinstance(rule, tuple):
            if {len(rule), *map(len, rule)} != {d}:
                yield Fault(path, f"is no matrix of {d} rows and {d} columns")
                return
            matrix = np.array(rule)
            for i, j in np.argwhere(~(matrix == matrix.T) | (np.eye(d, dtype=bool) & (matrix != 1))).tolist()[:1]:
                other = "" if i == j else f" and ({j + 1}, {i + 1}) is {matrix[j, i]:g}"
                entry = f"entry ({i + 1}, {j + 1}) is {matrix[i, j]:g}{other}"
                yield Fault(path, f"must be symmetric with 1 on the diagonal: {entry}")
                return
        elif rule is not None:
            if len(named := list(rule.model_dump().items())) != 1:
                yield Fault(path, "needs one of 'ar1' and 'exchangeable'")
                return
            key, value = named[0]
            if abs(value) >= 1:
                bound = "less than 1" if value > 0 else "greater than -1"
                yield Fault((*path, key), f"must be {bound}, got {value:g}")
                return
        least = float(np.linalg.eigvalsh(self.matrix(d))[0]) if rule is not None else 1.0
        if least < LEAST_EIGENVALUE:
            if isinstance(rule, tuple):
                hint = f"multiply the entries off the diagonal by less than {math.floor(1000 / (1 - least)) / 1000:g}"
            yield Fault(path, f"is not positive definite: its least eigenvalue is {least:.3g}", hint)


class Coefficients(_Sparse):
    """True coefficients by a rule."""

    intercept: Finite | None = None
    slopes: Annotated[Number | Vector, Discriminator(_shape)] | None = None
    nonzero: Dimension | None = None
    value: Finite | None = None
    first: Finite | None = None
    decay: Annotated[float, Field(ge=-1, le=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, entry: object) -> object:
        if not isinstance(entry, Mapping):
            return entry
        value = {"value": 1.0} if "nonzero" in entry else {}
        intercept = entry.get("value", 1.0) if "nonzero" in entry else entry.get("first")
        return {**value, **({} if intercept is None else {"intercept": intercept}), **entry}

    def beta(self, d: int) -> np.ndarray:
        """The coefficients of d columns, the intercept first."""
        if self.slopes is not None:
            slopes = np.broadcast_to(self.slopes, d)
        elif self.nonzero is not None:
            slopes = np.where(np.arange(d) < self.nonzero, float(self.value or 0.0), 0.0)
        else:
            slopes = float(self.first or 0.0) * float(self.decay or 0.0) ** np.arange(d)
        return np.append(float(self.intercept or 0.0), slopes)

    def faults(self, d: int) -> Iterator[Fault]:
        """What is wrong with the rule for d columns."""
        keys = set(self.model_dump())
        if not any(set(rule) == keys for rule in RULES):
            hint = " or ".join(f"{{{', '.join(rule)}}}" for rule in RULES)
            yield Fault(("coefficients",), "is no rule", hint)
        elif isinstance(self.slopes, tuple) and len(self.slopes) != d:
            yield Fault(("coefficients", "slopes"), f"has {len(self.slopes)} numbers, but there are {d} slopes")
        elif self.nonzero is not None and self.nonzero > d:
            yield Fault(("coefficients", "nonzero"), f"is {self.nonzero}, but there are {d} slopes")


class ErrorLaw(NamedLaw):
    """The law of the error; `heteroscedastic` [a, b] multiplies it by a + b |x_1|, x_1 in its own units."""

    laws: ClassVar[dict[str, dict[str, float]]] = ERRORS

    heteroscedastic: Annotated[
        tuple[float, ...] | None, BeforeValidator(lambda factors: None if factors in ((1, 0), [1, 0]) else factors)
    ] = None

    @classmethod
    def keys(cls, entry: Mapping[str, Any]) -> dict[str, float]:
        # a t is sized by its scale or its standard deviation
        by_sd = entry.get("law") == "t" and entry.get("sd") is not None
        return {"df": REQUIRED, "sd": REQUIRED} if by_sd else super().keys(entry)

    @property
    def size(self) -> float:
        """What the unit error is multiplied by: the standard deviation of a normal, the scale of the others."""
        if self.law == "t" and self.sd is not None:
            return self.sd * math.sqrt((self.value("df") - 2) / self.value("df"))
        return self.value({"normal": "sd", "contaminated": "sd", "bounded": "support"}.get(self.law, "scale"))

    def faults(self, path: Keys, kind: str) -> Iterator[Fault]:
        yield from super().faults(path, kind)
        if self.law == "t" and self.sd is not None and self.df is not None and self.df <= 2:
            message = f"is wrong: t with df = {self.df:g} has no standard deviation: give 'scale', or df > 2"
            yield Fault(path, message)
        factors = self.heteroscedastic
        if factors is not None and (len(factors) != 2 or min(factors) < 0 or max(factors) == 0):
            message = "must be two numbers of at least 0, not both 0"
            yield Fault((*path, "heteroscedastic"), message, "for instance [1, 0.5]")


class Response(Parameters):
    """The chance of a label 1 as a function of t*."""

    link: Literal["logit", "probit", "cloglog"] = "logit"


class Mallows(Parameters):
    mallows: MallowsWeight = MallowsWeight()


def _weight_form(value: object) -> str:
    if value in OURS:
        return "word"
    return "mapping" if isinstance(value, Mallows) or (isinstance(value, Mapping) and "mallows" in value) else "own"


class Population(Parameters):
    """Rows, coefficients, errors and weights. Raises Faults where they do not fit each other."""

    d: Dimension | None = None
    design: RowLaw = RowLaw(sd=1.0, mean=0.0)
    coefficients: Annotated[Number | Vector | Annotated[Coefficients, Tag("mapping")], Discriminator(_shape)] = 1.0
    errors: ErrorLaw | None = None
    response: Response | None = None
    bend: Annotated[float, Field(ge=-10, le=10)] = 0.0
    weights: Annotated[
        Annotated[Literal["mallows", "none"], Tag("word")]
        | Annotated[Mallows, Tag("mapping")]
        | Annotated[SerializeAsAny[Weight], BeforeValidator(named_weight), Tag("own")],
        Discriminator(_weight_form),
    ] = "mallows"

    @model_validator(mode="after")
    def _parts_fit(self) -> Population:
        if faults := list(self._faults()):
            raise Faults(faults)
        return self

    @model_serializer(mode="wrap")
    def _canonical(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        stored = {key: value for key, value in dump(self).items() if value is not None}
        return stored | {"d": self.width} | ({"weights": "mallows"} if self.cap == WEIGHT_CAP else {})

    @property
    def columns(self) -> tuple[ColumnLaw, ...]:
        """The columns one by one, where each has a law of its own."""
        rows = self.design
        numbers = {} if rows.columns else {key: rows.value(key) for key in COLUMNS[rows.law]}
        return rows.columns or (ColumnLaw(law=rows.law, times=self.width, **numbers),)

    @property
    def width(self) -> int:
        """d, the number of columns without the intercept."""
        if self.design.columns is not None:
            return sum(column.width for column in self.design.columns)
        if self.d is not None:
            return self.d
        if self.design.rows is not None:
            return self.design.table.shape[1]
        return max(1, len(self.coefficients) - 1) if isinstance(self.coefficients, tuple) else 5

    @property
    def beta(self) -> np.ndarray:
        """True coefficients, [d + 1]."""
        rule = self.coefficients
        if isinstance(rule, Coefficients):
            return rule.beta(self.width)
        return np.array(rule) if isinstance(rule, tuple) else np.full(self.width + 1, float(rule))

    @property
    def correlation(self) -> np.ndarray:
        """Correlation of the columns' normals, [d, d]."""
        return self.design.matrix(self.width)

    @property
    def weight(self) -> Weight:
        """What a user multiplies its gradient by."""
        if isinstance(self.weights, Mallows):
            return self.weights.mallows
        if isinstance(self.weights, Weight):
            return self.weights
        return MallowsWeight() if self.weights == "mallows" else NoWeight(row=self.reach)

    @property
    def cap(self) -> float:
        """c of w(x) = min(1, c / |x|^2); inf for other weights."""
        return self.weight.cap if isinstance(self.weight, MallowsWeight) else math.inf

    @property
    def reach(self) -> float:
        """The largest |x| that a row can have; inf where there is none."""
        return self.design.longest or math.sqrt(1 + sum(column.squares.largest for column in self.columns))

    @property
    def span(self) -> float:
        """The largest |x - x'| of two rows; of a table a bound."""
        if self.design.longest is not None:
            return 2 * math.sqrt(self.design.longest**2 - 1)
        return math.sqrt(sum(column.squares.span for column in self.columns))

    @property
    def pair(self) -> float:
        """The supremum of |x + x'| over different rows; of a table a bound."""
        gap = 0.0 if self.design.rows is not None else min(column.squares.gap for column in self.columns)
        return math.sqrt(4 * self.reach**2 - gap)

    @property
    def mean_square(self) -> float:
        """E x_1^2 of the first column; inf where there is none."""
        if self.design.rows is not None:
            return float(np.mean(self.design.table[:, 0] ** 2))
        return self.columns[0].squares.mean

    @property
    def grows(self) -> bool:
        """Whether the size of errors depends on x."""
        return self.errors is not None and self.errors.heteroscedastic is not None

    @property
    def short(self) -> dict[str, float] | None:
        """`d`, `sigma_z`, `beta` and, where errors are set, `sigma`, where these say the same; None elsewhere."""
        rows, errors, beta = self.design, self.errors, self.beta
        listed = rows.columns is not None or rows.rows is not None
        plain = not listed and rows.law == "normal" and rows.correlation is None and rows.value("mean") == 0
        usual = (errors is None or errors.law == "normal") and not self.grows
        logit = self.response is None or self.response.link == "logit"
        if not (plain and usual and logit and len(set(beta)) == 1 and self.cap == WEIGHT_CAP and not self.bend):
            return None
        values = {"d": self.width, "sigma_z": rows.value("sd"), "beta": float(beta[0])}
        return values if errors is None else {**values, "sigma": errors.size}

    def _faults(self) -> Iterator[Fault]:
        of_laws = list(self.design.all_faults(self.d))
        of_laws += [] if self.errors is None else self.errors.faults(("errors",), "errors")
        yield from of_laws
        if of_laws:
            return
        d, rule = self.width, self.coefficients
        if isinstance(rule, tuple) and len(rule) != d + 1:
            message = f"has {len(rule)} numbers; d = {d} needs {d + 1}, the intercept first"
            hint = "a list is one vector; to sweep a number write {nonzero: 5, value: [..]}"
            yield Fault(("coefficients",), message, hint)
        elif isinstance(rule, Coefficients):
            yield from rule.faults(d)
        yield from self.design.correlation_faults(d)
        if self.bend and math.isinf(self.mean_square):
            yield Fault(("bend",), "needs a first column whose square has a mean")
