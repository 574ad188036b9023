"""What a command gives, from Python and at the terminal, and words that several commands take."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.text import Printed

if TYPE_CHECKING:
    import pandas as pd

Pathname = str | os.PathLike[str]
RESULTS = Path("results")


@dataclass(frozen=True)
class Answer(Printed):
    """A text, a document for programs (`answer[key]` is one of its values), an exit code and remarks for stderr."""

    words: str
    data: Any = None
    exit_code: int = 0
    remarks: Sequence[str] = ()

    def text(self) -> str:
        """What the command prints."""
        return self.words

    def document(self) -> Any:
        """What the command prints with --json."""
        return self.data

    def frame(self) -> pd.DataFrame:
        """The rows of the document as a DataFrame, with all digits."""
        import pandas as pd

        return pd.DataFrame(self.data["rows"] if isinstance(self.data, Mapping) else self.data)

    def __getitem__(self, key: str) -> Any:
        return self.data[key]


def names_in(words: str | Sequence[str]) -> list[str]:
    """Names that are given one by one or with commas between them."""
    parts = [words] if isinstance(words, str) else words
    return [name.strip() for part in parts for name in part.split(",") if name.strip()]
