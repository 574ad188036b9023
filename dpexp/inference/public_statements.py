"""What is stated of a table without its records, for `dpexp fit --public`: ranges, categories, and more for plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from dpexp.core.parameters import Fault, Faults, Parameters
from dpexp.data.encode import letters, limits_of
from dpexp.data.public_inputs import BLANKS, PublicInputs

FILL_IN = "fill it in from a code book, an earlier public sample or common knowledge, never from these records"


def _fault(texts: Sequence[str], message: str, example: str) -> Faults:
    """That a blank of a draft is not filled in, or else the message."""
    blank = bool(texts) and set(texts) <= BLANKS
    return Faults([Fault((), f"is not filled in: {texts[0]}", FILL_IN) if blank else Fault((), message, example)])


def _limits(value: Any) -> tuple[float, float]:
    """A range: two numbers or two days, but not one of each."""
    with suppress(ValueError, TypeError):
        if len({isinstance(end, str) for end in value}) == 1:
            return limits_of("", value)
    texts = [end for end in value if isinstance(end, str)] if isinstance(value, tuple) else []
    example = "for instance [20, 70] or [2001-01-01, 2020-12-31]"
    raise _fault(texts, "is two numbers or two days, the smaller first", example)


def _levels(value: Any) -> tuple[str, ...]:
    """Categories of a column, all different."""
    texts = tuple(map(str, value)) if isinstance(value, tuple) else ()
    if len(texts) < 2 or set(texts) <= BLANKS or len(set(map(letters, texts))) < len(texts):
        raise _fault(texts, "is a list of two or more categories, each of them once", "for instance [no, yes]")
    return texts


def _columns(value: Any) -> tuple[str, ...]:
    """A list of columns, or the word `error` for none."""
    names = () if value == "error" else value
    if not isinstance(names, tuple) or not all(isinstance(name, str | int | float) for name in names):
        raise _fault([], "is a list of columns", "for instance [age, income]")
    return tuple(map(str, names))


Columns = Annotated[tuple[str, ...], BeforeValidator(_columns)]
Scale = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Correlation = Annotated[float, Field(gt=-1, lt=1)]


class PublicStatements(Parameters):
    """The keys of a file, mappings by the names of columns."""

    ranges: dict[str, Annotated[tuple[float, float], BeforeValidator(_limits)]] = Field(default_factory=dict)
    categories: dict[str, Annotated[tuple[str, ...], BeforeValidator(_levels)]] = Field(default_factory=dict)
    missing: Columns = ()
    leave_out: Columns = ()
    error_scale: Scale | None = None
    known_error_scale: Scale | None = None
    decimal: Literal[".", ","] = "."
    thousands: Literal["", ",", ".", " ", "'", "_"] = ""
    shares: dict[str, dict[str, Annotated[float, Field(gt=0, lt=1)]]] = Field(default_factory=dict)
    correlation: Annotated[float, Field(ge=0, lt=1)] | dict[str, dict[str, Correlation]] | None = None
    log_odds_sd: Scale | None = None

    @model_validator(mode="after")
    def _fits(self) -> PublicStatements:
        faults = []
        if self.error_scale is not None and self.known_error_scale is not None:
            faults.append(Fault(("known_error_scale",), "cannot be given with error_scale", "keep one of them"))
        if self.decimal == self.thousands:
            faults.append(Fault(("thousands",), "is the mark of decimals too", "decimal is '.' if not stated"))
        # A column is a number or a category, and which it is must not depend on the records.
        for name in (name for name in self.ranges if name in self.categories):
            faults.append(Fault(("categories", name), "is of a column that has a range", "keep one of them"))
        for name, shares in self.shares.items():
            levels = self.categories.get(name, ("0", "1"))  # those of a target of truth values are not stated
            if sum(shares.values()) > 1 + 1e-9:
                faults.append(Fault(("shares", name), "add up to more than 1", "shares: {smoker: {yes: 0.05}}"))
            for level in (level for level in shares if level not in levels):
                message = f"names {level!r}, which is no category of {name}"
                faults.append(Fault(("shares", name, level), message, f"categories: {', '.join(levels)}"))
        if faults:
            raise Faults(faults)
        return self

    def inputs(self, written: Mapping[str, Any], where: str) -> PublicInputs:
        """The same as the computation takes it; `written` are the keys as the file `where` has them."""
        correlation, pairs = self.correlation, dict[tuple[str, str], float]()
        if isinstance(correlation, dict):
            pairs = {(a, b): value for a, others in correlation.items() for b, value in others.items()}
            correlation = None
        # A range is kept as numbers, so that its column is remembered as one of days.
        days = tuple(name for name in self.ranges if isinstance(written["ranges"][name][0], str))
        scale, is_known = self.error_scale or self.known_error_scale, self.known_error_scale is not None
        return PublicInputs(
            self.ranges, self.categories, self.missing, self.leave_out, days, scale, is_known, self.decimal,
            self.thousands, where, self.shares, correlation, pairs, self.log_odds_sd,
        )  # fmt: skip
