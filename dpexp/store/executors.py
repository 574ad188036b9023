"""Run tasks by joblib: as threads or processes of this machine, or in a context of `joblib.parallel_config`.

Each way yields (task number, result) as results come in. Numbers never depend on the way.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.plugins import loading
from dpexp.store import fingerprint

Task = tuple[Callable[..., Any], tuple[Any, ...]]
BACKENDS = ("threads", "loky", "dask")
"""what `--backend` takes"""
_LOADING = threading.Lock()


def packed(task: Task) -> tuple[tuple[str, ...], bytes]:
    """The plug-ins that another process has to load, by absolute path, and the task."""
    return loading.files_in_use(), pickle.dumps(task)


def in_process(plugins: tuple[str, ...], content: bytes) -> Any:
    """In a process that works for another one: the result of a task.

    Raises UsageError where a plug-in cannot be loaded, or where code was edited after this process had read it.
    """
    _pin()
    with _LOADING:
        loading.use_installed()
        for file in plugins:
            loading.use(file)
    if late := fingerprint.edited_after({"dpexp", *(f"plugin {Path(file).name}" for file in plugins)}):
        raise UsageError(f"{', '.join(late)} was edited after a worker had read it", "restart the workers")
    function, arguments = pickle.loads(content)
    return function(*arguments)


@lru_cache(maxsize=1)
def _pin() -> None:
    """Limit linear algebra to one thread, on whose number its last bits can depend, as long as this process lives."""
    # the thread that sets the limit may be the only one that can reset it, so it cannot end with a task
    import scipy.linalg  # noqa: F401  its own library must be loaded to be held
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def in_context() -> bool:
    """Whether the caller has chosen another backend than threads, by `joblib.parallel_config`."""
    if "joblib" not in sys.modules:
        return False
    from joblib.parallel import ThreadingBackend, get_active_backend

    return not isinstance(get_active_backend(prefer="threads")[0], ThreadingBackend)


def executed(tasks: Sequence[Task], jobs: int = 1, backend: str = "") -> Generator[tuple[int, Any]]:
    """By threads, by processes (loky), or, without a backend, in the context of `joblib.parallel_config` and its jobs;
    by threads where there is none.

    When a run is given up, tasks that have not begun are dropped, and those that compute are left to themselves.
    """
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError
    from threadpoolctl import threadpool_limits

    name = {"threads": "threading", "loky": "loky", "": None if in_context() else "threading"}[backend]
    start = {"initializer": _begin_worker, "initargs": (os.getpid(),)} if name == "loky" else {}
    waiting, count = dict(enumerate(tasks)), None if name is None else max(1, min(jobs, len(tasks)))
    # where a worker of loky is killed, all are started again, once; a task that kills a second worker ends the run
    for last in (name != "loky", True):
        # threads share what this process has loaded
        calls = (
            delayed(_in_thread)(number, task) if name == "threading" else delayed(_in_worker)(number, *packed(task))
            for number, task in [*waiting.items()]
        )
        try:
            with (
                threadpool_limits(1),
                warnings.catch_warnings(),
                nullcontext() if name is None else parallel_config(name, **start),
            ):
                # of tasks that are left when a run is given up, and of workers that are replaced for their memory
                warnings.filterwarnings("ignore", r"\d+ tasks (have been successfully executed|which were still)")
                warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor")
                with closing(Parallel(n_jobs=count, return_as="generator_unordered")(calls)) as results:
                    for number, result in results:
                        del waiting[number]
                        yield number, result
            return
        except TerminatedWorkerError:
            if last:
                raise


def _in_thread(number: int, task: Task) -> tuple[int, Any]:
    function, arguments = task
    return number, function(*arguments)


def _in_worker(number: int, plugins: tuple[str, ...], content: bytes) -> tuple[int, Any]:
    return number, in_process(plugins, content)


def _begin_worker(parent: int) -> None:
    """Let this process leave Ctrl-C, which a terminal sends to all, to its parent, and end within a second of it: a
    parent that is killed cannot stop its workers, and these would wait for a task for minutes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
