"""The file of `dpexp fit --public`: ranges, categories and what else is known of columns without the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from dpexp.config.error_messages import explain
from dpexp.config.yamlfile import ConfigError, Position, all_at, parse_mapping, plain, read_bytes
from dpexp.core.parameters import Fault, Faults, Parameters
from dpexp.data.encode import letters, limits_of
from dpexp.data.public_inputs import BLANKS, PublicInputs

FILL_IN = "fill it in from a code book, an earlier public sample or common knowledge, never from these records"
TRUTH = ("0", "1")
"""the categories of a target of truth values, which have no statement"""


def _limits(value: Any) -> tuple[float, float]:
    """A range: two numbers or two days, but not one of each."""
    with suppress(ValueError, TypeError):
        if len({isinstance(end, str) for end in value}) == 1:
            return limits_of("", value)
    ends = [end for end in value if isinstance(end, str)] if isinstance(value, tuple) else []
    raise _blank_or(ends, "is two numbers or two days, the smaller first", "[20, 70] or [2001-01-01, 2020-12-31]")


def _levels(value: Any) -> tuple[str, ...]:
    """Categories of a column, all different."""
    texts = tuple(map(str, value)) if isinstance(value, tuple) else ()
    if len(texts) < 2 or set(texts) <= BLANKS or len(set(map(letters, texts))) < len(texts):
        raise _blank_or(texts, "is a list of two or more categories, each of them once", "[no, yes]")
    return texts


def _columns(value: Any) -> tuple[str, ...]:
    """A list of columns, or the word `error` for none."""
    if value == "error":
        return ()
    if not isinstance(value, tuple) or not all(isinstance(name, str | int | float) for name in value):
        raise _blank_or([], "is a list of columns", "[age, income]")
    return tuple(map(str, value))


def _blank_or(texts: Sequence[str], message: str, example: str) -> Faults:
    """That a blank of a draft is not filled in, or else the message."""
    if texts and set(texts) <= BLANKS:
        return Faults([Fault((), f"is not filled in: {texts[0]}", FILL_IN)])
    return Faults([Fault((), message, f"for instance {example}")])


Columns = Annotated[tuple[str, ...], BeforeValidator(_columns)]
Scale = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, lt=1)]
Correlation = Annotated[float, Field(gt=-1, lt=1)]


class _File(Parameters):
    """The keys of a file, mappings by the names of columns."""

    ranges: dict[str, Annotated[tuple[float, float], BeforeValidator(_limits)]] = Field(default_factory=dict)
    categories: dict[str, Annotated[tuple[str, ...], BeforeValidator(_levels)]] = Field(default_factory=dict)
    missing: Columns = ()
    leave_out: Columns = ()
    error_scale: Scale | None = None
    known_error_scale: Scale | None = None
    decimal: Literal[".", ","] = "."
    thousands: Literal["", ",", ".", " ", "'", "_"] = ""
    shares: dict[str, dict[str, Share]] = Field(default_factory=dict)
    correlation: Annotated[float, Field(ge=0, lt=1)] | dict[str, dict[str, Correlation]] | None = None
    log_odds_sd: Scale | None = None

    @model_validator(mode="after")
    def _fits(self) -> _File:
        faults = []
        if self.error_scale is not None and self.known_error_scale is not None:
            faults.append(Fault(("known_error_scale",), "cannot be given with error_scale", "keep one of them"))
        if self.decimal == self.thousands:
            faults.append(Fault(("thousands",), "is the mark of decimals too", "decimal is '.' if not stated"))
        # A column is a number or a category, and which it is must not depend on the records.
        for name in self.ranges.keys() & self.categories.keys():
            faults.append(Fault(("categories", name), "is of a column that has a range", "keep one of them"))
        for name, shares in self.shares.items():
            levels = self.categories.get(name, TRUTH)
            if sum(shares.values()) > 1 + 1e-9:
                faults.append(Fault(("shares", name), "add up to more than 1", "shares: {smoker: {yes: 0.05}}"))
            for level in shares.keys() - set(levels):
                message = f"names {level!r}, which is no category of {name}"
                faults.append(Fault(("shares", name, level), message, f"categories: {', '.join(levels)}"))
        if faults:
            raise Faults(faults)
        return self


def read_public(source: Path | Mapping[str, object] | None) -> PublicInputs:
    """The statements of a file or of a mapping; none without one. Raises ConfigError with all mistakes, located."""
    if source is None:
        return PublicInputs()
    where, keys = str(source) if isinstance(source, Path) else "public", f"keys: {', '.join(_File.model_fields)}"
    if isinstance(source, Path):
        root = parse_mapping(read_bytes(source), where, "a file of --public", keys)
    else:
        root = all_at(source, Position(where))
    # A key without a value is one that is left out.
    values = root.only([key for key, value in root.items() if value is not None])
    try:
        file = _File.model_validate(plain(values))
    except ValidationError as error:
        raise ConfigError(explain(error, "", values, _File)) from None
    one_correlation = None if isinstance(file.correlation, dict) else file.correlation
    correlations = file.correlation if isinstance(file.correlation, dict) else {}
    # A range is kept as numbers, so that its column is remembered as one of days.
    days = tuple(name for name in file.ranges if isinstance(values["ranges"][name][0], str))
    scale, is_known = file.error_scale or file.known_error_scale, file.known_error_scale is not None
    pairs = {(a, b): value for a, others in correlations.items() for b, value in others.items()}
    return PublicInputs(
        file.ranges, file.categories, file.missing, file.leave_out, days, scale, is_known, file.decimal,
        file.thousands, where, file.shares, one_correlation, pairs, file.log_odds_sd,
    )  # fmt: skip
