"""What a worker of a cluster does: it says what it would compute with, and computes if that is what the run asks for.

A worker may live for weeks and serve many runs and people. So (a) it answers anew for every run, (b) it refuses what
changed after it was read, and (c) it minds what is shared in a process: the plug-ins that are loaded, and the number of
threads of linear algebra. It writes nothing.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from typing import Any, NamedTuple
from uuid import uuid4

from dpexp.core.digests import hash_of_data
from dpexp.core.errors import UsageError
from dpexp.core.memory import memory_of_machine
from dpexp.plugins import loading
from dpexp.plugins.loaded import LOADED
from dpexp.store import fingerprint
from dpexp.store.provenance import arithmetic, versions

CODE = "files of dpexp"
EDITED = "edited after it was read"
PLUGINS = "wrong with plug-ins"
THREADS = "threads of linear algebra"
NOTHING = "nothing"


class Asked(NamedTuple):
    """What a run asks of every worker."""

    run: str
    """one of a kind, so that a worker that has answered another run looks again"""
    plugins: tuple[str, ...]
    """files to load, by absolute path"""
    code: tuple[str, ...]
    """names of modules and of data files that come with the code, of dpexp and of plug-ins"""
    files: tuple[str, ...]
    """modules of plug-ins and the user's records, by the paths under which every worker must see the same"""


def asked_of(names: Iterable[str]) -> Asked:
    """What a run asks whose cells have these names in their fingerprints (`dpexp.store.fingerprint.code_of`)."""
    code = sorted(name for name in names if not name.startswith("file "))
    records = sorted(name.removeprefix("file ") for name in names if name.startswith("file "))
    named = [loaded for loaded in LOADED.values() if not loaded.installed and f"plugin {loaded.name}" in code]
    sources = [str(file) for loaded in named for file in (*loaded.files, *loaded.inputs())]
    return Asked(uuid4().hex, loading.files_in_use(), tuple(code), (*sources, *records))


class Unlike(NamedTuple):
    """Returned in place of a result by a worker that is not like the parent."""

    address: str
    facts: dict[str, str]


class Parcel(NamedTuple):
    """One task on its way to a worker."""

    task: bytes
    """can be read once the plug-ins are loaded"""
    asked: Asked
    expected: dict[str, str]
    """the facts of the parent"""


def facts(asked: Asked) -> dict[str, str]:
    """What this process computes with, by name. Two processes with equal facts give equal bits.

    Of files it says what they held when this process first read them, as the fingerprints do.
    """
    # (b)
    late = fingerprint.edited_after([dict.fromkeys(asked.code, "")])
    return {
        **versions(),
        "distributed": version("distributed"),
        **arithmetic(),
        CODE: fingerprint.code_of_verdict()["dpexp"].split()[0],
        EDITED: ", ".join(late) or NOTHING,
        PLUGINS: NOTHING,
        THREADS: "1",
        **{f"file {name}": _content(name) for name in asked.files},
    }


@contextmanager
def prepared(asked: Asked) -> Iterator[dict[str, str]]:
    """A worker with the plug-ins of the run and no others; gives its facts. It has looked at every file anew."""
    # (c)
    pin()
    with STAGE.set_for(asked.plugins) as missing:
        yield _answered(asked) | ({PLUGINS: missing} if missing else {})


@lru_cache(maxsize=8)
def _answered(asked: Asked) -> dict[str, str]:
    """As they are when the run first asks; the stage is set."""
    # (a): files as an earlier run found them are forgotten
    fingerprint.forget()
    found = {name: _as_kept(name, content) for name, content in facts(asked).items()}
    return {**found, THREADS: str(threads_of_linear_algebra())}


def _content(path: str) -> str:
    """Hash of a file or folder; or why there is none."""
    try:
        return hash_of_data(path)
    except OSError as error:
        return error.strerror or "cannot be read"


_first_seen: dict[str, str] = {}


def _as_kept(name: str, found: str) -> str:
    """What a worker says of a file: it keeps the records that it has read, so a change since then is told."""
    # a plug-in that was edited is loaded again, and its content is what is there now
    if not name.startswith("file ") or name.endswith(".py"):
        return found
    # (b)
    first = _first_seen.setdefault(name, found)
    return found if found == first else f"{found}, and {first} when this process read it"


class Memory(NamedTuple):
    """Bytes that a worker may use, None if unknown, and the tasks that it runs at a time."""

    bytes: int | None
    threads: int


def answer(asked: Asked) -> tuple[dict[str, str], Memory]:
    """Run on a worker: its facts and its memory."""
    from distributed import get_worker

    worker = get_worker()
    # dask's own limit may be less than the machine has, or be switched off
    limits = [memory_of_machine(), worker.memory_manager.memory_limit]
    with prepared(asked) as found:
        return found, Memory(min((n for n in limits if n), default=None), worker.state.nthreads)


def compute(parcel: Parcel) -> Any:
    """Run on a worker: the result of a task and what plug-ins have read; or Unlike, where it is not like the parent."""
    with prepared(parcel.asked) as found:
        if found != parcel.expected:
            from distributed import get_worker

            return Unlike(get_worker().address, found)
        function, arguments = pickle.loads(parcel.task)
        result = function(*arguments)
    # (c): asked again afterwards, since another task of this process may have asked for more meanwhile
    if threads_of_linear_algebra() > 1:
        raise UsageError("something else in this worker gave linear algebra several threads", "use other workers")
    return result


class Stage:
    """What the threads of one worker share while they compute: the plug-ins that are loaded."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._plugins: tuple[str, ...] = ()
        self._inside = 0
        self._missing = ""

    @contextmanager
    def set_for(self, plugins: tuple[str, ...]) -> Iterator[str]:
        """Load these plug-ins and no others. Gives what is wrong with one, or nothing."""
        # tasks that need the same plug-ins run side by side, others wait until these have ended
        with self._changed:
            self._changed.wait_for(lambda: not self._inside or plugins == self._plugins)
            if not self._inside:
                self._plugins, self._missing = plugins, ""
                try:
                    if loading.use_only(plugins):
                        fingerprint.forget()
                except UsageError as error:
                    self._missing = error.message
            self._inside += 1
        try:
            yield self._missing
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()


STAGE = Stage()
"""of this process"""


@lru_cache(maxsize=1)
def pin() -> None:
    """Hold linear algebra to one thread, on whose number its last bits can depend; in this process, and for good."""
    # The limit belongs to the process, and the thread that sets it may be the only one that can set it back, so it
    # cannot end with a task. A worker that dask starts in its usual way has this limit from the beginning.
    import scipy.linalg  # noqa: F401  its own library must be loaded to be held
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def threads_of_linear_algebra() -> int:
    """The most that a matrix product may use in this process."""
    from threadpoolctl import threadpool_info

    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
