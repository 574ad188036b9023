"""How a check says that it found something wrong, or that it has nothing to try."""

from __future__ import annotations


class Failed(Exception):
    """A promise that is not kept, in words; `at` is the function or class whose lines are to be looked at."""

    def __init__(self, message: str, at: object = None) -> None:
        super().__init__(message)
        self.at = at


class NotTried(Exception):
    """Why a check says nothing here."""
