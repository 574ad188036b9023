"""The result of a fit, just made or read from its file, in the names of statsmodels and broom.

Everything follows from the JSON document, which holds the released numbers.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter

from dpexp.commands import fit_text
from dpexp.core.errors import PrivateWarning, UsageError
from dpexp.core.files import atomically, read_ordinary
from dpexp.core.standard_json import standard_json
from dpexp.core.text import Printed, csv_cell
from dpexp.data.encode import unread
from dpexp.data.records import read_record_table
from dpexp.data.regression import Units, covariates
from dpexp.data.table_remarks import losses
from dpexp.inference.user_scale import COLUMNS, Inference, in_line, read_inference

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST_BYTES = 50_000_000
"""of a file that can be a fit"""


@dataclass(frozen=True)
class FitResult(Printed):
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
        coefficients = self.estimates()[: -1 if self.units.has_scale else None]
        unbounded = fit_text.is_fitted(self.stored) and not any(row["bounded"] for row in coefficients)
        return 3 if unbounded or (self.stored["refused"] and "release" not in self.stored) else 0

    def document(self) -> dict[str, Any]:
        """The JSON document of `dpexp fit --json`."""
        return dict(self.stored)

    def text(self) -> str:
        """The page that `dpexp fit` prints."""
        return fit_text.page(self.stored, self.units, self.source, self.spent)

    __str__ = summary = text

    def estimates(self) -> list[dict[str, Any]]:
        """A row for every parameter; null where there is nothing."""
        return list(self.stored["estimates"])

    @property
    def contrasts(self) -> dict[str, Any] | None:
        """Rows of the contrasts, and the test that all of them are 0."""
        return self.stored.get("contrasts")

    def frame(self) -> pd.DataFrame:
        """The estimates as a table, a row each; NaN where there is nothing."""
        import pandas as pd

        frame = pd.DataFrame(self.estimates())
        return frame.astype({name: float for name in (*COLUMNS, "finite_level") if name in frame})

    @property
    def params(self) -> pd.Series:
        """Estimates by term."""
        return self.frame().set_index("term")["estimate"]

    @property
    def bse(self) -> pd.Series:
        """Standard errors by term; NaN of what has no finite interval."""
        return self.frame().set_index("term")["std_error"]

    @property
    def pvalues(self) -> pd.Series:
        """p-values by term, each of the test that this one is 0."""
        return self.frame().set_index("term")["p_value"]

    def conf_int(self, alpha: float | None = None) -> pd.DataFrame:
        """Ends of the intervals of level 1 - alpha, `conf_low` and `conf_high` by term; by default those printed."""
        import pandas as pd

        rows = self.estimates()
        if alpha is not None:
            if not 0 < alpha <= 0.5:
                raise UsageError(f"alpha is a number above 0, at most 0.5, not {alpha:g}", "0.05 for 95% intervals")
            parameters, _ = replace(self.inference, level=1 - alpha).parameters
            rows = [{"term": self.units.names[j], **parameters[j]} for j in self.units.visible]
        return pd.DataFrame(rows).set_index("term")[["conf_low", "conf_high"]].astype(float)

    @property
    def covariance(self) -> pd.DataFrame:
        """Of all parameters on the user's scale. Raises UsageError where nothing was released."""
        import pandas as pd

        names, places = [self.units.names[j] for j in self.units.visible], self.units.visible
        return pd.DataFrame(self.inference.parameters[1][np.ix_(places, places)], names, names)

    def glance(self) -> pd.DataFrame:
        """The fit as a whole, in one row."""
        import pandas as pd

        return pd.DataFrame([self.stored["glance"]])

    def predict(self, table: object) -> pd.DataFrame:
        """The mean of the target for every record: `mean`, `std_error`, `conf_low`, `conf_high`.

        `table` is a file or whatever holds columns; an array [n, k] has the columns of the fit in their order. Not the
        spread of single targets about the mean. A record with a value that cannot be read has no prediction, and a
        warning counts them. A prediction costs no privacy of the records of the fit; the table is its owner's affair.
        """
        frame, sentences = self._predicted(table)
        for sentence in sentences:
            warnings.warn(sentence, PrivateWarning, stacklevel=2)
        return frame

    def predictions(self, table: object, raw: bool = False) -> tuple[dict[str, Any], str, list[str]]:
        """The frame of `predict` as JSON document and as CSV; and the warnings."""
        frame, sentences = self._predicted(table)
        document = {"target": self.units.modelled, "predictions": frame.to_dict("records")}
        return document, frame.to_csv(index=False).rstrip("\n"), sentences

    def _predicted(self, table: object) -> tuple[pd.DataFrame, list[str]]:
        import pandas as pd

        names = [column.name for column in self.units.columns]
        if isinstance(table, np.ndarray) and table.dtype.names is None:
            if table.ndim != 2 or table.shape[1] != len(names):
                shape = list(table.shape)
                raise UsageError(f"an array [n, {len(names)}] has the columns {', '.join(names)}, not one of {shape}")
            table = {name: table[:, k] for k, name in enumerate(names)}
        records = read_record_table(Path(table).expanduser() if isinstance(table, str | Path) else table)
        records.header.require(names, records.where)
        x, readable = covariates(records, self.units)
        frame = pd.DataFrame(np.nan, range(len(readable)), ["mean", "std_error", "conf_low", "conf_high"])
        frame.loc[readable] = self.inference.means(x[readable])
        return frame, losses(records, unread(records, self.units.columns), "have no prediction")

    def save(self, path: Path) -> None:
        """Write the document. Raises UsageError for another ending than .json."""
        if path.suffix != ".json":
            raise UsageError(f"{path}: a fit is written as .json")
        content = standard_json(self.stored) + "\n"
        atomically(path, lambda temporary: temporary.write_text(content, encoding="utf-8"))

    def write_beside(self, result: Path, raw: bool) -> None:
        """The estimates and their covariance as csv, and the forest plot, beside a result; `raw` is for `csv_cell`."""
        covariance = self.covariance.rename_axis("").reset_index()
        for ending, frame in ((".csv", self.frame()), (".covariance.csv", covariance)):
            safe = frame.map(csv_cell, raw=raw).rename(columns=partial(csv_cell, raw=raw))
            atomically(result.with_suffix(ending), partial(safe.to_csv, index=False))
        atomically(result.with_suffix(".png"), lambda path: self.forest().savefig(path, format="png"))

    def forest(self) -> Figure:
        """The effect of each column with its interval: of a level, or of a quarter of a stated range.

        Numbers have units of their own; a quarter of a range, which is public, makes them comparable. Raises UsageError
        where nothing was released.
        """
        import matplotlib as mpl
        from matplotlib.figure import Figure

        from dpexp.reporting.style import RC

        units, level = self.units, self.inference.level
        with mpl.rc_context(RC):
            canvas = Figure(figsize=(5.2, 0.8 + 0.28 * len(units.entries)), layout="constrained")
            axes = canvas.subplots()
            axes.axvline(0, color="#555555", linewidth=0.8)
            for k, (entry, row) in enumerate(zip(units.entries, self.estimates()[1:], strict=False)):
                step = 1.0 if entry.level is not None else entry.scale
                if row["bounded"]:
                    axes.plot([step * row["conf_low"], step * row["conf_high"]], [k, k], color="#2b6cb8")
                    axes.plot(step * row["estimate"], k, "o", color="#2b6cb8", markersize=4)
                else:
                    axes.text(0, k, "  unbounded", va="center", color="#7a4fa3")
            axes.set_yticks(range(len(units.entries)), [in_line(entry.name) for entry in units.entries])
            axes.set_ylim(len(units.entries) - 0.5, -0.5)
            label = f"log odds of {units.target}, with" if units.binary else f"{units.target}, with"
            axes.set_xlabel(f"{label} {100 * level:g}% intervals,\nfor a level, or a quarter of a column's range")
        return canvas


def read_fit(path: Path) -> FitResult:
    """The fit of a file. Raises UsageError for a file that is none."""
    try:
        fit = FitResult(json.loads(read_ordinary(path, MOST_BYTES)), str(path))
        _ = fit.estimates()[0], fit.stored["glance"], fit.stored["refused"], fit.units
        if fit.stored.get("release"):
            _ = fit.inference
        return fit
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file", "what dpexp fit --out FILE.json wrote") from None
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        raise UsageError(f"{path} is not the result of a fit", "what dpexp fit --out FILE.json wrote") from None
