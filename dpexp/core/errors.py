"""Errors that a user can act on; the command line prints them in a line or two and exits with their code."""

from __future__ import annotations

OK, REFUTED, USAGE, MISSING, UNEXPECTED, INTERRUPTED, CLOSED = 0, 1, 2, 3, 70, 130, 141
"""exit codes; REFUTED also where a cell failed or a claim turned, MISSING where nothing can be estimated or compared"""


class DpexpError(Exception):
    """A failure with a message for the user and, where there is one, a hint on what to do."""

    exit_code = UNEXPECTED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(DpexpError, ValueError):
    """Wrong arguments or a wrong config."""

    exit_code = USAGE


class CellFailed(DpexpError):
    """A cell of an experiment failed, so that what needs all of them cannot go on."""

    exit_code = REFUTED


class BoundRefuted(DpexpError):
    """A guarantee is below what a pair of neighbours attains."""

    exit_code = REFUTED


class DataError(UsageError):
    """A data set that cannot be used as it is; the message lists everything that was found."""


class PrivateWarning(UserWarning):
    """For the owner of the records alone: it reveals private data."""


class NoSuchAnalysis(UsageError):
    """An algorithm names an accountant that its mechanism does not have."""


class ResultsMissing(DpexpError):
    """Stored results that a figure, table or claim needs are missing or stale."""

    exit_code = MISSING
