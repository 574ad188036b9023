"""Errors that a user can act on; the command line prints them in a line or two and exits with their code."""

from __future__ import annotations


class DpexpError(Exception):
    """A failure with a message for the user and, where there is one, a hint on what to do.

    Exit codes: 1 a cell failed or a verdict is unexpected, 2 usage or config error, 3 results missing or stale.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(DpexpError, ValueError):
    """Wrong arguments or a wrong config."""

    exit_code = 2


class DataError(UsageError):
    """A data set that cannot be used as it is; the message lists everything that was found."""


class PrivateWarning(UserWarning):
    """What the owner of records should know of them, and nobody else: it is read off the records."""


class NoSuchAnalysis(UsageError):
    """An algorithm names an accountant that its mechanism does not have. Who knows the setting says which it is."""


class ResultsMissing(DpexpError):
    """Stored results that a figure, table or claim needs are missing or stale."""

    exit_code = 3
