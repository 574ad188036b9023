"""The result of a fit, just made or read from its file: everything follows from its JSON document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter

from dpexp.commands import fit_text
from dpexp.commands.release import ReleaseAnswer
from dpexp.core.errors import UsageError
from dpexp.core.files import read_ordinary
from dpexp.data.encode import losses, unread
from dpexp.data.records import read_record_table
from dpexp.data.regression import Units, covariates
from dpexp.inference.models import MODELS
from dpexp.inference.user_scale import COLUMNS, Inference, read_inference

if TYPE_CHECKING:
    import pandas as pd

MOST_BYTES = 50_000_000  # of a file that can be a fit
HINT = "what dpexp fit --out FILE.json wrote"


@dataclass(frozen=True)
class FitResult(ReleaseAnswer):
    """A fit, a plan, or a refusal."""

    stored: Mapping[str, Any]
    """the JSON document"""
    source: str
    """the data, or the file of the document"""
    remarks: Sequence[str] = ()
    """of a rehearsal, read off the records: for their owner on stderr, and no part of text or document"""
    spent: str = ""
    """by all deployments of this name"""

    @cached_property
    def units(self) -> Units:
        """Covariates and the response as the computation sees them."""
        return TypeAdapter(Units).validate_python(self.stored["public"]["units"])

    @cached_property
    def inference(self) -> Inference:
        """What follows from the release. Raises UsageError where there is none."""
        if "release" not in self.stored:
            raise UsageError(f"{self.source}: no coefficient was estimated, so nothing follows", "see the refusal")
        return read_inference(self.stored["release"], self.units, float(self.stored["level"]))

    @property
    def exit_code(self) -> int:
        """3 where no coefficient has a finite interval, or a fit would be refused."""
        coefficients = self.stored["estimates"][: -1 if self.units.has_scale else None]
        unbounded = fit_text.is_fitted(self.stored) and not any(row["bounded"] for row in coefficients)
        return 3 if unbounded or (self.stored["refused"] and "release" not in self.stored) else 0

    def document(self) -> dict[str, Any]:
        """The JSON document of `dpexp fit --json`."""
        return dict(self.stored)

    def text(self) -> str:
        """The page that `dpexp fit` prints."""
        return fit_text.page(self.stored, self.units, self.source, self.spent)

    __str__ = text

    def frame(self) -> pd.DataFrame:
        """The estimates as a table, a row each; NaN where there is nothing."""
        import pandas as pd

        frame = pd.DataFrame(self.stored["estimates"])
        return frame.astype({name: float for name in (*COLUMNS, "finite_level") if name in frame})

    def predicted(self, table: object) -> tuple[pd.DataFrame, list[str]]:
        """`mean`, `std_error`, `conf_low` and `conf_high` of the target for every record, and how many have none.

        A plug-in's model has the linear predictor, `fitted`, in place of the mean. Not the spread of single targets. A
        prediction costs no privacy of the records of the fit; the table is its owner's affair.
        """
        import pandas as pd

        records = read_record_table(table)
        records.header.require([column.name for column in self.units.columns], records.where)
        x, readable = covariates(records, self.units)
        values, own = self.inference.predicted(x[readable]), self.stored["model"] in MODELS
        if own and self.units.binary:
            share = 1 / (1 + np.exp(-values))
            # the slope of the logistic function carries the standard error over
            share[:, 1] = share[:, 0] * (1 - share[:, 0]) * values[:, 1]
            values = share
        names = ["mean" if own else "fitted", "std_error", "conf_low", "conf_high"]
        frame = pd.DataFrame(np.nan, range(len(readable)), names)
        frame.loc[readable] = values
        return frame, losses(records, unread(records, self.units.columns), "have no prediction")


def read_fit(path: Path) -> FitResult:
    """The fit of a file. Raises UsageError for a file that is none."""
    try:
        fit = FitResult(json.loads(read_ordinary(path, MOST_BYTES)), str(path))
        _ = fit.stored["estimates"][0], fit.stored["glance"], fit.stored["refused"], fit.units
        if fit.stored.get("release"):
            _ = fit.inference
        return fit
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file", HINT) from None
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        raise UsageError(f"{path} is not the result of a fit", HINT) from None
