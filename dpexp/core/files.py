"""Files: where their paths start, reading ordinary ones, hashing them, and writing them whole or not at all.

Also here: one writer at a time, bytes that are kept behind their own hash, and dpexp's cache folder.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

_SEAL = hashlib.sha256().digest_size
MOST_OF_DOCUMENT = 2**28  # bytes of a JSON document: far more than any of ours
FOLDER: ContextVar[Path | None] = ContextVar("folder", default=Path())
"""the folder of the config that is read now; None where stored results are, whose data files are not opened"""
State = tuple[int, int, int, int]
"""last change of a file and of its inode (which no program can set back) in nanoseconds, its size and inode"""


class Damaged(Exception):
    """A stored file that cannot be read, or is not what it claims to be."""


class Held(OSError):
    """Another process holds the lock."""


@contextmanager
def paths_from(folder: Path | None) -> Iterator[None]:
    """Paths of data that are read inside the `with` block start at this folder."""
    before = FOLDER.set(folder)
    try:
        yield
    finally:
        FOLDER.reset(before)


def place_of(path: str, folder: Path) -> Path:
    """Where a path of a config in this folder leads, as seen from the working directory."""
    return Path(os.path.normpath(folder / os.path.expanduser(path)))


def as_named(path: str, folder: Path, typed: bool = False) -> str:
    """A path as the cells of a config in this folder name it: from there, however it is spelled.

    One that was `typed` on the command line starts where that is run. A home stays a home.
    """
    if path.startswith("~") or not path:
        return path
    if not typed and not os.path.isabs(path):
        folder = Path(os.path.abspath(folder))
        return os.path.relpath(os.path.normpath(folder / path), folder)
    head, name = os.path.split(os.path.abspath(path))
    return os.path.relpath(os.path.join(os.path.realpath(head), name), os.path.realpath(folder))


@contextmanager
def lock(path: Path, patience_s: float = 0.0) -> Iterator[None]:
    """Hold the lock of a file, which ends with the process. Raises Held, OSError.

    Where the file system knows no locks the file itself is the lock, and that of a killed process has to be deleted.
    """
    from filelock import FileLock, Timeout

    try:
        with FileLock(path, timeout=patience_s):
            yield
    except Timeout:
        raise Held(errno.EAGAIN, "another process is at work", str(path)) from None


@contextmanager
def opened(path: Path, limit: int | None = None) -> Iterator[BinaryIO]:
    """An ordinary file of at most `limit` bytes (the memory of this machine where None), open for reading.

    Raises OSError, also for a device, which could be read for ever, and a pipe, which could be waited for.
    """
    # without waiting for a writer; the open file is checked, since another one can be put in place of a path
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        state = os.fstat(file.fileno())
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if limit is None else limit
        if stat.S_ISDIR(state.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
        if state.st_size > limit:
            raise OSError(errno.EFBIG, f"it has {state.st_size:,} bytes; at most {limit:,} are read", str(path))
        yield file


def read_ordinary(path: Path, limit: int | None = None) -> bytes:
    """The content of an ordinary file; see `opened`. Raises OSError."""
    with opened(path, limit) as file:
        return file.read()


def state_of(path: Path | str) -> State:
    """Another one where a file was written to or replaced; zeros where there is none."""
    try:
        state = os.stat(path)
    except OSError:
        return 0, 0, 0, 0
    return state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino


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
        # links can lead in a circle; of two to one folder the first names its files, on every disk
        known = (real := os.path.realpath(folder)) in visited
        visited.add(real)
        inner[:] = [] if known else sorted(inner)
        files += [file for name in names if not known and (file := Path(folder, name)).is_file()]
    return sorted(files)


def atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file next to `path`, then rename it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}.tmp"
    try:
        write(temporary)
        # on the disk before it has its name, so that no loss of power leaves a name with half of it
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except OSError as error:  # of a write that fails only the number is known
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_bytes_sealed(path: Path, data: bytes | memoryview) -> None:
    """Write bytes whole, after the SHA-256 of all of them."""
    atomically(path, lambda temporary: temporary.write_bytes(b"".join((hashlib.sha256(data).digest(), data))))


def read_bytes_sealed(path: Path) -> bytes:
    """Bytes that `write_bytes_sealed` wrote. Raises Damaged, FileNotFoundError."""
    try:
        content = read_ordinary(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read ({error.strerror})") from None
    # a view, because a slice would copy all of it
    if hashlib.sha256(memoryview(content)[_SEAL:]).digest() != content[:_SEAL]:
        raise Damaged(f"{path.name} is damaged (its checksum does not agree)")
    return content[_SEAL:]


def home() -> Path | None:
    """The user's home; None where HOME is empty, relative or the root of the disk, which belongs to no user."""
    with suppress(RuntimeError):
        place = Path.home()
        return place if place.is_absolute() and os.path.realpath(place) != "/" else None
    return None


def own_folder(own: str) -> Path | None:
    """The folder called `own` in DPEXP_CACHE or in the user's cache folder, made with rights for the user alone.

    None where caches are off (0, off, no), without a home, and where it is a link or others may write to it.
    """
    name, base = os.environ.get("DPEXP_CACHE", ""), os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    if name.lower() in ("0", "off", "no") or (home() is None and not name.startswith("/")):
        return None
    with suppress(OSError, RuntimeError):
        above = (Path(name) if name else Path(base) / "dpexp").expanduser()
        # nothing of ours belongs in the root of the disk
        if not above.is_absolute() or os.path.realpath(above) == "/":
            return None
        for folder in (above, place := above / own):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_uid != os.getuid() or folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return None
        # what a link of this name leads to is no cache of ours
        return place if os.access(place, os.W_OK | os.X_OK) and not place.is_symlink() else None
    return None
