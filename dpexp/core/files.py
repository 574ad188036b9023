"""Files that are written whole or not at all, and bytes that are kept behind their own hash."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:40]
_SEAL = hashlib.sha256().digest_size


class Damaged(Exception):
    """A stored file that cannot be read, or is not what it claims to be."""


def atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place.

    The temporary file names its process, so that what a killed process left behind can be told from what another one is
    writing; leftovers of dead processes are cleared here.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    clear_leftovers(path.parent)
    temporary = path.parent / f".{path.name}.{_HOST}.{os.getpid()}.tmp"
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
    """Remove temporary files of processes of this machine that are no longer there."""
    for leftover in folder.glob(".*.tmp"):
        named = re.fullmatch(rf"\..*\.{re.escape(_HOST)}\.(\d+)\.tmp", leftover.name)
        if named and not is_alive(int(named[1])):
            leftover.unlink(missing_ok=True)


def is_alive(pid: int) -> bool:
    """Whether a process of this machine is running; one that belongs to somebody else is."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def write_bytes_sealed(path: Path, *data: bytes | memoryview, private: bool = False) -> None:
    """Write bytes whole, after the SHA-256 of all of them; `private` lets nobody else read or write them, whatever the
    umask."""
    hashed = hashlib.sha256()
    for piece in data:
        hashed.update(piece)

    def write(temporary: Path) -> None:
        mode = 0o600 if private else 0o666
        with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as handle:
            handle.writelines([hashed.digest(), *data])

    atomically(path, write)


def read_bytes_sealed(path: Path, private: bool = False) -> bytes:
    """Bytes that `write_bytes_sealed` wrote. Raises Damaged, FileNotFoundError.

    `private` refuses a file that is not ours or that others may write to; it is asked of the file that is open, so
    nobody can put another one in its place between the question and the reading.
    """
    try:
        with path.open("rb") as handle:
            state = os.fstat(handle.fileno())
            if private and not is_ours_alone(state):
                raise Damaged(f"{path.name} belongs to somebody else, or others may write to it")
            content = handle.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read ({error.strerror})") from None
    if hashlib.sha256(memoryview(content)[_SEAL:]).digest() != content[:_SEAL]:
        raise Damaged(f"{path.name} is damaged (its checksum does not agree)")
    return content[_SEAL:]


def is_ours_alone(state: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user and nobody else may write to it."""
    return state.st_uid == os.getuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
