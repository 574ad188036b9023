"""Ways to run tasks: each yields (task number, result) as results come in. Numbers never depend on which is used."""

from __future__ import annotations

import os
import pickle
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from dpexp.core.memory import keep_freed_memory
from dpexp.core.workers import end_with
from dpexp.plugins import loading
from dpexp.store import fingerprint

Task = tuple[Callable[..., Any], tuple[Any, ...]]


@contextmanager
def _ready_to_compute() -> Iterator[None]:
    """Linear algebra may not use several threads, on which its last bits can depend; memory is kept for the next."""
    from threadpoolctl import threadpool_limits

    keep_freed_memory()
    with threadpool_limits(1):
        yield


def seal(task: Task) -> tuple[tuple[str, ...], bytes]:
    """A task that another process can open, and first the plug-ins that it has to load before: by absolute path."""
    return loading.files_in_use(), pickle.dumps(task)


def opened(plugins: tuple[str, ...], sealed: bytes) -> Task:
    """The task. Loads exactly the plug-ins that it needs: a worker may have served another run before.

    Raises UsageError where a plug-in cannot be loaded any more.
    """
    if loading.use_only(plugins):
        fingerprint.forget()
    task: Task = pickle.loads(sealed)
    return task


def _pinned(number: int, place: str, plugins: tuple[str, ...], sealed: bytes) -> tuple[int, Any]:
    """In a process of its own."""
    # processes are kept for the next call, and the caller may have changed its working folder in between
    os.chdir(place)
    with _ready_to_compute():
        function, arguments = opened(plugins, sealed)
        return number, function(*arguments)


@contextmanager
def _no_word_of_the_rest() -> Iterator[None]:
    """Without joblib's remarks on tasks that are left when a run is given up, since the run says why itself, and on a
    worker that is replaced because it holds much memory, since its tasks go on elsewhere."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\d+ tasks (have been successfully executed|which were still)")
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given to the executor")
        yield


def _numbered(number: int, task: Task) -> tuple[int, Any]:
    function, arguments = task
    return number, function(*arguments)


def threads(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, Any]]:
    """Threads of this process; kernels release Python's lock. Where a run is given up, tasks that nobody has begun are
    dropped, and those that compute are left to themselves."""
    if not tasks:
        return
    from joblib import Parallel, delayed

    with _ready_to_compute(), _no_word_of_the_rest():
        parallel = Parallel(n_jobs=jobs, backend="threading", return_as="generator_unordered")
        with closing(parallel(delayed(_numbered)(number, task) for number, task in enumerate(tasks))) as results:
            yield from results


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that are started here never hear Ctrl-C, which a terminal sends to all of them: it is for this one,
    which hears it afterwards, and with which they end."""
    from multiprocessing import resource_tracker

    # started before the signal is blocked, since it unblocks what it has blocked for its own process, whoever did so
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def loky(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, Any]]:
    """Processes. When a worker is killed all workers are restarted, once, for the tasks that are unfinished."""
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    waiting, place = dict(enumerate(tasks)), os.getcwd()
    for attempt in range(2):
        try:
            with parallel_config("loky", initializer=end_with, initargs=(os.getpid(),)), _no_word_of_the_rest():
                parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
                with _deaf_to_interrupts():
                    results = parallel(
                        delayed(_pinned)(number, place, *seal(task)) for number, task in list(waiting.items())
                    )
                for number, result in results:
                    waiting.pop(number)
                    yield number, result
            return
        except TerminatedWorkerError:
            # one that dies of the same work a second time dies of it
            if attempt:
                raise


EXECUTORS: dict[str, Callable[[Sequence[Task], int], Iterator[tuple[int, Any]]]] = {"threads": threads, "loky": loky}
"""ways to run tasks on this machine"""
BACKENDS = (*EXECUTORS, "dask")
"""what `--backend` takes; a cluster is in `dpexp.store.cluster`, since a run must say more of its tasks there"""
