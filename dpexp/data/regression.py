"""A user's own table as covariates and a response in the units of the computation, and the way back.

A covariate is z = (value - centre) / (scale sqrt d) and the response (y - centre) / scale, with public centres and
scales: each record by itself. One with an unreadable value is not usable.

(a) The intercept that users see is the target's mean at the centre of all ranges and at the first category: at 0 of a
column of years or days a release says next to nothing.
(b) A product is that of the columns about their centres; coefficients are those of the columns as they are.
(c) `y ~ 1` has no covariate. Then z is +1 for one half of the holders and -1 for the other by their public order. It
is independent of y, its coefficient is 0 by design and not shown, and |x|^2 is 2, for which all bounds are made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress, product
from typing import Any, NamedTuple

import numpy as np

from dpexp.core.errors import DataError, UsageError
from dpexp.core.text import few
from dpexp.data.budget_file import read_budgets
from dpexp.data.encode import columns_of, encoded, listed, read_id
from dpexp.data.formulas import FormulaFactor, RegressionFormula, applied, function_limits
from dpexp.data.public_inputs import PublicColumn, PublicInputs
from dpexp.data.records import Header, RecordTable

FARTHEST = 1e6  # scales from the centre: a value farther away counts as that far, with a weight of nearly 0 either way
TYPICAL_RANGE = (-2.0, 2.0)  # of a column of numbers without a range: centre 0 and scale 1
SHARE_MISSING = 0.1  # share of missing values that is guessed of a column in which they are expected
MISSING, SIGN = -1, -2  # in place of a level: the covariate is 1 where the value is missing, or (c)


@dataclass(frozen=True)
class Entry:
    """One covariate: a column of numbers, one level of a column, or whether a value is missing."""

    name: str
    column: str
    centre: float
    scale: float
    level: int | None = None  # the place of the level for which it is 1, or `MISSING`, or `SIGN`; None for numbers
    function: str = ""  # of the value (`formulas`)
    times: tuple[Entry, ...] = ()  # of a product: what is multiplied, each about its centre and over its scale

    @property
    def factors(self) -> tuple[Entry, ...]:
        """Those of a product, or this one."""
        return self.times or (self,)


def entries_of(column: PublicColumn) -> list[Entry]:
    """The covariates of a column: a number, or one for every level but the first; and whether its value is missing."""
    low, high = column.limits or TYPICAL_RANGE
    entries = [Entry(column.name, column.name, (low + high) / 2, (high - low) / 4)] if column.levels is None else []
    # with L levels, guessed to be equally frequent, an indicator has mean 1 / L and variance (1 / L)(1 - 1 / L)
    ones = [(f"={level}", 1 / len(column.levels or ()), k) for k, level in enumerate(column.levels or ()) if k]
    ones += [(" is missing", SHARE_MISSING, MISSING)] * column.may_miss
    # divided by its guessed standard deviation an indicator counts as a number does, and not a quarter of that at most
    entries += [Entry(column.name + name, column.name, p, (p * (1 - p)) ** 0.5, level) for name, p, level in ones]
    return entries


def entries_of_term(term: Sequence[FormulaFactor], columns: Mapping[str, PublicColumn]) -> list[Entry]:
    """The covariates of a product of factors: one for each combination of levels; for a column alone, as above."""
    parts = [_factor_entries(factor, columns[factor.column]) for factor in term]
    if len(parts) == 1:
        return parts[0]
    entries = []
    # whether a value is missing is no factor: a missing value counts as the centre, where the product is 0
    for times in product(*([entry for entry in part if entry.level != MISSING] for part in parts)):
        names = [entry.name for entry in times]
        name = f"{names[0]}**{len(names)}" if len(set(names)) == 1 else ":".join(names)
        entries.append(Entry(name, "", 0.0, 1.0, times=times))
    return entries


def _factor_entries(factor: FormulaFactor, column: PublicColumn) -> list[Entry]:
    if (factor.function == "C") > (column.levels is not None):
        raise UsageError(f"{factor.text}: no categories of {column.name} are stated", "--public FILE with categories")
    if factor.function in ("", "C"):
        return entries_of(column)
    if column.levels is not None:
        raise UsageError(f"{factor.text}: {column.name} has categories", f"C({column.name})")
    _, *missing = entries_of(column)
    low, high = function_limits(factor, column.limits)
    return [Entry(factor.text, column.name, (low + high) / 2, (high - low) / 4, function=factor.function), *missing]


class Roles(NamedTuple):
    """Which column is what."""

    target: str
    mu: str | None = None
    person: str | None = None
    formula: RegressionFormula | None = None

    @property
    def named(self) -> list[str]:
        return [name for name in (self.target, self.mu, self.person) if name is not None]


@dataclass(frozen=True)
class Units:
    """Covariates and the response as the computation sees them; public."""

    entries: tuple[Entry, ...]
    target: str
    centre: float  # of the response
    scale: float  # of the response: the guess of the standard deviation of the errors; 1 for a binary response
    has_scale: bool  # whether the last parameter is the scale of the errors
    columns: tuple[PublicColumn, ...]  # what is read for the covariates
    response: PublicColumn  # what is read for it; with two levels where its mean is a probability, else with none
    notes: tuple[str, ...] = ()  # what had to be assumed
    function: str = ""  # of the response (`formulas`)

    @property
    def modelled(self) -> str:
        """The target, or the class of it whose probability is modelled."""
        return f"{self.target} = {self.response.levels[1]}" if self.response.levels else self.target

    @property
    def visible(self) -> list[int]:
        """Places of the parameters that mean something: all but that of (c)."""
        signs = [j for j, entry in enumerate(self.entries, 1) if entry.level == SIGN]
        return [j for j in range(len(self.names)) if j not in signs]

    @property
    def binary(self) -> bool:
        """Whether the mean of the target is a probability."""
        return self.response.levels is not None

    @property
    def read(self) -> list[PublicColumn]:
        """Everything that is read of a record."""
        return [*self.columns, self.response]

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return ["(intercept)", *(entry.name for entry in self.entries), *(["(scale)"] if self.has_scale else [])]

    def to_user(self) -> tuple[np.ndarray, np.ndarray]:
        """L [p, p] and o [p]: the parameters on the user's scale are L theta + o, so their covariance is L C L'.

        y = centre_y + s0 (beta_0 + sum_j beta_j (col_j - centre_j) / (scale_j sqrt d)) + s0 s e, the intercept by (a).
        """
        d, p = len(self.entries), len(self.names)
        matrix, offset = np.zeros((p, p)), np.zeros(p)
        matrix[0, 0], offset[0] = self.scale, self.centre
        # (b); a formula holds every part of its products (`formulas`), so that each has a place
        places = {_key(entry.factors): j for j, entry in enumerate(self.entries, 1)} | {(): 0}
        for j, entry in enumerate(self.entries, 1):
            factors = entry.factors
            # s0 / sqrt d times a product of (col - centre) / scale, whose terms are products of some of the columns
            own = self.scale / (math.prod(factor.scale for factor in factors) * math.sqrt(d))
            for stays_in in product((True, False), repeat=len(factors)):
                rest = math.prod(-factor.centre for factor, stays in zip(factors, stays_in, strict=True) if not stays)
                matrix[places[_key(compress(factors, stays_in))], j] += own * rest
        # (a)
        matrix[0] += sum(self._at_centre(entry) * matrix[j] for j, entry in enumerate(self.entries, 1))
        if self.has_scale:
            matrix[-1, -1] = self.scale
        return matrix, offset

    def _at_centre(self, entry: Entry) -> float:
        """The value of a covariate, on the user's scale, at the centre of all ranges and the first categories."""
        limits = {column.name: column.limits or TYPICAL_RANGE for column in self.columns}
        middles = [sum(limits[factor.column]) / 2 if factor.level is None else 0.0 for factor in entry.factors]
        return math.prod(float(applied(f.function, np.array(x))) for f, x in zip(entry.factors, middles, strict=True))

    def document(self) -> dict[str, Any]:
        """As JSON keeps it; pydantic's TypeAdapter reads it back."""
        columns = {"columns": [column._asdict() for column in self.columns], "response": self.response._asdict()}
        return asdict(self) | columns


def _key(factors: Iterable[Entry]) -> tuple[str, ...]:
    return tuple(sorted(factor.name for factor in factors))


@dataclass(frozen=True)
class FitRecords:
    """The usable rows of a table that was read, and who holds them."""

    units: Units
    x: np.ndarray  # covariates [rows, d]
    y: np.ndarray  # [rows]
    owners: np.ndarray  # which of 0 .. n - 1 holds each row, in rising order [rows]: lines of the table, or persons
    n: int  # how many they are, also those without a usable row
    mu: np.ndarray | None  # budgets [n], where a column has them

    def in_order(self, order: np.ndarray) -> FitRecords:
        """The same with the holders in this order [n]; the rows of each stay as they are to each other."""
        # the inverse of the order says where each holder has gone
        owners = np.argsort(order)[self.owners]
        rows = np.argsort(owners, kind="stable")
        mu = None if self.mu is None else self.mu[order]
        x, owners = self.x[rows], owners[rows]
        # (c)
        for j, entry in enumerate(self.units.entries):
            if entry.level == SIGN:
                x[:, j] = 1.0 - 2.0 * (owners % 2)
        return replace(self, x=x, y=self.y[rows], owners=owners, mu=mu)


def units_of(header: Header, roles: Roles, public: PublicInputs, binary: bool) -> Units:
    """The covariates of a table, from its header alone. Raises DataError for absent columns, or missing statements."""
    formula, notes = roles.formula, header.notes
    header.require(roles.named, "")
    header.require(public.named, "", public.where)
    used = [name for name in header.kinds if name not in roles.named and name not in public.leave_out]
    if formula is not None:
        used = formula.columns
        header.require(used, "", "the formula")
    if both := [name for name in (roles.target, *used) if name in public.leave_out]:
        which = f"{few(both)}, which {'is the target' if both[0] == roles.target else 'the formula uses'}"
        raise DataError(f"{which}, is left out by {public.where or 'leave_out'}", "take it out of leave_out")
    columns = columns_of(header, used, public)
    terms = formula.terms if formula else [(FormulaFactor(name, name),) for name in used]
    by_name = {column.name: column for column in columns}
    entries = tuple({e.name: e for term in terms for e in entries_of_term(term, by_name)}.values())
    if not entries and formula is None:
        hint = "a regression needs a covariate; for the mean alone, --formula 'y ~ 1'"
        raise DataError("there is no column besides the target", hint)
    # (c)
    entries = entries or (Entry("(sign)", "", 0.0, 1.0, SIGN),)
    if unranged := [column.name for column in columns if column.limits is None and column.levels is None]:
        notes.append(f"no range is stated of {few(unranged, 6)}: most values are taken to lie between -2 and 2")
    (response,) = columns_of(header, [roles.target], public)
    response = response._replace(may_miss=False)
    if binary:
        levels = response.levels or ("0", "1")
        if len(levels) != 2:
            message = f"{roles.target} has {len(levels)} categories; a binary target has 2, the second counts as 1"
            raise DataError(message, "state two, or take --model huber-linear")
        response = response._replace(limits=None, levels=levels, days=False)
        return Units(entries, roles.target, 0.0, 1.0, False, tuple(columns), response, tuple(notes))
    if roles.target in public.categories:
        hint = "it is a number, or take --model mallows-logistic"
        raise DataError(f"{roles.target}, the target, has categories", hint)
    target = formula.target if formula else FormulaFactor(roles.target, roles.target)
    limits = function_limits(target, response.limits) if target.function else response.limits
    low, high = limits or (0.0, 0.0)
    if limits is None:
        guess = "" if public.error_scale else ", and errors to have a standard deviation of about 1"
        notes.append(f"no range is stated of {roles.target}, the target: its values are taken to lie around 0{guess}")
    # a quarter of the range of the target is the guess of the errors' scale, where none is stated
    scale = public.error_scale or (high - low) / 4 or 1.0
    has_scale, numbers = not public.error_scale_is_known, response._replace(levels=None)
    own = (tuple(columns), numbers, tuple(notes), target.function)
    return Units(entries, target.text, (low + high) / 2, scale, has_scale, *own)


def read_records(table: RecordTable, roles: Roles, public: PublicInputs, binary: bool) -> FitRecords:
    """The records of a file. Raises DataError for what is wrong with its header, or with budgets, which are public."""
    try:
        units = units_of(table.header, roles, public, binary)
    except DataError as error:
        raise DataError(f"{table.where}: {error.message}", error.hint) from None
    (y, known, _), (x, read) = encoded(table, units.response), covariates(table, units)
    y = applied(units.function, y)
    usable = known & read & np.isfinite(y)
    # a value far out is kept at `FARTHEST`: its score is bounded all the same, and no number overflows
    response = y if binary else np.clip((y - units.centre) / units.scale, -FARTHEST, FARTHEST)
    mu = None if roles.mu is None else read_budgets(table, roles.mu, public)
    # a record that is not usable keeps its place: who holds no usable row is still asked, and sends noise alone
    return FitRecords(units, x[usable], response[usable], np.flatnonzero(usable), len(table), mu)


def covariates(table: RecordTable, units: Units) -> tuple[np.ndarray, np.ndarray]:
    """The covariates of every record [n, d], and whether all of them could be read [n]."""
    columns = {column.name: encoded(table, column) for column in units.columns}
    x, usable = covariates_of({name: column.values for name, column in columns.items()}, units, len(table))
    return x, np.logical_and.reduce([usable, *(column.read for column in columns.values())])


def covariates_of(values: Mapping[str, np.ndarray], units: Units, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Those of the values of each column [n], NaN where one is missing, and where they are finite [n]."""
    x, usable = np.zeros((n, len(units.entries))), np.ones(n, dtype=bool)
    for j, entry in enumerate(units.entries):
        # that of (c) is 0 in a prediction, and follows from the order in a fit
        if entry.level == SIGN:
            continue
        z = math.prod(_standardised(factor, values[factor.column]) for factor in entry.factors)
        usable = usable & np.isfinite(z)
        # so that |x|^2 = 1 + |z|^2 is about 2 and hardly any record loses weight
        x[:, j] = np.clip(z, -FARTHEST, FARTHEST) / math.sqrt(len(units.entries))
    return x, usable


def _standardised(entry: Entry, values: np.ndarray) -> np.ndarray:
    """(value - centre) / scale [n]; 0 where a value is missing, which has an entry of its own."""
    missing = np.isnan(values)
    # at the centre a missing value adds nothing, whatever the others are
    raw = missing if entry.level == MISSING else values if entry.level is None else values == entry.level
    z = np.clip((applied(entry.function, raw) - entry.centre) / entry.scale, -FARTHEST, FARTHEST)
    return np.asarray(z if entry.level == MISSING else np.where(missing, 0.0, z))


def by_person(table: RecordTable, records: FitRecords, column: str) -> tuple[FitRecords, int]:
    """The records with persons as their holders, by the order of their ids; and how many lines have no id.

    Ids are public, and one however they are spelled (`read_id`). Raises DataError where no line has one.
    """
    values = listed(table.columns[column])
    ids = {value: read_id("" if value is None else str(value)) for value in set(values)}
    if any(isinstance(value, float) and abs(value) >= 2**53 for value in ids):
        raise DataError(f"{table.where}: ids in {column} are floats, which hold 15 digits", "write them as text")
    # ids are public, and so is their order; where their lines stand is not
    places = {person: k for k, person in enumerate(sorted(set(ids.values()) - {""}))}
    if not places:
        raise DataError(f"{table.where}: no line says whose it is in {column}", "--person names the column of the ids")
    whose, n = np.array([places.get(ids[value], -1) for value in values]), len(places)
    # of each the rows in the order of their bits, on whatever lines: an average depends on the order of its rows in its
    # last digits. By owner first, so that the rows of nobody, -1, are the first and are left out
    bits, owners = np.column_stack([records.x, records.y]).view(np.uint64), whose[records.owners]
    rows = np.lexsort((*bits.T, owners))[np.count_nonzero(owners < 0) :]
    mu = None
    if records.mu is not None:  # of several budgets of a person the smallest counts
        mu = np.full(n, math.inf)
        np.minimum.at(mu, whose[whose >= 0], records.mu[whose >= 0])
    alone = int(np.count_nonzero(whose < 0))
    return FitRecords(records.units, records.x[rows], records.y[rows], owners[rows], n, mu), alone
