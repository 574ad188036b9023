"""What a problem is, and the base of problems: frozen parameters, and what holds where a problem says nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from dpexp.core.parameters import Named, Parameters


class Problem(Named, Protocol):
    """What is learnt from which data.

    Algorithms ask a problem for more than this, and each says by `runs_on` of which classes: those on fresh users need
    a `dpexp.problems.linear_predictor.LinearPredictorProblem`, those on a finite sum a
    `dpexp.problems.finite_sum.FiniteSum`, those on labelled records a `dpexp.problems.softmax.Softmax`.
    """

    fresh_users: ClassVar[bool]
    """whether every step asks a user who comes once, so that steps are users; default False"""

    def memory(self) -> int:
        """Bytes of the data that are kept. Asked by `dpexp.config.resources`; default 0."""

    def prepare(self) -> None:
        """Read what has to be read. Raises UsageError, which the reader places in the config; default: nothing."""

    def notices(self) -> Sequence[str]:
        """What is said of the data in `validate`, `run` and `privacy`; default: nothing."""

    def files(self) -> Mapping[str, str]:
        """The user's own data files, path -> hash. Asked by `dpexp.store.fingerprint`; default: none."""

    def places(self) -> Sequence[Path]:
        """Where these files are; default: their paths as seen from the working directory."""

    def require_records(self) -> None:
        """Raises DataError where no record of a user's can be read. Asked by `validate` and `run`; default: nothing."""

    def remarks(self) -> Sequence[str]:
        """What is odd about the user's own table, said to its owner by `validate` and `run` alone; default: nothing."""

    def legend(self) -> Mapping[str, Any]:
        """What released parameters mean, as JSON: asked by `dpexp.store.cell_files`, of files; default: {}."""

    @property
    def held_out_records(self) -> int:
        """Records on which an accuracy is measured; default 0: none is."""

    def held_out_classes(self) -> Mapping[str, int]:
        """How many of them are of each class. Reads them: raises DataError where they are gone; default {}."""

    def dealt_anew(self, seed: int) -> Problem:
        """The same records of a user, held out by another seed; default: the problem, which holds out none of them."""


class ProblemBase(Parameters):
    """The members of `Problem` with their defaults: no data are kept, read or spoken of."""

    name: str

    fresh_users: ClassVar[bool] = False

    def memory(self) -> int:
        """No data are kept."""
        return 0

    def prepare(self) -> None:
        """There is nothing to read."""

    def notices(self) -> Sequence[str]:
        """There is nothing to say of the data."""
        return ()

    def files(self) -> Mapping[str, str]:
        """No file of the user is read."""
        return {}

    def places(self) -> Sequence[Path]:
        """Their paths as seen from the working directory."""
        return [Path(path).expanduser() for path in self.files()]

    def require_records(self) -> None:
        """No table is read."""

    def remarks(self) -> Sequence[str]:
        """No table is odd."""
        return ()

    def legend(self) -> Mapping[str, Any]:
        """Nothing is known of the parameters."""
        return {}

    @property
    def held_out_records(self) -> int:
        """No accuracy is measured."""
        return 0

    def held_out_classes(self) -> Mapping[str, int]:
        """No record is held out."""
        return {}

    def dealt_anew(self, seed: int) -> ProblemBase:
        """No record is dealt."""
        return self
