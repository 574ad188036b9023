"""The population from which users are drawn, as `population:` of a config: rows, coefficients, errors and weights.

A user holds x = (1, z) and y = t* + error, or a label with the chance link(t*), for
t* = x'beta* + bend (x_1^2 - E x_1^2). Every column of z is a function of one standard normal of its own, and
`correlation` is that of these normals: laws are compared on common random numbers. Every default is filled in, so that
one population has one form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from dpexp.core.errors import DataError
from dpexp.core.files import FOLDER
from dpexp.core.parameters import Dimension, Fault, Faults, Finite, Parameters, Registry
from dpexp.core.text import guess
from dpexp.problems.laws import COLUMNS, ERRORS, REQUIRED, ROWS, wrong_numbers
from dpexp.problems.public_rows import public_rows, with_content
from dpexp.problems.weights import OURS, WEIGHT_CAP, MallowsWeight, NoWeight, Weight, named_weight

RULES = (("intercept", "slopes"), ("nonzero", "value", "intercept"), ("first", "decay", "intercept"))
"""keys of the rules for coefficients"""
LEAST_EIGENVALUE, MOST_ROW_DF = 1e-8, 200
Size = Annotated[float, Field(ge=1e-6, le=1e6)]
Vector = tuple[Finite, ...]
Chance = Annotated[float, Field(gt=0, lt=1)]


class _Sparse(Parameters):
    """Parameters whose stored form leaves out what is None or follows from the rest."""

    @model_serializer(mode="wrap")
    def _without_none(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values = {key: value for key, value in dump(self).items() if value is not None and (key, value) != ("times", 1)}
        listed = {"columns", "rows"} & values.keys()
        return {key: value for key, value in values.items() if not (listed and key == "law")}


class NamedLaw(_Sparse):
    """A law by its name, with all the numbers that it takes; those of a plug-in's law may have other keys."""

    kinds: ClassVar[Registry[Any]] = COLUMNS

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Finite]

    law: str = "normal"
    sd: Size | None = None
    mean: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None
    df: Annotated[float, Field(ge=0.5, le=1e6)] | None = None
    scale: Size | None = None
    p: Chance | Annotated[tuple[Chance, ...], Field(min_length=2, max_length=100)] | None = None
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
        kind = cls.kinds.get(str(entry.get("law", "normal")))
        return kind.keys if kind else {}

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers that are set, by their keys."""
        keys = {*NamedLaw.model_fields, *(self.model_extra or {})} - {"law"}
        return {key: value for key, value in self if key in keys and value is not None}

    def value(self, key: str) -> float:
        """A number of the law."""
        return float(getattr(self, key))

    def faults(self, path: tuple[str | int, ...], kind: str) -> Iterator[Fault]:
        """What is wrong with the law alone, which is at this path of the config."""
        numbers, keys = self.numbers, self.keys(vars(self))
        if self.law not in self.kinds:
            hint = "{law: t, df: 1}" if self.law == "cauchy" else f"laws: {', '.join(self.kinds)}"
            yield Fault((*path, "law"), f"names an unknown law of {kind} '{self.law}'", hint)
            return
        for key in (key for key in numbers if key not in keys):
            hint = f"{guess(key, keys)}keys: {', '.join(keys)}"
            yield Fault((*path, key), f"does not belong to the law {self.law}", hint)
        yield from (Fault(path, f"needs '{key}'") for key in keys if key not in numbers)
        if self.law == "uniform" and keys.keys() <= numbers.keys() and self.value("low") >= self.value("high"):
            yield Fault(path, f"must have low < high, got {self.low:g} and {self.high:g}")
        if self.p is not None and isinstance(self.p, tuple) != (self.law == "categorical"):
            yield Fault((*path, "p"), "must be a number (bernoulli) or a list (categorical)")
        elif isinstance(self.p, tuple) and abs((total := math.fsum(self.p)) - 1) > 1e-9:
            yield Fault((*path, "p"), f"is wrong: the probabilities sum to {total:.10g}, not 1")
        elif keys.keys() == numbers.keys() and (words := wrong_numbers(self.kinds[self.law], self)):
            yield Fault(path, f"is wrong: {words}")


class ColumnLaw(NamedLaw):
    """One column of the rows, or `times` of them; a categorical one becomes an indicator a level after the first."""

    times: Dimension = 1

    @property
    def width(self) -> int:
        """How many columns it makes."""
        return self.times * max(1, len(self.levels) - 1)

    @property
    def levels(self) -> tuple[float, ...]:
        """Chances of the categories, or of 0 and 1."""
        p = self.p if self.law in ("bernoulli", "categorical") else None
        if isinstance(p, tuple):
            return p
        return () if p is None else (1 - p, p)

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value of a column."""
        return COLUMNS[self.law].ends(self)


class Correlation(_Sparse):
    """Correlation of neighbours r, with r^k at a distance of k columns, or one correlation of all pairs."""

    ar1: float | None = None
    exchangeable: float | None = None


class RowLaw(NamedLaw):
    """The law of rows: one law for all columns, a list of columns, or the rows of a public table, drawn uniformly."""

    model_config = ConfigDict(extra="forbid")  # laws of plug-ins are of one column

    columns: Annotated[tuple[ColumnLaw, ...], Field(min_length=1)] | None = None
    rows: str | None = None
    """the table's file"""
    sha256: SkipJsonSchema[str | None] = None
    longest: SkipJsonSchema[float | None] = None
    """its hash, and the largest |(1, z)| of its rows"""
    correlation: Correlation | tuple[tuple[float, ...], ...] | None = None
    _folder: Path | None = None

    @classmethod
    def keys(cls, entry: Mapping[str, Any]) -> dict[str, float]:
        return {key: value for key, value in super().keys(entry).items() if key in cls.model_fields}

    def model_post_init(self, context: Any) -> None:
        self._folder = None if self.rows is None else FOLDER.get()

    @property
    def table(self) -> np.ndarray:
        """The rows of the table, [N, d]. Raises DataError where they are not read."""
        assert self.rows is not None
        return public_rows(self.rows, self._folder, self.sha256)

    def matrix(self, d: int) -> np.ndarray:
        """Correlation of the columns' normals, [d, d]."""
        rule = self.correlation
        if isinstance(rule, tuple):
            return np.array(rule)
        if rule is not None and rule.ar1 is not None:
            return np.asarray(rule.ar1 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d))))
        return np.where(np.eye(d) > 0, 1.0, (rule and rule.exchangeable) or 0.0)

    def all_faults(self, d: int | None) -> Iterator[Fault]:
        """What is wrong with the law of rows, of `d` columns where the config states d."""
        if self.rows is not None:
            if others := sorted(self.model_fields_set - {"rows", "sha256", "longest"}):
                yield Fault(("design", others[0]), "does not go with 'rows', which is a law", "keep one of them")
            try:
                # stored results state d, and do not read their rows
                width = d if d and self._folder is None else self.table.shape[1]
            except DataError as error:
                yield Fault(("design", "rows"), f"cannot be used: {error.message}", error.hint)
            else:
                if d not in (None, width):
                    yield Fault(("d",), f"is {d}, but the table has {width} columns", "leave out `d`")
        elif self.columns is not None:
            if self.law != "normal" or self.numbers:
                yield Fault(("design",), "has a law and 'columns': give one of them")
            for k, column in enumerate(self.columns):
                yield from column.faults(("design", "columns", k), "columns")
            width = sum(column.width for column in self.columns)
            if d not in (None, width):
                yield Fault(("d",), f"is {d}, but 'design.columns' makes {width} columns", "leave out `d`")
        elif self.law in COLUMNS and self.law not in ROWS:
            own = {"law": self.law} | {k: v for k, v in self.numbers.items() if v != COLUMNS[self.law].keys.get(k)}
            keys = ", ".join(f"{key}: {value}" for key, value in own.items())
            hint = f"design: {{columns: [{{{keys}, times: {d or 5}}}]}}"
            yield Fault(("design", "law"), f"is wrong: {self.law} is a law of one column", hint)
        else:
            yield from self.faults(("design",), "rows")
            if self.law == "t" and self.df is not None and self.df not in range(1, MOST_ROW_DF + 1):
                hint = f"`columns: [{{law: t, df: {self.df:g}, times: {d or 5}}}]` takes any"
                yield Fault(("design", "df"), f"must be a whole number, 1 to {MOST_ROW_DF}, got {self.df:g}", hint)

    def correlation_faults(self, d: int) -> Iterator[Fault]:
        """What is wrong with the correlation of d columns."""
        rule, path = self.correlation, ("design", "correlation")
        if isinstance(rule, tuple) and {len(rule), *map(len, rule)} != {d}:
            yield Fault(path, f"is no matrix of {d} rows and {d} columns")
        elif isinstance(rule, Correlation) and len(rule.model_dump()) != 1:
            yield Fault(path, "needs one of 'ar1' and 'exchangeable'")
        elif isinstance(rule, Correlation) and abs((named := rule.model_dump().popitem())[1]) >= 1:
            bound = "less than 1" if named[1] > 0 else "greater than -1"
            yield Fault((*path, named[0]), f"must be {bound}, got {named[1]:g}")
        elif rule is not None:
            matrix = self.matrix(d)
            if wrong := np.argwhere((matrix != matrix.T) | (np.eye(d) > 0) & (matrix != 1)).tolist():
                i, j = wrong[0]
                other = "" if i == j else f" and ({j + 1}, {i + 1}) is {matrix[j, i]:g}"
                entry = f"entry ({i + 1}, {j + 1}) is {matrix[i, j]:g}{other}"
                yield Fault(path, f"must be symmetric with 1 on the diagonal: {entry}")
            elif (least := float(np.linalg.eigvalsh(matrix)[0])) < LEAST_EIGENVALUE:
                hint = f"multiply the entries off the diagonal by less than {math.floor(1000 / (1 - least)) / 1000:g}"
                hint = hint if isinstance(rule, tuple) else f"with {d} columns above -1/{d - 1}"
                yield Fault(path, f"is not positive definite: its least eigenvalue is {least:.3g}", hint)


class Coefficients(_Sparse):
    """True coefficients by a rule."""

    intercept: Finite | None = None
    slopes: Finite | Vector | None = None
    nonzero: Dimension | None = None
    value: Finite | None = None
    first: Finite | None = None
    decay: Annotated[float, Field(ge=-1, le=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, entry: object) -> object:
        if not isinstance(entry, Mapping):
            return entry
        entry = {"value": 1.0, **entry} if "nonzero" in entry else entry
        first = entry.get("value" if "nonzero" in entry else "first")
        return entry if first is None else {"intercept": first, **entry}

    def beta(self, d: int) -> np.ndarray:
        """The coefficients of d columns, the intercept first."""
        if self.slopes is not None:
            slopes = np.broadcast_to(self.slopes, d)
        elif self.nonzero is not None:
            slopes = np.where(np.arange(d) < self.nonzero, self.value or 0.0, 0.0)
        else:
            slopes = (self.first or 0.0) * (self.decay or 0.0) ** np.arange(d)
        return np.append(self.intercept or 0.0, slopes)

    def faults(self, d: int) -> Iterator[Fault]:
        """What is wrong with the rule for d columns."""
        if set(self.model_dump()) not in map(set, RULES):
            hint = " or ".join(f"{{{', '.join(rule)}}}" for rule in RULES)
            yield Fault(("coefficients",), "is no rule", hint)
        elif isinstance(self.slopes, tuple) and len(self.slopes) != d:
            yield Fault(("coefficients", "slopes"), f"has {len(self.slopes)} numbers, but there are {d} slopes")
        elif self.nonzero is not None and self.nonzero > d:
            yield Fault(("coefficients", "nonzero"), f"is {self.nonzero}, but there are {d} slopes")


class ErrorLaw(NamedLaw):
    """The law of the error; `heteroscedastic` [a, b] multiplies it by a + b |x_1|, x_1 in its own units."""

    kinds: ClassVar[Registry[Any]] = ERRORS

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
        return self.value(ERRORS[self.law].size)

    def faults(self, path: tuple[str | int, ...], kind: str) -> Iterator[Fault]:
        yield from super().faults(path, kind)
        if self.law == "t" and self.sd is not None and self.df is not None and self.df <= 2:
            yield Fault(path, f"is wrong: t with df = {self.df:g} has no standard deviation: give 'scale', or df > 2")
        factors = self.heteroscedastic
        if factors is not None and (len(factors) != 2 or min(factors) < 0 or max(factors) == 0):
            hint = "for instance [1, 0.5]"
            yield Fault((*path, "heteroscedastic"), "must be two numbers of at least 0, not both 0", hint)


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
    design: RowLaw = RowLaw()
    coefficients: Finite | Vector | Coefficients = 1.0
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
        of_laws = [*self.design.all_faults(self.d), *(self.errors.faults(("errors",), "errors") if self.errors else ())]
        if faults := of_laws or list(self._misfits()):
            raise Faults(faults)
        return self

    @model_serializer(mode="wrap")
    def _canonical(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        stored = {key: value for key, value in dump(self).items() if value is not None} | {"d": self.width}
        return stored | ({"weights": "mallows"} if self.cap == WEIGHT_CAP else {})

    @property
    def columns(self) -> tuple[ColumnLaw, ...]:
        """The columns one by one, where each has a law of its own."""
        return self.design.columns or (ColumnLaw(law=self.design.law, times=self.width, **self.design.numbers),)

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
        return np.array(rule) if isinstance(rule, tuple) else np.full(self.width + 1, rule)

    @property
    def correlation(self) -> np.ndarray:
        """Correlation of the columns' normals, [d, d]."""
        return self.design.matrix(self.width)

    @property
    def weight(self) -> Weight:
        """What a user multiplies its gradient by."""
        if isinstance(self.weights, str):
            return MallowsWeight() if self.weights == "mallows" else self._unweighted()
        return self.weights.mallows if isinstance(self.weights, Mallows) else self.weights

    def parts(self) -> Iterator[Callable[..., Any]]:
        """Classes and functions by which its weight and laws may be a plug-in's."""
        yield from type(self.weight).__mro__
        yield from (column for law in self.columns if (column := COLUMNS[law.law].column) is not None)
        if self.errors is not None and (error := ERRORS[self.errors.law].error) is not None:
            yield error

    @property
    def cap(self) -> float:
        """c of w(x) = min(1, c / |x|^2); inf for other weights."""
        return self.weight.cap if isinstance(self.weight, MallowsWeight) else math.inf

    def _unweighted(self) -> NoWeight:
        """With bounds of the rows: those of a table follow from its longest row, those of columns are attained."""
        if (longest := self.design.longest) is not None:
            return NoWeight(row=longest, apart=2 * math.sqrt(longest**2 - 1), together=2 * longest)
        largest, apart, gap = 0.0, 0.0, math.inf
        for column in self.columns:
            low, high = column.ends
            square, several = max(low**2, high**2), len(column.levels) > 2
            largest += column.times * square
            apart += column.times * (1 + several) * (high - low) ** 2
            # 4 |v|^2 less the next largest |v + v'|^2, which is as close as one likes where values are not enumerated
            gap = min(gap, 4 * square - (low + high) ** 2 - several if column.levels else 0.0)
        row = math.sqrt(1 + largest)
        return NoWeight(row=row, apart=math.sqrt(apart), together=math.sqrt(4 * row**2 - gap))

    @property
    def mean_square(self) -> float:
        """E x_1^2 of the first column; inf where there is none."""
        if self.design.rows is not None:
            return float(np.mean(self.design.table[:, 0] ** 2))
        return COLUMNS[self.columns[0].law].mean_square(self.columns[0])

    @property
    def grows(self) -> bool:
        """Whether the size of errors depends on x."""
        return self.errors is not None and self.errors.heteroscedastic is not None

    @property
    def short(self) -> dict[str, float] | None:
        """`d`, `sigma_z`, `beta` and, where errors are set, `sigma`, where these say the same; None elsewhere."""
        rows, errors, beta = self.design, self.errors, self.beta
        plain = rows.model_dump() == {"law": "normal", "sd": rows.sd, "mean": 0}
        usual = errors is None or errors.model_dump() == {"law": "normal", "sd": errors.sd}
        logit = self.response is None or self.response.link == "logit"
        if not (plain and usual and logit and len(set(beta)) == 1 and self.cap == WEIGHT_CAP and not self.bend):
            return None
        values = {"d": self.width, "sigma_z": rows.value("sd"), "beta": float(beta[0])}
        return values if errors is None else {**values, "sigma": errors.size}

    def _misfits(self) -> Iterator[Fault]:
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
        if self.weights == "none" and any(column.law == "t" and column.value("df") <= 2 for column in self.columns):
            yield Fault(("weights",), "is none, and E x x' is infinite: t columns need df > 2", "weights: mallows")
