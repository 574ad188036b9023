"""The base of problems: frozen parameters, and what holds where a problem says nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpexp.core.parameters import Parameters


class Problem(Parameters):
    """What is learnt from which data.

    Algorithms name by `runs_on` the classes that they need: `LinearPredictorProblem` for fresh users, `FiniteSum`, or
    `Softmax` for labelled records.
    """

    name: str

    def memory(self) -> int:
        """Bytes of the data that are kept. Reads what has to be read, and raises UsageError where that is wrong."""
        return 0

    def notices(self) -> Sequence[str]:
        """What is said of the data in `validate`, `run` and `privacy`."""
        return ()

    def files(self) -> Mapping[str, str]:
        """The user's own data files, path -> hash."""
        return {}

    def places(self) -> Sequence[Path]:
        """Where these files are: their paths as seen from the working directory."""
        return [Path(path).expanduser() for path in self.files()]

    def require_records(self) -> None:
        """Raises DataError where no record of a user's can be read. Called by `validate` and `run`."""

    def remarks(self) -> Sequence[str]:
        """What is odd about the user's own table, said to its owner by `validate` and `run` alone."""
        return ()

    def legend(self) -> Mapping[str, Any]:
        """What released parameters mean, as JSON, of problems with files."""
        return {}

    def dealt_anew(self, seed: int) -> Problem:
        """The same records of a user, held out by another seed; a problem that holds out none is returned itself."""
        return self
