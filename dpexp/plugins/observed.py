"""What the code of plug-ins opened, listed, imported and read from the environment in this process, and its hashes.

Python says what is opened and imported (`sys.addaudithook`), and `os.environ` what is read of it. (a) It is a plug-in's
if one of its functions is among those that are under way, so also what a library opens for it. (b) It counts for every
cell that uses the plug-in, since what one cell has read another may use. (c) Libraries and what they import count by
their versions. (d) What cannot be followed is refused at the plug-in's line: other programs, the network, data bases,
and libraries that open files past Python. Whether a file is there, its size and its time are not seen, nor the clock.

An entry is called `data NAME:path`, by the path from the plug-in's folder; `path/` stands for the names in a folder,
and `$VARIABLE` for a variable of the environment.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import stat
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache, wraps
from importlib import import_module
from importlib.util import source_from_cache
from pathlib import Path
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from dpexp.core.bytecode import altered
from dpexp.core.digests import hash_of_file
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.files import State, state_of
from dpexp.plugins.loaded import LOADED, Loaded, patching

WATCHED: set[str] = set()
"""the first names of the modules whose code is followed; others that this code imports from elsewhere come to them"""
_IMPORTED: set[str] = set()
"""first names of what the followed code has imported: only if it is no library its functions are followed too"""
_STDLIB = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))
_LIBRARIES = (*_STDLIB, *(sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib")), sys.prefix + "/lib/")
_MACHINE = ("/proc/", "/sys/", "/dev/null", "/dev/urandom", "/dev/random")
"""the state of the machine, and what is no input"""
PAST_PYTHON = frozenset(
    {
        "pyarrow",
        "h5py",
        "netCDF4",
        "duckdb",
        "polars",
        "fastparquet",
        "tables",
        "multiprocessing",
        "joblib",
        "loky",
        "dask",
    }
)
"""modules that open files, or start processes, of which Python does not tell"""
_REFUSED = {
    "os.chdir": "changes the working folder, and so what every path of yours means",
    "subprocess.Popen": "starts another program", "os.system": "starts another program", "os.exec": "starts a program",
    "os.posix_spawn": "starts another program", "os.fork": "starts another process", "ctypes.dlopen": "loads a library",
    "os.forkpty": "starts another process", "builtins.input": "asks somebody",
    "socket.connect": "uses the network", "urllib.Request": "uses the network", "sqlite3.connect": "opens a data base",
}  # fmt: skip
_DIRECT = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "ctypes.dlopen", "os.chdir"})
"""what libraries do for reasons of their own; it is refused only where a plug-in asks for it itself"""
_SEEN: dict[str, dict[str, State | None]] = {}
"""by the first name of a plug-in's modules: what was read, by its absolute path, and the state in which it was"""
_WRITTEN: set[str] = set()
"""files and variables that the followed code has written itself"""
_SAYING: set[Callable[..., Any]] = set()
"""functions of pandas and Python that say what they do"""
_THREADS: WeakKeyDictionary[threading.Thread, str] = WeakKeyDictionary()
"""threads that were started on behalf of a plug-in, and its first name: they may run a library's function alone"""
_REPORTED: list[dict[str, str]] = []
"""what other processes have found"""


def watch(package: str) -> None:
    """Follow the code of a package from now on."""
    # A hook stays for the life of the process, so there is none before the first plug-in.
    if not WATCHED:
        sys.addaudithook(_heard)
        os.environ.__class__ = os.environb.__class__ = _Environment  # type: ignore[assignment]
        _have_said(importlib, "import_module", _imports)
        _have_said(threading.Thread, "start", _starts)
    WATCHED.add(package)


def found(code: Iterable[str]) -> dict[str, str]:
    """What the plug-ins that a fingerprint names have read in this process and in those that have reported, hashed.

    Raises DpexpError where two readings found different things.
    """
    code = set(code)
    plugins = [LOADED[name] for name in {name.partition(":")[0] for name in code} if name in LOADED]
    records = [os.path.abspath(os.path.expanduser(name[5:])) for name in code if name.startswith("file ")]
    counted = {_entry(loaded, path) for loaded in plugins for path in records}
    entries: dict[str, str] = {}
    for name, value in [pair for one in (_own(plugins), *_REPORTED) for pair in one.items()]:
        # (b)
        module = name[5:].removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        # records count by their own entry, and modules by their code
        if name in counted or module in code or not name.startswith(tuple(f"data {one.name}:" for one in plugins)):
            continue
        if not value or entries.setdefault(name, value) != value:
            raise DpexpError(f"{name[5:]} changed while a plug-in was using it", "run again")
    return dict(sorted(entries.items()))


def _is_followed(value: object) -> bool:
    """Whether a function or class is written in code that is followed."""
    return str(getattr(value, "__module__", "")).partition(".")[0] in WATCHED


def require_unaltered() -> None:
    """Raises DpexpError where a plug-in has changed dpexp after it was loaded, when nothing asks any more."""
    if LOADED and not patching():
        for name, value in altered().items():
            if _is_followed(value):
                raise DpexpError(f"a plug-in has changed {name} while it ran", "let it do that when it is loaded")


def report() -> dict[str, str]:
    """All of it, for the process that has asked this one to compute. Raises DpexpError as `require_unaltered` does."""
    require_unaltered()
    return _own(LOADED.values())


def add(reported: dict[str, str]) -> None:
    """What another process has found."""
    # Every chunk of a run reports, and most report the same.
    if reported and reported not in _REPORTED:
        _REPORTED.append(reported)


def again(code: Iterable[str]) -> dict[str, str]:
    """What the entries among the names of a fingerprint hold now."""
    held: dict[str, str] = {}
    for name in code:
        plugin, _, inside = name.removeprefix("data ").partition(":")
        if name.startswith("data ") and plugin in LOADED:
            path = os.path.normpath(LOADED[plugin].root / inside) + "/" * inside.endswith("/")
            held[name] = _hash(inside if inside.startswith("$") else path)
    return held


def forget(package: str) -> None:
    """Nothing was read by a package whose modules are dropped; who loads it again reads again."""
    _SEEN.pop(package, None)
    _REPORTED.clear()


def _own(plugins: Iterable[Loaded]) -> dict[str, str]:
    """What was read in this process; an empty hash where it is not what was read any more."""
    return {
        _entry(loaded, path): _hash(path) if state == _state(path) else ""
        for loaded in plugins
        for path, state in {**_SEEN.get(loaded.package or loaded.inside, {}), **_SEEN.get("", {})}.items()
    }


def _entry(loaded: Loaded, path: str) -> str:
    """What is read is called by its place as seen from the plug-in's folder, wherever that lies."""
    inside = path if path.startswith("$") else os.path.relpath(path, loaded.root) + "/" * path.endswith("/")
    return f"data {loaded.key(inside)}"


def _hash(path: str) -> str:
    if path.startswith("$"):
        value = os.environ.get(path[1:])
        return "absent" if value is None else _digest(value.encode(errors="surrogateescape"))
    try:
        if path.endswith("/"):
            # That folder is Python's own, and comes and goes with every import.
            names = sorted(name for name in os.listdir(path) if name != "__pycache__")
            return _digest("\0".join(names).encode(errors="surrogateescape"))
        return _hash_of_file(path, state_of(path))
    except OSError:
        return "absent"


@lru_cache(maxsize=1024)
def _hash_of_file(path: str, state: State) -> str:
    return hash_of_file(path)[:16]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _state(path: str) -> State | None:
    """None of a folder and a variable, which are looked at once, when they are hashed."""
    return None if path.startswith("$") or path.endswith("/") else state_of(path)


def _asking() -> FrameType | None:
    """What is under way, from the innermost function on; those of this module aside."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals is globals():
        frame = frame.f_back
    return frame


def _behind(direct: bool = False, imports: bool = False) -> str | None:
    """The first name of the modules of the plug-in on whose behalf something happens; empty for what it has imported
    from elsewhere, None for no plug-in.

    (e) The innermost function of a plug-in's own modules says whose it is, unless it only has the store read results.
    (f) Of a module that a plug-in has imported from elsewhere any may be the owner, where none is found further out.
    (g) The engine, `dpexp.plugins` and the machinery of imports read for themselves, whoever has called them; with
    `imports` the plug-in behind them counts.
    (h) `direct`: the standard library may stand between, and nothing else.
    """
    frame = _asking()
    foreign, through_store = None, False
    while frame is not None:
        name, file = str(frame.f_globals.get("__name__")), frame.f_code.co_filename
        top = name.partition(".")[0]
        through_store = through_store or name.startswith("dpexp.store.")
        # (e)
        if top in WATCHED:
            return None if through_store and not _is_simulating(frame) else top
        # (f), and then (g), (h)
        if _is_from_elsewhere(top, file):
            foreign = ""
        elif not imports and (_is_importing(frame) or name.startswith(("dpexp.plugins", "dpexp.engine"))):
            return foreign
        elif direct and not file.startswith("<frozen") and (not file.startswith(_STDLIB) or "-packages" in file):
            return foreign
        frame = frame.f_back
    return _of_thread() if foreign is None else foreign


def _of_thread() -> str | None:
    """The plug-in on whose behalf this thread was started."""
    return _THREADS.get(threading.current_thread()) if _THREADS else None


def _is_importing(frame: FrameType) -> bool:
    """Whether the machinery of imports reads for itself; it is also asked for the data of a package."""
    return frame.f_code.co_filename.startswith("<frozen importlib") and frame.f_code.co_name != "get_data"


def _is_from_elsewhere(top: str, file: str) -> bool:
    """Whether a module is one that a plug-in has imported, and is neither dpexp's nor a library's."""
    return top in _IMPORTED and top != "dpexp" and not file.startswith((*_LIBRARIES, "<"))


def _is_simulating(frame: FrameType | None) -> bool:
    """Whether a cell is computed. Who reads stored results elsewhere, as a claim does, counts with their identity."""
    while frame is not None and frame.f_globals.get("__name__") != "dpexp.store.simulating":
        frame = frame.f_back
    return frame is not None


def _heard(event: str, given: tuple[Any, ...]) -> None:
    """Called by Python for whatever happens, so it has to be quick about what does not matter."""
    if event == "open":
        path, mode, flags = given
        if isinstance(path, str | bytes | os.PathLike):
            _opened(os.fsdecode(path), flags or 0, bare=mode is None)
    elif event == "import":
        if (top := given[0].partition(".")[0]) not in _IMPORTED and _behind(imports=True) is not None:
            _IMPORTED.add(top)
    elif event in ("os.listdir", "os.scandir"):
        if (top := _behind()) is not None:
            folder = os.readlink(f"/proc/self/fd/{given[0]}") if isinstance(given[0], int) else given[0] or "."
            _note(top, os.path.join(os.path.abspath(os.fsdecode(folder)), ""))
    elif event == "os.rename":
        if os.path.abspath(os.fsdecode(given[0])) in _WRITTEN:
            _WRITTEN.add(os.path.abspath(os.fsdecode(given[1])))
    elif event in _REFUSED and _behind(direct=event in _DIRECT) is not None:
        raise UsageError(f"a plug-in {_REFUSED[event]}, which cannot be followed", _INSTEAD)


_INSTEAD = (
    "keep what it needs in a file of its folder, Path(__file__).parent, and read that with Python, numpy or pandas"
)


def _opened(path: str, flags: int, bare: bool = False) -> None:
    """`bare`: by `os.open`, whose path can be one below a folder that is open, of which nothing is told."""
    # (a); of code that is imported the plug-in counts behind the machinery that reads it
    code = path.endswith((".py", ".pyc"))
    top = _behind(imports=code)
    relative, path = not os.path.isabs(path), os.path.abspath(path)
    # (c)
    if top is None or path.startswith((*_LIBRARIES, *_MACHINE, str(Path(__file__).parent.parent) + os.sep)):
        return
    # what the plug-in has made itself is no input when it reads it again
    if flags & os.O_TRUNC or (flags & os.O_EXCL and not os.path.lexists(path)):
        _WRITTEN.add(path)
    # Nor is what is only written to.
    if flags & os.O_ACCMODE == os.O_WRONLY or path in _WRITTEN:
        return
    # (d): a path below a folder that is open is not the one from the working folder
    if bare and relative and not os.path.exists(path):
        what = f"{os.path.basename(path)}, which is not there, or in a folder that is open"
        raise UsageError(f"a plug-in opens {what}", _INSTEAD)
    with suppress(ValueError):
        path = source_from_cache(path) if path.endswith(".pyc") else path
    mode = stat.S_IFREG  # also of what is not there, which is read too
    with suppress(OSError):
        mode = os.stat(path).st_mode
    # (d): what a pipe or a device gives cannot be read again to compare
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise UsageError(f"a plug-in reads {path}, which is no ordinary file", _INSTEAD)
    if not stat.S_ISDIR(mode):
        _note(top, path)


def _note(top: str, path: str) -> None:
    _SEEN.setdefault(top, {}).setdefault(path, _state(path))


def require_followed(module: str) -> None:
    """Raises UsageError where a plug-in imports what opens files past Python."""
    if module.partition(".")[0] in PAST_PYTHON:
        raise UsageError(f"a plug-in imports {module}, which opens files of which Python is not told", _INSTEAD)


def follow_pandas() -> None:
    """Have pandas say which files it leaves to a library that opens them past Python. A folder of them is refused."""
    for name in ("read_parquet", "read_feather", "read_orc"):
        _have_said(sys.modules.get("pandas"), name, _reads)


def _have_said(owner: Any, name: str, say: Callable[..., None]) -> None:
    """Have a function of a library or of Python say what it is called with, before it does its work."""
    original = getattr(owner, name, None)
    if original is None or original in _SAYING:
        return

    @wraps(original)
    def saying(*arguments: Any, **options: Any) -> Any:
        say(*arguments, **options)
        return original(*arguments, **options)

    _SAYING.add(saying)
    setattr(owner, name, saying)


def _reads(path: Any, *_: Any, **more: Any) -> None:
    if isinstance(path, str | os.PathLike):
        if os.path.isdir(path) and _behind() is not None:
            raise UsageError(f"a plug-in reads the folder {os.fspath(path)} at once", "read file by file")
        _opened(os.fsdecode(path), os.O_RDONLY)


def _starts(self: threading.Thread) -> None:
    if (top := _behind()) is not None:
        _THREADS[self] = top


def _imports(name: str, package: str | None = None) -> None:
    if _behind(direct=True) is not None:
        require_followed(name)
        if name.partition(".")[0] == "pandas":
            import_module("pandas")
            follow_pandas()


class _Environment(os._Environ[str]):
    """`os.environ`, which says what is read of it."""

    def __getitem__(self, key: str) -> str:
        top, name = _variable_for(), f"${os.fsdecode(key)}"
        if top is not None and name not in _WRITTEN:
            _note(top, name)
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: str) -> None:
        if _variable_for() is not None:
            _WRITTEN.add(f"${os.fsdecode(key)}")
        super().__setitem__(key, value)


def _variable_for() -> str | None:
    """The plug-in that reads a variable itself; what libraries read, they read for themselves."""
    frame = _asking()
    while frame is not None and (
        frame.f_globals.get("__name__") in ("os", "collections.abc") or frame.f_code.co_name == "expandvars"
    ):
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__") in ("threading", "concurrent.futures.thread"):
        return _of_thread()
    top = str(frame.f_globals.get("__name__")).partition(".")[0]
    if top in WATCHED:
        return top
    return "" if _is_from_elsewhere(top, frame.f_code.co_filename) else None
