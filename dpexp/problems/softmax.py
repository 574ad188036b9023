"""Multinomial logistic regression with lambda/2 |W|^2 on labelled records (`dp-sgld`, section 5).

Every record is scaled to norm 1 by itself and gets a bias entry, so that all norms are one public number and so are the
constants: L of the data part and the smoothness of every record's loss. No number is computed from several records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_serializer, model_validator

from dpexp.core.errors import DataError
from dpexp.core.files import FOLDER, State, hash_of_data, place_of, state_of
from dpexp.core.parameters import Parameters, RecordCount, Seed, integral
from dpexp.core.seeds import generator
from dpexp.data import dataset
from dpexp.data.dataset import NORM, Dataset, DataShape, Split, held_out
from dpexp.data.encode import limits_of, none_read, remarks
from dpexp.data.labelled import DATASETS, TEST_FRACTION, Shipped, columns_of_file, load_split, read_labelled
from dpexp.data.public_inputs import BLANKS, PublicInputs
from dpexp.data.records import FORMATS, read_record_table
from dpexp.problems.problem import Problem
from dpexp.theory.dp_sgld.softmax_constants import data_lipschitz, minimiser_radius, smoothness_of_norm

NOT_COVERED = (
    "Every record is scaled to norm 1 by itself. No guarantee covers what is measured, accuracy and loss, nor settings "
    "chosen by looking at it."
)


def _tuples(value: Any, entry: Callable[[Any], Any] = lambda entry: entry) -> Any:
    """A list as a tuple of entries, also in a mapping."""
    if isinstance(value, Mapping):
        return {key: _tuples(inner, entry) for key, inner in value.items()}
    return tuple(map(entry, value)) if isinstance(value, list | tuple) else value


# categories, or names of columns, as text: 1 is '1', true is 'True'
_TEXTS = BeforeValidator(lambda value: _tuples(value, str))
Fraction = Annotated[float, Field(ge=1e-6, le=0.999999)]
_LISTS_BY_NAME = WithJsonSchema({"type": "object", "additionalProperties": {"type": "array"}})
Ranges = Annotated[dict[str, tuple[float, float] | tuple[str, str]], BeforeValidator(_tuples), _LISTS_BY_NAME]
Categories = Annotated[dict[str, tuple[str, ...]], _TEXTS, _LISTS_BY_NAME]
Names = Annotated[tuple[str, ...], _TEXTS, WithJsonSchema({"type": "array"})]


class DataSource(Parameters):
    """A shipped data set by `name`, or by `path` the user's table, whose `target` column has the classes.

    A path starts at the folder of the config, or ~ at the home of whoever reads it, and is kept as it is written.
    """

    name: Literal["adult", "digits", "fashion"] | None = None
    path: str | None = None
    target: str | None = None
    ranges: Ranges | None = None
    """column -> (low, high), known without the records: numbers, or days like 2021-03-01, are scaled to [0, 1]"""
    categories: Categories | None = None
    """column -> its possible values, known without the records; those of the target are the classes"""
    missing: Names = ()
    """columns whose values may be missing, which then have an entry of their own"""
    leave_out: Names = ()
    """columns that are not used"""
    decimal: Literal[".", ","] = "."
    thousands: Literal["", ",", ".", " ", "'", "_"] = ""
    """marks in the numbers of a table"""
    features: Literal["pixels"] = "pixels"
    by_file_name: Annotated[tuple[()], BeforeValidator(_tuples)] = ()
    """constants, which the names of stored cells contain"""
    records: RecordCount | None = None
    """about how many there are, a public number, from which probabilities, steps and noise follow where records are
    added or removed"""

    _folder: Path | None = None

    @model_validator(mode="after")
    def _one_source(self) -> DataSource:
        self._folder = None if self.path is None else FOLDER.get()
        if (self.name is None) == (self.path is None):
            raise ValueError(f"give a name ({', '.join(DATASETS)}) or a path, for instance {{name: digits}}")
        stated = self.model_dump(exclude_defaults=True, exclude={"name", "path"})
        if self.name and stated:
            raise ValueError(f"{', '.join(sorted(stated))}: only for data with a path, not for {self.name!r}")
        if self._folder is None:
            return self
        place, path, levels_of = self.place, self.path, self.categories or {}
        blank = next((name for name, levels in levels_of.items() if set(levels) <= BLANKS), None)
        for wrong, message in (
            (not place.exists(), f"{path}: no such file (a path in a config starts at the config's folder)"),
            (place.is_dir(), f"{path} is a folder, not a table (of images, features are read from a .parquet file)"),
            (place.suffix.lower() not in FORMATS, f"{path}: the format must be one of {', '.join(FORMATS)}"),
            (self.target is None, f"{path}: which column is the target? give target"),
            (self.decimal == self.thousands, "decimal and thousands are one mark: decimal is '.' if it is not stated"),
            (blank is not None, f"categories of {blank} are not filled in: state what is known without the records"),
        ):
            if wrong:
                raise ValueError(message)
        _ = self.public
        return self

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    @model_serializer(mode="wrap")
    def _as_stored(self, dumped: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        # what is not used is not written, so that cells without it keep their names
        spare = ("missing", "leave_out", "records", "thousands")
        return {k: v for k, v in dumped(self).items() if v or k not in spare if (k, v) != ("decimal", ".")}

    @property
    def shipped(self) -> Shipped | None:
        return DATASETS[self.name] if self.name else None

    @property
    def place(self) -> Path:
        """The file. Raises DataError where this comes from stored results, which open none."""
        if self._folder is None:
            raise DataError(f"{self.path}: the records of stored results are not read", "dpexp run CONFIG reads them")
        return place_of(str(self.path), self._folder)

    @property
    def public(self) -> PublicInputs:
        """Statements about a table's columns."""
        ranges = {name: limits_of(name, pair) for name, pair in (self.ranges or {}).items()}
        days = tuple(name for name, pair in (self.ranges or {}).items() if isinstance(pair[0], str))
        stated = PublicInputs(ranges, self.categories or {}, self.missing, self.leave_out, days)
        return replace(stated, decimal=self.decimal, thousands=self.thousands)


class Softmax(Problem):
    """-log softmax(W x)_y + lambda/2 |W|^2, with W [classes, p] and x [p] of norm sqrt(1.0625), bias entry included."""

    name: Literal["softmax"] = "softmax"
    data: DataSource = DataSource(name="digits")
    regulariser: Annotated[float, Field(ge=1e-9, le=1e6)] = 1e-4
    """lambda"""
    test_fraction: Fraction | None = None
    """share of the records drawn at random for the test; without it the published test part, or a fifth"""
    validation_fraction: Fraction | None = None
    """share of the training records that takes the place of the test records, for choosing settings"""
    data_seed: Seed = 0
    random_features: Annotated[int, Field(ge=1, le=10**5), BeforeValidator(integral)] | None = None
    """replace a record by so many max(0, direction'x), public random directions: more parameters to train"""

    @property
    def split(self) -> Split:
        """Prepared records to train on, and held out. Raises DataError, which lists all that is wrong."""
        fractions = self.test_fraction, self.validation_fraction
        return split_of(self.data, *fractions, self.data_seed, self.random_features)

    @property
    def train(self) -> Dataset:
        return self.split.train

    @property
    def group_draws(self) -> np.ndarray | None:
        """Numbers [n] by which training records fall into groups by themselves; None where places decide."""
        return None if self.train.draws is None else self.train.draws[:, dataset.GROUP]

    @property
    def parts(self) -> tuple[int, int]:
        """Records to train on, and held out: public numbers, which follow from the stated one where one is stated."""
        source = self.data.shipped
        records = source.shape.records if source else self.data.records
        if records is None:
            return len(self.split.train), len(self.split.test)
        # a stated fraction sets a published test part aside
        published = source.published_test if source and self.test_fraction is None else 0
        out = published or held_out(records, self.test_fraction or TEST_FRACTION)
        if self.validation_fraction is not None:
            records, out = records - out, held_out(records - out, self.validation_fraction)
        return records - out, out

    @property
    def shape(self) -> DataShape:
        """Training records, length of a prepared record and classes; shipped data are not read for it."""
        if (source := self.data.shipped) is None:
            return DataShape(self.parts[0], self.train.features.shape[1], len(self.train.classes))
        return DataShape(self.parts[0], (self.random_features or source.shape.width) + 1, source.shape.classes)

    @property
    def n(self) -> int:
        """Number of training records."""
        return self.shape.records

    @property
    def lipschitz(self) -> float:
        """Bound sqrt(2) |x| on the norm of a record's data gradient, which alone depends on the record."""
        return data_lipschitz(NORM)

    @property
    def smoothness(self) -> float:
        """beta of every record's loss: |x|^2 / 2 + lambda."""
        return smoothness_of_norm(NORM, self.regulariser)

    @property
    def radius(self) -> float:
        """Radius of a ball that holds the minimiser for any records."""
        return minimiser_radius(NORM, self.regulariser, self.shape.classes)

    def dealt_anew(self, seed: int) -> Softmax:
        return self if self.data.path is None else self.model_copy(update={"data_seed": seed})

    def memory(self) -> int:
        # records as read and prepared, and where a record is replaced by more numbers, these twice; those of the
        # user's own files have been read by now, so that only what is made of them is counted
        (records, width, _), source = self.shape, self.data.shipped
        records_read = source.shape.records if source else 2 * records
        directions = 4 * width * width if self.random_features else 0
        return 4 * records_read * width * (3 if source or self.random_features else 2) + directions

    def files(self) -> Mapping[str, str]:
        # as they were when they were first read
        if self.data.path is None:
            return {}
        return {self.data.path: "" if self.data._folder is None else hash_of_data(str(self.data.place))}

    def places(self) -> Sequence[Path]:
        return () if self.data.path is None else (self.data.place,)

    def legend(self) -> Mapping[str, Any]:
        train = self.train
        return {
            "kind": self.name, "classes": list(train.classes), "columns": [c._asdict() for c in train.columns],
            "target": self.data.target, "bias": dataset.BIAS, "random_features": self.random_features,
            "encoding": train.note,
        }  # fmt: skip

    def notices(self) -> Sequence[str]:
        source, records = self.data.shipped, self.data.records
        note = f"{source.note} {source.licence}." if source else self.train.note
        number = "The number of records counts as public."
        if records:
            number = f"No count of records is used: probabilities, steps and noise follow from the stated {records:,}, "
            number += "and each record falls into its part by itself."
        return (f"{note} {NOT_COVERED} {number}",)

    def require_records(self) -> None:
        if self.data.path and not any(np.any(part.usable) for part in self.split):
            raise none_read(read_record_table(self.data.place), self.remarks())

    def remarks(self) -> Sequence[str]:
        return _remarked(self.data, state_of(self.data.place)) if self.data.path else ()


@lru_cache(maxsize=2)
def split_of(
    data: DataSource, test_fraction: float | None, validation_fraction: float | None, seed: int, features: int | None
) -> Split:
    source = data.name or _records(data, state_of(data.place))
    parts = load_split(source, records=data.records, test_fraction=test_fraction, seed=seed)
    if validation_fraction is not None and parts.train.draws is not None:
        parts = dataset.split_by_draws(parts.train, validation_fraction, dataset.VALIDATION)
    elif validation_fraction is not None:
        # part 1 of the role: other draws than those of a random test part
        parts = dataset.split(parts.train, validation_fraction, generator(seed, 0, "data", 1))
    if features is None:
        return parts
    return Split(*(part.with_features(with_random_features(part.features, features)) for part in parts))


# every replicate of a deployment splits it anew
@lru_cache(maxsize=1)
def _records(data: DataSource, state: State) -> Dataset:
    """Of a table as it is now."""
    return read_labelled(data.place, str(data.target), data.public)


# settings of one experiment share it, and a process may outlive an edit of it
@lru_cache(maxsize=1)
def _remarked(data: DataSource, state: State) -> tuple[str, ...]:
    """Of a table as it is now."""
    table = read_record_table(data.place)
    columns, classes = columns_of_file(table.header, table.where, str(data.target), data.public)
    return tuple(f"{data.place.name}: {line}" for line in remarks(table, columns, classes))


def with_random_features(features: np.ndarray, count: int) -> np.ndarray:
    """Prepared features through public random directions, one record at a time; less their own mean, prepared again."""
    from dpexp.engine.softmax.softmax_metrics import add_product

    directions = np.random.Generator(np.random.PCG64(20220205))
    draws = directions.standard_normal((features.shape[1] - 1, count), dtype=np.float32)
    along = np.zeros((len(features), count), np.float32)
    add_product(along, np.ascontiguousarray(features[:, :-1]), draws)
    np.maximum(along, 0, out=along)
    along -= along.mean(axis=1, keepdims=True)
    return dataset.prepare(along)
