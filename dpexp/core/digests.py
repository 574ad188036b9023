"""Hashes: of JSON values, which name a cell and check a document, and of a user's data files."""

from __future__ import annotations

import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any


def digest(value: Any, length: int = 32) -> str:
    """Hexadecimal SHA-256 of a JSON value, cut to `length` digits; equal values have equal digests."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:length]


@lru_cache(maxsize=64)
def hash_of_data(path: str) -> str:
    """Hash of a file, or of the names and contents of a folder's files, also behind links. Raises OSError."""
    place = Path(os.path.expanduser(path))
    hashed = hashlib.sha256()
    for file in files_below(place):
        with open(file, "rb") as content:
            own = hashlib.file_digest(content, "sha256").hexdigest()
        hashed.update(f"{file.relative_to(place)} {own}\n".encode(errors="surrogateescape"))
    return hashed.hexdigest()[:16]


def files_below(place: Path) -> list[Path]:
    """The files in a folder, sorted, in the folders that links in it lead to as well; or the file itself."""
    if not place.is_dir():
        return [place]
    files, visited = [], set()
    for folder, inner, names in os.walk(place, followlinks=True):
        # links can lead in a circle
        if (real := os.path.realpath(folder)) in visited:
            inner.clear()
            continue
        visited.add(real)
        inner.sort()
        files += [file for name in names if (file := Path(folder, name)).is_file()]
    return sorted(files)
