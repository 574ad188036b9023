"""What the result of a fit gives to Python and to other commands, whether it was just made or is read from its file."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.commands.fit_after import COLUMNS, Inference, estimates_table
from dpexp.core.errors import PrivateWarning, UsageError
from dpexp.core.files import read_ordinary
from dpexp.core.text import Printed, up
from dpexp.data.encode import unread
from dpexp.data.records import read_table
from dpexp.data.regression import Units, covariates
from dpexp.data.remarks import losses
from dpexp.inference.intervals import Release

if TYPE_CHECKING:
    import pandas as pd

MOST_OF_FIT = 50_000_000
"""bytes of a file that can be a fit"""


class FitResult(Printed):
    """Estimates, their covariance and predictions, in the names of statsmodels and broom."""

    units: Units
    """what columns are to the computation"""

    @property
    def inference(self) -> Inference:
        """What follows from the release. Raises UsageError where there is none."""
        raise NotImplementedError

    def document(self) -> dict[str, Any]:
        """The JSON document of the contract."""
        raise NotImplementedError

    def estimates(self) -> list[dict[str, Any]]:
        """The contract's list; null where there is nothing."""
        return list(self.document()["estimates"])

    def __str__(self) -> str:
        return self.text()

    def summary(self) -> str:
        """The text that the command prints."""
        return self.text()

    def frame(self) -> pd.DataFrame:
        """The estimates as a table, a row each; NaN where there is nothing."""
        import pandas as pd

        frame = pd.DataFrame(self.estimates())
        return frame.astype({name: float for name in (*COLUMNS, "finite_level") if name in frame})

    @property
    def params(self) -> pd.Series:
        """Estimates by term."""
        return self._column("estimate")

    @property
    def bse(self) -> pd.Series:
        """Standard errors by term; NaN of what has no finite interval."""
        return self._column("std_error")

    @property
    def pvalues(self) -> pd.Series:
        """p-values by term, each of the test that this one is 0."""
        return self._column("p_value")

    def _column(self, name: str) -> pd.Series:
        return self.frame().set_index("term")[name]

    def conf_int(self, alpha: float | None = None) -> pd.DataFrame:
        """Ends of the intervals of level 1 - alpha, `conf_low` and `conf_high` by term; by default those printed."""
        import pandas as pd

        rows = self.estimates()
        if alpha is not None:
            if not 0 < alpha <= 0.5:
                raise UsageError(f"alpha is a number above 0, at most 0.5, not {alpha:g}", "0.05 for 95% intervals")
            found, _ = replace(self.inference, level=1 - alpha).parameters
            rows = [{"term": self.units.names[j], **found[j]} for j in self.units.shown]
        return pd.DataFrame(rows).set_index("term")[["conf_low", "conf_high"]].astype(float)

    @property
    def covariance(self) -> pd.DataFrame:
        """Of all parameters on the user's scale. Raises UsageError where nothing was released."""
        import pandas as pd

        names, shown = [self.units.names[j] for j in self.units.shown], self.units.shown
        return pd.DataFrame(self.inference.parameters[1][np.ix_(shown, shown)], names, names)

    def glance(self) -> pd.DataFrame:
        """The fit as a whole, in one row."""
        import pandas as pd

        return pd.DataFrame([self.document()["glance"]])

    def predict(self, table: object) -> pd.DataFrame:
        """The mean of the target for every record: `mean`, `std_error`, `conf_low`, `conf_high`.

        `table` is a file or whatever holds columns; an array [n, k] has the columns of the fit in their order. Not the
        spread of single targets about the mean. Nothing is said of a record with a value that cannot be read, and a
        warning says how many these are. What is predicted costs no privacy of the records of the fit; that of the table
        is its owner's affair.
        """
        frame, lost = self.predicted(table)
        for sentence in lost:
            warnings.warn(sentence, PrivateWarning, stacklevel=2)
        return frame

    def predicted(self, table: object) -> tuple[pd.DataFrame, list[str]]:
        """The frame of `predict`, and what the owner of the table should know."""
        import pandas as pd

        used = [column.name for column in self.units.columns]
        if isinstance(table, np.ndarray) and table.dtype.names is None:
            if table.ndim != 2 or table.shape[1] != len(used):
                raise UsageError(
                    f"an array [n, {len(used)}] has the columns {', '.join(used)}, not one of shape {list(table.shape)}"
                )
            table = {name: table[:, k] for k, name in enumerate(used)}
        records = read_table(Path(table).expanduser() if isinstance(table, str | Path) else table)
        records.header.require(used, records.where)
        x, read = covariates(records, self.units)
        frame = pd.DataFrame(np.nan, range(len(read)), ["mean", "std_error", "conf_low", "conf_high"])
        frame.loc[read] = self.inference.means(x[read])
        return frame, losses(records, unread(records, self.units.columns), "have no prediction")


def release_document(inference: Inference) -> dict[str, Any]:
    """What was released, as JSON keeps it: all that follows from a fit follows from these numbers."""
    kept = {name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in inference.release._asdict().items()}  # fmt: skip
    return {"theta": inference.theta.tolist(), **kept}


@dataclass(frozen=True)
class StoredFit(FitResult):
    """A fit that is read from its file."""

    units: Units
    path: Path
    stored: Mapping[str, Any]

    @cached_property
    def inference(self) -> Inference:
        if "release" not in self.stored:
            raise UsageError(f"{self.path}: no coefficient was told, so nothing follows")
        kept: dict[str, Any] = {k: np.array(v) if isinstance(v, list) else v for k, v in self.stored["release"].items()}
        theta = kept.pop("theta")
        return Inference(Release(**kept), theta, self.units, float(self.stored["level"]))

    def document(self) -> dict[str, Any]:
        return dict(self.stored)

    def text(self) -> str:
        """The released parameters."""
        glance, table = self.stored["glance"], estimates_table(self.estimates(), self.stored["level"])
        said = f"{glance['model']} of {glance['target']}, {self.path}: n = {glance['nobs']:,} ({glance['method']})"
        eps = ", ".join(
            f"eps = {'inf' if e is None else up(e)} at delta = {d:g}" for d, e in self.stored["budget"]["eps"]
        )
        return f"{said}\n\n{table}\n\nBudget: {eps}. Noise: {self.stored['public']['noise']}."


def read_fit(path: Path) -> StoredFit:
    """The fit of a file. Raises UsageError for a file that is none."""
    from pydantic import TypeAdapter

    try:
        stored = json.loads(read_ordinary(path, MOST_OF_FIT))
        _ = stored["estimates"], stored["glance"], stored["level"]
        return StoredFit(TypeAdapter(Units).validate_python(stored["public"]["units"]), path, stored)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file", "what dpexp fit --out FILE.json wrote") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"{path} is not the result of a fit", "what dpexp fit --out FILE.json wrote") from None
