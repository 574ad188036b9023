"""What enters a regression: covariates in units of the stated ranges, and holders in the order of a permutation."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpexp.core.errors import DpexpError
from dpexp.data.public_inputs import PublicInputs
from dpexp.data.records import Header
from dpexp.data.regression import SIGN, Entry, FitRecords, Roles, covariates_of, units_of

PUBLIC = PublicInputs({"a": (10.0, 30.0), "y": (2.0, 10.0)}, {"g": ("u", "v", "w")})
UNITS = units_of(Header(dict.fromkeys("agy", "unknown")), Roles("y"), PUBLIC, False)


def test_covariates_are_centred_and_scaled_by_what_is_public():
    """A quarter of a range is 1, each of three levels is guessed to have a third; all over the root of their number."""
    x, usable = covariates_of({"a": np.array([20.0, 25.0, 5.0]), "g": np.array([0.0, 1.0, 2.0])}, UNITS, 3)
    off, on = (value / math.sqrt(2 / 9) for value in (-1 / 3, 2 / 3))
    assert x * math.sqrt(3) == pytest.approx(np.array([[0.0, off, off], [1.0, on, off], [-3.0, off, on]]))
    assert usable.all()
    assert (UNITS.centre, UNITS.scale) == (6.0, 2.0)


def test_holders_in_an_order_keep_their_rows_and_signs_follow_the_order():
    units = replace(UNITS, entries=(Entry("(sign)", "", 0.0, 1.0, SIGN),))
    records = FitRecords(units, np.zeros((4, 1)), np.arange(4.0), np.array([0, 1, 1, 2]), 3, np.array([0.5, 1.0, 2.0]))
    moved = records.in_order(np.array([2, 0, 1]))
    assert moved.y.tolist() == [3, 0, 1, 2]
    assert moved.owners.tolist() == [0, 1, 2, 2]
    assert moved.mu.tolist() == [2.0, 0.5, 1.0]
    assert moved.x[:, 0].tolist() == [1, -1, 1, 1]


@pytest.mark.parametrize(
    ("levels", "binary"), [(None, True), (("no", "yes"), True), (("a", "b", "c"), True), (("no", "yes"), False)]
)
def test_a_binary_target_has_two_categories_and_a_number_none(levels, binary):
    """Without stated ones these are 0 and 1; a target that may be missing would enter by a value that is none."""
    public = PublicInputs(categories={} if levels is None else {"y": levels})
    header = Header(dict.fromkeys("ay", "unknown"))
    if levels is not None and not (binary and len(levels) == 2):
        with pytest.raises(DpexpError):
            units_of(header, Roles("y"), public, binary)
        return
    units = units_of(header, Roles("y"), public, binary)
    assert units.response.levels == (levels or ("0", "1"))
    assert not units.has_scale


def test_a_missing_value_is_0_beside_an_entry_of_its_own():
    """By hand: the column at its centre, and an indicator, centred at its guessed share; the sign of a term is no name."""
    public = PublicInputs({"a": (10.0, 30.0), "y": (2.0, 10.0)}, {"g": ("u", "v")}, centred_if_missing=("a",))
    units = units_of(Header(dict.fromkeys("agy", "unknown")), Roles("y"), public, False)
    indicator = next(entry for entry in units.entries if "missing" in entry.name)
    x, usable = covariates_of({"a": np.array([20.0, 30.0, np.nan]), "g": np.array([0.0, 1.0, 0.0])}, units, 3)
    columns = dict(zip((entry.name for entry in units.entries), (x * math.sqrt(3)).T, strict=True))
    assert usable.all()
    assert columns["a"] == pytest.approx([0.0, 2.0, 0.0])
    assert columns[indicator.name] * indicator.scale + indicator.centre == pytest.approx([0.0, 0.0, 1.0])
    assert units.visible == [*range(len(units.names))]
    signed = replace(units, entries=(units.entries[0], Entry("(sign)", "", 0.0, 1.0, SIGN), *units.entries[1:]))
    assert signed.visible == [0, 1, *range(3, len(signed.names))]
