"""Released parameters, of a fit or of a run, and their predictions as one table."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dpexp.core.errors import PrivateWarning
from dpexp.core.text import Printed

if TYPE_CHECKING:
    import pandas as pd


class ReleaseAnswer(Printed):
    """Released parameters that predict."""

    digits: ClassVar[str | None] = None
    """of predictions as CSV; None: all"""

    def predicted(self, table: object) -> tuple[pd.DataFrame, list[str]]:
        """A row for every record of a path or a table, and how many records have no prediction. Raises UsageError."""
        raise NotImplementedError

    def predict(self, table: object) -> pd.DataFrame:
        """A row for every record of a file, a frame or a mapping; how many have no prediction is a warning."""
        frame, losses = self.predicted(Path(table).expanduser() if isinstance(table, str | Path) else table)
        for sentence in losses:
            warnings.warn(sentence, PrivateWarning, stacklevel=2)
        return frame
