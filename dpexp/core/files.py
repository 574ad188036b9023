"""The one door to files: they are read if they are ordinary files of a size that fits, and written whole or not at all.

Also here: one writer at a time, bytes that are kept behind their own hash, and the folder of what dpexp keeps though it
could compute it again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_SEAL = hashlib.sha256().digest_size
MOST_OF_DOCUMENT = 2**28
"""bytes of a JSON document: far more than any of ours"""
ABANDONED_S = 3600.0
"""age of a temporary file from which on its process is assumed to be dead"""
OFF = ("0", "off", "no")
"""values of DPEXP_CACHE that say: keep nothing"""
State = tuple[int, int, int, int]
"""last change of a file and of its inode (which no program can set back) in nanoseconds, its size and inode"""


class Damaged(Exception):
    """A stored file that cannot be read, or is not what it claims to be."""


class Held(OSError):
    """Another process holds the lock."""


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


def atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it.

    Its content is on the disk before it has its name, so that no loss of power leaves a name with half of it. What
    killed processes left behind is cleared here, an hour later.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    clear_leftovers(path.parent)
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}.tmp"
    try:
        write(temporary)
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except OSError as error:  # of a write that fails only the number is known
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def clear_leftovers(folder: Path) -> None:
    """Remove temporary files of dead processes."""
    for leftover in folder.glob(".*.tmp"):
        with suppress(OSError):  # a folder of that name is not ours
            old = time.time() - leftover.lstat().st_mtime > ABANDONED_S
            if old and re.fullmatch(r"\..*\.[0-9a-f]{16}\.tmp", leftover.name):
                leftover.unlink(missing_ok=True)


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


def state_of(path: Path | str) -> State:
    """Another one where a file was written to or replaced; zeros where there is none."""
    try:
        state = os.stat(path)
    except OSError:
        return 0, 0, 0, 0
    return state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino


def home() -> Path | None:
    """The user's home; None where HOME is empty, relative or the root of the disk, which belongs to no user."""
    with suppress(RuntimeError):
        place = Path.home()
        return place if place.is_absolute() and os.path.realpath(place) != "/" else None
    return None


def own_folder(own: str) -> Path | None:
    """The folder called `own` in DPEXP_CACHE or in the user's cache folder, made with rights for the user alone.

    None where caches are off, without a home, and where it is a link or others may write to it.
    """
    name, base = os.environ.get("DPEXP_CACHE", ""), os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    if name.lower() in OFF or (home() is None and not name.startswith("/")):
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


def forget_oldest(place: Path, limit: int) -> None:
    """Leave so many of the files that are named by a key, those of the latest times; others are not ours."""
    ours = (path for path in place.iterdir() if re.fullmatch(r"\.?[0-9a-f]{32}", path.name) and path.is_file())
    for path in sorted(ours, key=lambda path: -path.stat().st_mtime)[limit:]:
        path.unlink(missing_ok=True)
