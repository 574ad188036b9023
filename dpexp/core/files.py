"""The one door to files: they are read if they are ordinary files of a size that fits, and written whole or not at all.

Also here: bytes that are kept behind their own hash, locks that the kernel keeps, and the folder of what dpexp keeps
though it could compute it again.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import hmac
import os
import re
import socket
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:40]
_SEAL = hashlib.sha256().digest_size
MOST_OF_DOCUMENT = 2**28
"""bytes of a JSON document: far more than any of ours"""
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
"""what a file system says that knows no locks"""


State = tuple[int, int, int, int]
"""last change of a file's content and of its inode (which nobody can set back) in nanoseconds, its size and inode"""


class Damaged(Exception):
    """A stored file that cannot be read, or is not what it claims to be."""


class Held(Exception):
    """Another process holds the lock."""


@contextmanager
def held(lock: Path, mark: Path | None = None) -> Iterator[None]:
    """Hold a lock, which the kernel alone gives and ends with the process. Raises Held, OSError.

    (a) The file is made and never removed: a lock belongs to a file, not to its name.
    (b) Where the file system knows no locks `mark` is made in its place, which only its maker or a person takes away;
    without one that is an OSError.
    (c) Who locked a file that has another one in its place by now holds nothing that others meet.
    """
    # a pipe in its place is not waited for, and a link is not followed
    flags = os.O_NONBLOCK | os.O_NOFOLLOW
    with open(lock, "ab", opener=lambda path, mode: os.open(path, mode | flags, 0o666)) as handle:
        try:
            # (a)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mark = None
        except BlockingIOError:
            raise Held from None
        except OSError as error:
            if mark is None or error.errno not in _NO_LOCKS:
                raise
            try:
                # (b): of several who make it, one alone succeeds
                mark.touch(exist_ok=False)
            except FileExistsError:
                raise Held from None
        try:
            # (c)
            if mark is None and not os.path.samestat(os.fstat(handle.fileno()), lock.stat()):
                raise Held
            yield
        finally:
            if mark is None:
                fcntl.flock(handle, fcntl.LOCK_UN)  # also of a process that was started meanwhile and has the file
            else:
                mark.unlink(missing_ok=True)


@contextmanager
def opened(path: Path, most: int | None = None) -> Iterator[BinaryIO]:
    """An ordinary file of at most `most` bytes (the memory of this machine where None), open for reading.

    Raises OSError, for what it cannot be read as too: a device could be read for ever, and a pipe waited for. It is
    asked of the file that is open, so nobody can put another one in its place between the question and the reading.
    """
    # to open a device may do something, so its kind is asked before, too
    _require_ordinary(os.stat(path), path)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        state = os.fstat(handle)
        _require_ordinary(state, path)
        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if most is None else most
        if state.st_size > most:
            raise OSError(errno.EFBIG, f"it has {state.st_size:,} bytes; at most {most:,} are read", str(path))
        yield file


def _require_ordinary(state: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))


def read_ordinary(path: Path, most: int | None = None) -> bytes:
    """What an ordinary file holds; see `opened`. Raises OSError."""
    with opened(path, most) as file:
        return file.read()


def atomically(path: Path, write: Callable[[Path], object], over: bool = True) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place; not `over` what another process put there.

    (a) The temporary file names its process, so that what a killed process left behind can be told from what another
    one is writing; leftovers of dead processes are cleared here.
    (b) Its content is on the disk before it has its name, so that no loss of power leaves a name with half of it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    clear_leftovers(path.parent)
    # (a)
    temporary = path.parent / f".{path.name}.{_HOST}.{os.getpid()}.tmp"
    try:
        temporary.unlink(missing_ok=True)  # a link of that name would be followed
        write(temporary)
        # (b)
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        if over:
            os.replace(temporary, path)
        else:
            # a link, and no renaming, fails where the name is taken
            with suppress(FileExistsError):
                os.link(temporary, path)
    except OSError as error:  # of a write that fails only the number is known
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def settle(*folders: Path) -> None:
    """Have the names in some folders on the disk, so that not even a loss of power undoes what was renamed."""
    for folder in folders:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def clear_leftovers(folder: Path) -> None:
    """Remove temporary files of processes of this machine that are no longer there."""
    for leftover in folder.glob(".*.tmp"):
        named = re.fullmatch(rf"\..*\.{re.escape(_HOST)}\.(\d+)\.tmp", leftover.name)
        if named and not is_alive(int(named[1])):
            with suppress(OSError):  # a folder of that name is not ours
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
    umask, and seals them with a secret of this user."""
    hashed = _hash(private)
    for piece in data:
        hashed.update(piece)

    atomically(path, lambda temporary: _write(temporary, [hashed.digest(), *data], private))


def _write(path: Path, pieces: Sequence[bytes | memoryview], private: bool) -> None:
    mode = 0o600 if private else 0o666
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as handle:
        handle.writelines(pieces)


def read_bytes_sealed(path: Path, private: bool = False) -> bytes:
    """Bytes that `write_bytes_sealed` wrote. Raises Damaged, FileNotFoundError.

    `private` refuses a file that is not ours, that others may write to, or that was not written here: what comes inside
    a project belongs to whoever has copied that, and is of somebody else all the same.
    """
    try:
        # the owner is asked of the file that is read, and not of its name
        with opened(path) as handle:
            state = os.fstat(handle.fileno())
            if private and not is_ours_alone(state):
                raise Damaged(f"{path.name} belongs to somebody else, or others may write to it")
            content = handle.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read ({error.strerror})") from None
    # a view, because a slice would copy all of it
    hashed = _hash(private)
    hashed.update(memoryview(content)[_SEAL:])
    if hashed.digest() != content[:_SEAL]:
        raise Damaged(f"{path.name} is damaged (its checksum does not agree)")
    return content[_SEAL:]


def _hash(private: bool) -> hashlib._Hash | hmac.HMAC:
    return hmac.new(_secret(), digestmod="sha256") if private else hashlib.sha256()


def keyed(content: bytes) -> str:
    """A hash that nobody can compute who does not have this user's secret."""
    return hmac.new(_secret(), content, "sha256").hexdigest()


@lru_cache(maxsize=1)
def _secret() -> bytes:
    """32 bytes that this user alone can read; of this process alone where there is no place for them.

    They lie in the home, wherever caches are: a folder that a project names can come with it.
    """
    if (own := home()) is None:
        return os.urandom(32)
    with suppress(OSError):
        place = own / ".cache" / "dpexp" / "secret"
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not place.exists():  # a process that comes meanwhile must not find half of it, and the first one's stays
            atomically(place, lambda temporary: _write(temporary, [os.urandom(32)], private=True), over=False)
        with opened(place) as file:
            state, content = os.fstat(file.fileno()), file.read(33)
        if is_ours_alone(state) and not state.st_mode & (stat.S_IRGRP | stat.S_IROTH) and len(content) == 32:
            return content
    return os.urandom(32)


def state_of(path: Path | str) -> State:
    """Another one where a file was written to or replaced; zeros where there is none."""
    try:
        state = os.stat(path)
    except OSError:
        return 0, 0, 0, 0
    return state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino


def is_ours_alone(state: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user and nobody else may write to it."""
    return state.st_uid == os.getuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


OFF = ("0", "off", "no")
"""values of DPEXP_CACHE that say: keep nothing"""


def home() -> Path | None:
    """The user's home; None where HOME is empty, relative or the root of the disk, which is nobody's."""
    try:
        place = Path.home()
    except RuntimeError:
        return None
    return place if place.is_absolute() and os.path.realpath(place) != "/" else None


def at_home(path: Path) -> Path:
    """The path with ~ as a home, unless that is no user's and a folder here has the name. Raises RuntimeError."""
    try:
        return path.expanduser()
    except RuntimeError:
        if Path(path.parts[0]).exists():
            return path
        raise


def cache_folder(own: str) -> Path | None:
    """The folder called `own` in DPEXP_CACHE or in the user's cache folder; None where nothing is to be kept, or nobody
    has a home."""
    asked, base, own_home = os.environ.get("DPEXP_CACHE", ""), os.environ.get("XDG_CACHE_HOME", ""), home()
    if asked.lower() in OFF or (own_home is None and (asked.startswith("~") or not (asked or base.startswith("/")))):
        return None
    place = Path(asked).expanduser() if asked else Path(base) if base.startswith("/") else Path("~/.cache").expanduser()
    # nothing of ours belongs in the root of the disk
    return None if os.path.realpath(place) == "/" else place / own if asked else place / "dpexp" / own


def own_folder(own: str, made: bool = True) -> Path | None:
    """`cache_folder`, made where it is to be written; None where it is not there, is a link, or others may write to it
    or to the folder it is in."""
    place = cache_folder(own)
    if place is None:
        return None
    try:
        for folder in (place.parent, place):
            if made:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not is_ours_alone(folder.stat()):
                return None
        wanted = os.R_OK | os.X_OK | (os.W_OK if made else 0)
        # what a link of this name leads to is no cache of ours
        return place if os.access(place, wanted) and not place.is_symlink() else None
    except OSError:
        return None


def forget_oldest(place: Path, most: int) -> None:
    """Leave so many of the files that are named by a key, those of the latest times; others are not ours."""
    ours = (path for path in place.iterdir() if re.fullmatch(r"\.?[0-9a-f]{32}", path.name) and path.is_file())
    files = sorted(ours, key=lambda path: path.stat().st_mtime)
    for path in files[: max(0, len(files) - most)]:
        path.unlink(missing_ok=True)
