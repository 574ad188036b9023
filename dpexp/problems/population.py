"""The population from which users are drawn, as `population:` of a config: rows, coefficients, errors and weights.

A user holds x = (1, z) and y = t* + error, or a label with the chance link(t*), for
t* = x'beta* + bend (x_1^2 - E x_1^2). Every column of z has one standard normal of its own, of which its law is a
function, and `correlation` is that of these normals: laws are compared on common random numbers, and those that the
short forms `d`, `sigma_z`, `beta` and `sigma` of a problem can say have the same users in either spelling.

What is given at its default is left out, so that one population has one form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Discriminator, PrivateAttr, Tag, model_serializer, model_validator

from dpexp.core.errors import DataError
from dpexp.core.parameters import Dimension, Finite, Parameters
from dpexp.core.places import FOLDER
from dpexp.problems.public_rows import rows_at, with_content

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

_SIZE, _PLACE = (1e-6, 1e6), (-1e6, 1e6)
RANGES = {
    "sd": _SIZE, "scale": _SIZE, "far": _SIZE, "support": _SIZE, "mean": _PLACE, "low": _PLACE, "high": _PLACE,
    "df": (0.5, 1e6), "share": (0.0, 0.5), "bend": (-10.0, 10.0), "cap": (1.0, 1e6), "decay": (-1.0, 1.0),
}  # fmt: skip
LEAST_EIGENVALUE = 1e-8
MOST_ROW_DF = 200


class Fault(NamedTuple):
    """What is wrong with a population, and where."""

    path: tuple[str | int, ...]
    message: str
    """after the name of the place"""
    hint: str = ""

    @property
    def place(self) -> str:
        """The key in quotes, without the numbers of entries."""
        return "'" + ".".join(["population", *(part for part in self.path if isinstance(part, str))]) + "'"


class Faults(ValueError):
    """All that is wrong with a population."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(f"{fault.place} {fault.message}" for fault in faults))
        self.faults = faults


class Law(Parameters):
    """A law by its name, with the numbers that it takes; `value` fills in defaults."""

    law: str = "normal"
    sd: float | None = None
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    df: float | None = None
    scale: float | None = None
    p: tuple[float, ...] | float | None = None
    share: float | None = None
    far: float | None = None
    support: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _shortened(cls, given: object) -> object:
        if isinstance(given, str):
            return {"law": given}
        if not isinstance(given, Mapping):
            return given
        defaults = cls.laws().get(str(given.get("law", "normal")), {})
        return {key: value for key, value in given.items() if key not in defaults or value != defaults[key]}

    @classmethod
    def laws(cls) -> dict[str, dict[str, float]]:
        """The laws of this kind."""
        return COLUMNS

    def value(self, key: str) -> float:
        """A number of the law, given or by default."""
        given = self.model_dump()[key]
        return float(self.laws()[self.law][key] if given is None else given)

    def filled(self) -> dict[str, Any]:
        """The law with all its numbers."""
        return {"law": self.law, **{key: self.value(key) for key in self.laws()[self.law]}}

    def faults(self, path: tuple[str | int, ...], what: str, also: tuple[str, ...] = ()) -> Iterator[Fault]:
        """What is wrong with the law alone; keys in `also` are not the law's."""
        laws = self.laws()
        if self.law not in laws:
            hint = "{law: t, df: 1}" if self.law == "cauchy" else f"laws: {', '.join(laws)}"
            yield Fault((*path, "law"), f"names an unknown law of {what} '{self.law}'", hint)
            return
        given = {k: v for k, v in self.model_dump().items() if v is not None and k not in ("law", *also)}
        for key, value in given.items():
            if key not in laws[self.law]:
                yield Fault(
                    (*path, key), f"does not belong to the law {self.law}", f"keys: {', '.join(laws[self.law])}"
                )
            elif key in RANGES and not RANGES[key][0] <= value <= RANGES[key][1]:
                yield _outside((*path, key), value, *RANGES[key])
        for key, value in laws[self.law].items():
            if math.isnan(value) and key not in given:
                yield Fault(path, f"needs '{key}'")
        if self.law == "uniform" and not self.value("low") < self.value("high"):
            yield Fault(path, f"must have low < high, got {self.value('low'):g} and {self.value('high'):g}")


class Column(Law):
    """One column of the rows, or `times` of them; a categorical one becomes an indicator a level after the first."""

    times: Dimension = 1

    @property
    def width(self) -> int:
        """How many columns it makes."""
        return len(self.levels) - 1 if self.law == "categorical" else self.times

    def filled(self) -> dict[str, Any]:
        if self.law == "categorical":
            return {"law": self.law, "p": self.p}
        return super().filled() | ({"times": self.times} if self.times > 1 else {})

    @property
    def levels(self) -> tuple[float, ...]:
        """Chances of the categories, or of 0 and 1."""
        if isinstance(self.p, tuple):
            return self.p
        return () if self.p is None else (1 - self.p, self.p)

    @property
    def largest(self) -> float:
        """The largest absolute value of the column, squared and summed over what it makes; inf where there is none."""
        if self.law == "categorical":
            return 1.0
        if self.law in ("normal", "t"):
            return math.inf
        return self.times * max(self.value("low") ** 2, self.value("high") ** 2)

    def faults(self, path: tuple[str | int, ...], what: str, also: tuple[str, ...] = ("times",)) -> Iterator[Fault]:
        yield from super().faults(path, what, also)
        if self.law == "categorical" and isinstance(self.p, tuple):
            total = math.fsum(self.p)
            if not 2 <= len(self.p) <= 100 or not all(0 < p < 1 for p in self.p):
                yield Fault((*path, "p"), "must be 2 to 100 probabilities between 0 and 1")
            elif abs(total - 1) > 1e-9:
                yield Fault((*path, "p"), f"is wrong: the probabilities sum to {total:.10g}, not 1")
        elif self.p is not None and (self.law != "bernoulli" or isinstance(self.p, tuple) or not 0 < self.p < 1):
            yield Fault((*path, "p"), "must be a number between 0 and 1 (bernoulli), or a list (categorical)")


class Correlation(Parameters):
    """Correlation of neighbours r, with r^k at a distance of k columns, or one correlation of all pairs."""

    ar1: float | None = None
    exchangeable: float | None = None


Matrix = tuple[tuple[float, ...], ...]


def _shape(value: object) -> str:
    if isinstance(value, list | tuple):
        return "list"
    return "mapping" if isinstance(value, Mapping | Parameters) else "number"


class Design(Law):
    """The law of rows: one law for all columns, a list of columns, or the rows of a public table, drawn uniformly."""

    columns: tuple[Column, ...] | None = None
    rows: str | None = None
    """the table's file"""
    sha256: str | None = None
    longest: float | None = None
    """its hash, and the largest |(1, z)| of its rows"""
    _folder: Path | None = PrivateAttr(None)
    correlation: (
        Annotated[Annotated[Correlation, Tag("mapping")] | Annotated[Matrix, Tag("list")], Discriminator(_shape)] | None
    ) = None

    @model_validator(mode="before")
    @classmethod
    def _with_content(cls, given: object) -> object:
        return with_content(given) if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _placed(self) -> Design:
        self._folder = None if self.rows is None else FOLDER.get()
        return self

    @property
    def table(self) -> np.ndarray:
        """The rows of the table, [N, d]. Raises DataError where they are not read."""
        assert self.rows is not None
        return rows_at(self.rows, self._folder, self.sha256)


class Coefficients(Parameters):
    """True coefficients by a rule."""

    intercept: Finite | None = None
    slopes: (
        Annotated[Annotated[Finite, Tag("number")] | Annotated[tuple[Finite, ...], Tag("list")], Discriminator(_shape)]
        | None
    ) = None
    nonzero: Dimension | None = None
    value: Finite | None = None
    first: Finite | None = None
    decay: float | None = None


class Errors(Law):
    """The law of the error; `heteroscedastic` [a, b] multiplies it by a + b |x_1|, x_1 in its own units."""

    heteroscedastic: tuple[float, ...] | None = None

    @classmethod
    def laws(cls) -> dict[str, dict[str, float]]:
        return ERRORS

    @model_validator(mode="before")
    @classmethod
    def _constant(cls, given: object) -> object:
        if isinstance(given, Mapping) and given.get("heteroscedastic") in ((1, 0), [1, 0]):
            return {key: value for key, value in given.items() if key != "heteroscedastic"}
        return given

    def filled(self) -> dict[str, Any]:
        found = super().filled()
        if self.law == "t" and self.sd is not None:
            found = {"law": "t", "df": self.df, "sd": self.sd}
        return found if self.heteroscedastic is None else found | {"heteroscedastic": self.heteroscedastic}

    @property
    def size(self) -> float:
        """What the unit error is multiplied by: the standard deviation of a normal, the scale of the others."""
        if self.law == "t" and self.sd is not None:
            assert self.df is not None
            return self.sd * math.sqrt((self.df - 2) / self.df)
        return self.value({"normal": "sd", "contaminated": "sd", "bounded": "support"}.get(self.law, "scale"))

    def faults(self, path: tuple[str | int, ...], what: str, also: tuple[str, ...] = ()) -> Iterator[Fault]:
        of_t = ("sd",) if self.law == "t" else ()
        yield from super().faults(path, what, ("heteroscedastic", *of_t))
        if self.law == "t" and self.sd is not None and self.df is not None:
            if self.df <= 2:
                message = f"is wrong: t with df = {self.df:g} has no standard deviation: give 'scale', or df > 2"
                yield Fault(path, message)
            elif self.scale is not None:
                yield Fault(path, "gives 'scale' and 'sd', which say the same: give one of them")
            elif not _SIZE[0] <= self.sd <= _SIZE[1]:
                yield _outside((*path, "sd"), self.sd, *_SIZE)
        grown = self.heteroscedastic
        if grown is not None and (len(grown) != 2 or min(grown) < 0 or max(grown) == 0):
            yield Fault(
                (*path, "heteroscedastic"), "must be two numbers of at least 0, not both 0", "for instance [1, 0.5]"
            )


class Response(Parameters):
    """The chance of a label 1 as a function of t*."""

    link: Literal["logit", "probit", "cloglog"] = "logit"


class Cap(Parameters):
    """The largest weighted squared length of a row."""

    cap: float = 2.0


class Mallows(Parameters):
    """w(x) = min(1, cap / |x|^2)."""

    mallows: Cap = Cap()


def _weights(value: object) -> str:
    return "word" if isinstance(value, str) else "mapping"


class Population(Parameters):
    """Rows, coefficients, errors and weights. Raises Faults where they do not fit each other."""

    d: Dimension | None = None
    design: Design = Design()
    coefficients: Annotated[
        Annotated[Finite, Tag("number")]
        | Annotated[tuple[Finite, ...], Tag("list")]
        | Annotated[Coefficients, Tag("mapping")],
        Discriminator(_shape),
    ] = 1.0
    errors: Errors | None = None
    response: Response | None = None
    bend: float = 0.0
    weights: Annotated[
        Annotated[Literal["mallows", "none"], Tag("word")] | Annotated[Mallows, Tag("mapping")], Discriminator(_weights)
    ] = "mallows"

    @model_validator(mode="after")
    def _fits(self) -> Population:
        if found := list(self._faults()):
            raise Faults(found)
        return self

    @model_serializer(mode="plain")
    def _canonical(self) -> dict[str, Any]:
        """With every default filled in: one population has one form, and what a config sweeps is always there."""
        rows = self.design
        if rows.columns is not None:
            design: dict[str, Any] = {"columns": tuple(column.filled() for column in rows.columns)}
        elif rows.rows is not None:
            design = {"rows": rows.rows, "sha256": rows.sha256, "longest": rows.longest}
        else:
            design = rows.filled()
        if rows.correlation is not None:
            given = rows.correlation
            design["correlation"] = given if isinstance(given, tuple) else given.model_dump(exclude_none=True)
        found: dict[str, Any] = {"d": self.width, "design": design, "coefficients": self._filled_coefficients()}
        if self.errors is not None:
            found["errors"] = self.errors.filled()
        if self.response is not None:
            found["response"] = {"link": self.response.link}
        mallows = "mallows" if self.cap == 2 else {"mallows": {"cap": self.cap}}
        return found | {"bend": self.bend, "weights": "none" if math.isinf(self.cap) else mallows}

    def _filled_coefficients(self) -> object:
        given = self.coefficients
        if not isinstance(given, Coefficients):
            return given
        values = given.model_dump(exclude_none=True)
        if given.nonzero is not None:
            values.setdefault("value", 1.0)
        values.setdefault("intercept", float(self.beta[0]))
        return values

    # --- what follows from it --------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns one by one, where each has a law of its own."""
        if self.design.columns is not None:
            return self.design.columns
        law = self.design.law
        given = {key: self.design.value(key) for key in COLUMNS[law]}
        return (Column(law=law, times=self.width, **given),)

    @property
    def width(self) -> int:
        """d, the number of columns beside the intercept."""
        if self.design.columns is not None:
            return sum(column.width for column in self.design.columns)
        if self.d is not None:
            return self.d
        if self.design.rows is not None:
            return self.design.table.shape[1]
        return len(self.coefficients) - 1 if isinstance(self.coefficients, tuple) else 5

    @property
    def beta(self) -> np.ndarray:
        """True coefficients, [d + 1]."""
        d, given = self.width, self.coefficients
        if isinstance(given, tuple):
            return np.array(given)
        if not isinstance(given, Coefficients):
            return np.full(d + 1, float(given))
        if given.slopes is not None:
            assert given.intercept is not None
            return np.append(given.intercept, np.broadcast_to(given.slopes, d))
        if given.nonzero is not None:
            value = 1.0 if given.value is None else given.value
            intercept = value if given.intercept is None else given.intercept
            return np.append(intercept, np.where(np.arange(d) < given.nonzero, value, 0.0))
        assert given.first is not None
        assert given.decay is not None
        intercept = given.first if given.intercept is None else given.intercept
        return np.append(intercept, given.first * given.decay ** np.arange(d))

    @property
    def correlation(self) -> np.ndarray:
        """Correlation of the columns' normals, [d, d]."""
        d, given = self.width, self.design.correlation
        if given is None:
            return np.eye(d)
        if isinstance(given, tuple):
            return np.array(given)
        if given.ar1 is not None:
            return np.asarray(given.ar1 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d))))
        assert given.exchangeable is not None
        return np.where(np.eye(d) > 0, 1.0, given.exchangeable)

    @property
    def cap(self) -> float:
        """c of w(x) = min(1, c / |x|^2); inf without weights."""
        if isinstance(self.weights, Mallows):
            return self.weights.mallows.cap
        return 2.0 if self.weights == "mallows" else math.inf

    @property
    def reach(self) -> float:
        """The largest |x| that a row can have; inf where there is none."""
        if self.design.longest is not None:
            return self.design.longest
        return math.sqrt(1 + sum(column.largest for column in self.columns))

    @property
    def mean_square(self) -> float:
        """E x_1^2 of the first column; inf where there is none."""
        if self.design.rows is not None:
            return float(np.mean(self.design.table[:, 0] ** 2))
        column = self.columns[0]
        if column.law == "normal":
            return column.value("sd") ** 2 + column.value("mean") ** 2
        if column.law == "t":
            df = column.value("df")
            return column.value("scale") ** 2 * df / (df - 2) if df > 2 else math.inf
        if column.law == "uniform":
            low, high = column.value("low"), column.value("high")
            return (low * low + low * high + high * high) / 3
        if column.law == "categorical":
            return column.levels[1]
        return column.levels[0] * column.value("low") ** 2 + column.levels[1] * column.value("high") ** 2

    @property
    def short(self) -> dict[str, float] | None:
        """`d`, `sigma_z`, `beta` and, where errors are given, `sigma`, where these say the same; None elsewhere."""
        rows, errors, beta = self.design, self.errors, self.beta
        listed = rows.columns is not None or rows.rows is not None
        plain = not listed and rows.law == "normal" and rows.correlation is None and rows.value("mean") == 0
        usual = errors is None or (errors.law == "normal" and errors.heteroscedastic is None)
        logit = self.response is None or self.response.link == "logit"
        if not (plain and usual and logit and len(set(beta)) == 1 and self.cap == 2 and self.bend == 0):
            return None
        found = {"d": self.width, "sigma_z": rows.value("sd"), "beta": float(beta[0])}
        return found if errors is None else {**found, "sigma": errors.size}

    # --- what can be wrong -----------------------------------------------------------------------------------------

    def _faults(self) -> Iterator[Fault]:
        law_faults = [*self._faults_of_design()]
        law_faults += [] if self.errors is None else self.errors.faults(("errors",), "errors")
        yield from law_faults
        if not RANGES["bend"][0] <= self.bend <= RANGES["bend"][1]:
            yield _outside(("bend",), self.bend, *RANGES["bend"])
        if isinstance(self.weights, Mallows) and not RANGES["cap"][0] <= self.cap <= RANGES["cap"][1]:
            hint = "the intercept alone has length 1"
            yield _outside(("weights", "mallows", "cap"), self.cap, *RANGES["cap"])._replace(hint=hint)
        if not law_faults:
            yield from self._faults_of_coefficients()
            yield from self._faults_of_correlation()
            if self.bend and math.isinf(self.mean_square):
                yield Fault(("bend",), "needs a first column whose square has a mean")

    def _faults_of_table(self) -> Iterator[Fault]:
        try:
            width = self.design.table.shape[1]
        except DataError as error:
            yield Fault(("design", "rows"), f"cannot be used: {error.message}", error.hint)
            return
        if self.d not in (None, width):
            yield Fault(("d",), f"is {self.d}, but the table has {width} columns", "leave out `d`")

    def _faults_of_design(self) -> Iterator[Fault]:
        rows = self.design
        if rows.rows is not None:
            if beside := sorted(rows.model_fields_set - {"rows", "sha256", "longest"}):
                yield Fault(("design", beside[0]), "does not go with 'rows', which is a law", "keep one of them")
            if rows._folder is not None:
                yield from self._faults_of_table()
            elif self.d is None:
                yield Fault(("d",), "is missing: the rows of stored results are not read")
            return
        if rows.columns is not None:
            if rows.law != "normal" or any(getattr(rows, key) is not None for key in RANGES if key in Law.model_fields):
                yield Fault(("design",), "has a law beside 'columns': give one of them")
            if not rows.columns:
                yield Fault(("design", "columns"), "is an empty list")
            for k, column in enumerate(rows.columns):
                yield from column.faults(("design", "columns", k), "columns")
            if self.d not in (None, self.width):
                message = f"is {self.d}, but 'design.columns' makes {self.width} columns"
                yield Fault(("d",), message, "leave out `d`")
            return
        if rows.law in COLUMNS and rows.law not in ROWS:
            given = rows.model_dump(exclude_none=True, exclude={"columns", "correlation"})
            shown = ", ".join(f"{key}: {value}" for key, value in given.items())
            hint = f"design: {{columns: [{{{shown}, times: {self.d or 5}}}]}}"
            yield Fault(("design", "law"), f"is wrong: {rows.law} is a law of one column", hint)
            return
        yield from rows.faults(("design",), "rows", ("columns", "correlation"))
        if rows.law == "t" and rows.df is not None and not (rows.df.is_integer() and 1 <= rows.df <= MOST_ROW_DF):
            hint = f"`columns: [{{law: t, df: {rows.df:g}, times: {self.d or 5}}}]` takes any"
            yield Fault(("design", "df"), f"must be a whole number, 1 to {MOST_ROW_DF}, got {rows.df:g}", hint)

    def _faults_of_coefficients(self) -> Iterator[Fault]:
        d, given = self.width, self.coefficients
        if isinstance(given, tuple) and len(given) != d + 1:
            hint = "a list is one vector; to sweep a number write {nonzero: 5, value: [..]}"
            yield Fault(
                ("coefficients",), f"has {len(given)} numbers; d = {d} needs {d + 1}, the intercept first", hint
            )
        if not isinstance(given, Coefficients):
            return
        keys = {key for key, value in given.model_dump().items() if value is not None}
        rules = ({"intercept", "slopes"}, {"nonzero", "value", "intercept"}, {"first", "decay", "intercept"})
        needed = ({"intercept", "slopes"}, {"nonzero"}, {"first", "decay"})
        if not any(need <= keys <= rule for need, rule in zip(needed, rules, strict=True)):
            hint = "{intercept, slopes}, {nonzero, value, intercept} or {first, decay, intercept}"
            yield Fault(("coefficients",), "is no rule", hint)
        elif isinstance(given.slopes, tuple) and len(given.slopes) != d:
            yield Fault(("coefficients", "slopes"), f"has {len(given.slopes)} numbers, but there are {d} slopes")
        elif given.nonzero is not None and given.nonzero > d:
            yield Fault(("coefficients", "nonzero"), f"is {given.nonzero}, but there are {d} slopes")
        elif given.decay is not None and abs(given.decay) > 1:
            yield _outside(("coefficients", "decay"), given.decay, *RANGES["decay"])

    def _faults_of_correlation(self) -> Iterator[Fault]:
        d, given, path = self.width, self.design.correlation, ("design", "correlation")
        if given is None:
            return
        if isinstance(given, tuple):
            if {len(given), *map(len, given)} != {d}:
                yield Fault(path, f"is no matrix of {d} rows and {d} columns")
                return
            matrix = np.array(given)
            wrong = np.argwhere(~(matrix == matrix.T) | (np.eye(d, dtype=bool) & (matrix != 1)))
            if len(wrong):
                i, j = map(int, wrong[0])
                where = f"entry ({i + 1}, {j + 1}) is {matrix[i, j]:g}"
                where += "" if i == j else f" and ({j + 1}, {i + 1}) is {matrix[j, i]:g}"
                yield Fault(path, f"must be symmetric with 1 on the diagonal: {where}")
                return
        else:
            named = [(key, value) for key, value in given.model_dump().items() if value is not None]
            if len(named) != 1:
                yield Fault(path, "needs one of 'ar1' and 'exchangeable'")
                return
            key, value = named[0]
            if abs(value) >= 1:
                bound = "less than 1" if value > 0 else "greater than -1"
                yield Fault((*path, key), f"must be {bound}, got {value:g}")
                return
        least = float(np.linalg.eigvalsh(self.correlation)[0])
        if least < LEAST_EIGENVALUE:
            if isinstance(given, Correlation):
                hint = f"with {d} columns above -1/{d - 1}"
            else:
                factor = math.floor(1000 / (1 - least)) / 1000
                hint = f"multiply the entries off the diagonal by less than {factor:g}"
            yield Fault(path, f"is not positive definite: its least eigenvalue is {least:.3g}", hint)


def _outside(path: tuple[str | int, ...], value: float, low: float, high: float) -> Fault:
    bound = f"at least {low:g}" if value < low else f"at most {high:g}"
    return Fault(path, f"must be {bound}, got {value:g}")
