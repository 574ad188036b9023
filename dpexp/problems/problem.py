"""What a problem is, and the base of problems: frozen parameters, and what holds where a problem says nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from dpexp.core.parameters import Named, Parameters


class Problem(Named, Protocol):
    """What is learnt from which data.

    Algorithms ask a problem for more than this, and each says by `runs_on` of which classes: those on fresh users need
    a `dpexp.problems.linear_predictor.LinearPredictorProblem`, those on a finite sum a
    `dpexp.problems.finite_sum.FiniteSum`, those on labelled records a `dpexp.problems.softmax.Softmax`.
    """

    def memory(self) -> int:
        """Bytes of the data that are kept. Asked by `dpexp.config.resources`; default 0."""

    def prepare(self) -> None:
        """Read what has to be read. Raises UsageError, which the reader places in the config; default: nothing."""

    def notices(self) -> Sequence[str]:
        """What is said of the data in `validate`, `run` and `privacy`; default: nothing."""

    def files(self) -> Mapping[str, str]:
        """The user's own data files, path -> hash. Asked by `dpexp.store.fingerprint`; default: none."""

    def legend(self) -> Mapping[str, Any]:
        """What released parameters mean, as JSON: asked by `dpexp.store.cell_files`, of files; default: {}."""


class ProblemBase(Parameters):
    """The members of `Problem` with their defaults: no data are kept, read or spoken of."""

    name: str

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

    def legend(self) -> Mapping[str, Any]:
        """Nothing is known of the parameters."""
        return {}
