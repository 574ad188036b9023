"""Run tasks: by joblib, as threads or processes or in a context of `joblib.parallel_config`, or on a dask cluster.

Each way yields (task number, result) as results come in, and numbers never depend on the way.

joblib's own dask backend serves callers that have a client. It waits for ever if workers die of a task, or if no worker
is left; (a) with `--scheduler ADDRESS` nothing does. (b) Whether a worker computes with the same code, libraries and
processor is checked in every task (`dpexp.store.partials.simulate_chunk`).
"""

from __future__ import annotations

import pickle
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.errors import DpexpError, UsageError
from dpexp.plugins import loading
from dpexp.plugins.loaded import LOADED
from dpexp.store import fingerprint

if TYPE_CHECKING:
    from distributed import Client

Task = tuple[Callable[..., Any], tuple[Any, ...]]
BACKENDS = ("threads", "loky", "dask")
"""what `--backend` takes"""
WAIT_S, HELLO_S = 60.0, 10.0
"""how long a run waits for workers of a cluster, and for the first words of its scheduler"""
CONTINUE = "finished chunks are kept, run again to continue"
_LOADING = threading.Lock()


def packed(task: Task) -> tuple[tuple[str, ...], bytes]:
    """The plug-ins that another process has to load, by absolute path, and the task."""
    return tuple(str(plugin.file) for plugin in LOADED.values() if not plugin.installed), pickle.dumps(task)


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
    import scipy.linalg  # noqa: F401  its own library must be loaded to be limited
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


# --- joblib ---


def in_context() -> bool:
    """Whether the caller has chosen another backend than threads, by `joblib.parallel_config`."""
    if "joblib" not in sys.modules:
        return False
    from joblib.parallel import ThreadingBackend, get_active_backend

    return not isinstance(get_active_backend(prefer="threads")[0], ThreadingBackend)


def executed(tasks: Sequence[Task], jobs: int = 1, backend: str = "") -> Generator[tuple[int, Any]]:
    """By threads, by processes (loky), or, without a backend, in the context of `joblib.parallel_config` and its jobs;
    by threads where there is none. Raises DpexpError where a worker of loky is killed.

    When a run is given up, tasks that have not begun are dropped, and those that compute are left to themselves.
    """
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError
    from threadpoolctl import threadpool_limits

    name = {"threads": "threading", "loky": "loky", "": None if in_context() else "threading"}[backend]
    # a terminal sends Ctrl-C to all, and workers leave it to their parent
    start = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)} if name == "loky" else {}
    count = None if name is None else max(1, min(jobs, len(tasks)))
    # threads share what this process has loaded
    own = tasks if name == "threading" else ((in_process, packed(task)) for task in tasks)
    calls = (delayed(_numbered)(number, *task) for number, task in enumerate(own))
    try:
        context = nullcontext() if name is None else parallel_config(name, **start)
        with threadpool_limits(1), warnings.catch_warnings(), context:
            # of tasks that are dropped when a run is given up, and of workers that are replaced for their memory
            warnings.filterwarnings("ignore", r"\d+ tasks (have been successfully executed|which were still)")
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor")
            with closing(Parallel(n_jobs=count, return_as="generator_unordered")(calls)) as results:
                yield from results
    except TerminatedWorkerError:
        problem = "a worker process was killed, maybe for lack of memory"
        raise DpexpError(problem, f"use fewer jobs; {CONTINUE}") from None


def _numbered(number: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[int, Any]:
    return number, function(*arguments)


# --- dask ---


def require_dask() -> None:
    """Raises UsageError where dask is not installed."""
    if find_spec("distributed") is None:
        raise UsageError("--backend dask needs dask, which is not installed", "pip install 'dpexp[dask]'")


@contextmanager
def _connected(scheduler: str) -> Iterator[Client]:
    from distributed import Client
    from distributed.comm.addressing import parse_address, parse_host_port

    try:
        protocol, place = parse_address(scheduler)
        # (a) of a service that says nothing, or something else
        if protocol == "tcp":
            with socket.create_connection(parse_host_port(place), timeout=HELLO_S) as service:
                hello = service.recv(8, socket.MSG_WAITALL)
            if len(hello) < 8 or int.from_bytes(hello, "little") > 10**6:
                raise OSError("what listens there is no dask scheduler")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions: (b)
            client = Client(scheduler, set_as_default=False, name="dpexp", timeout=30.0)
    except (OSError, ValueError, TypeError, ImportError) as error:
        problem = f"no dask scheduler answers: {(str(error) or type(error).__name__).splitlines()[0]}"
        hint = "start one with: dask scheduler, which prints its address"
        raise UsageError(f"--scheduler {scheduler}: {problem}", hint) from None
    try:
        yield client
    except Exception as error:
        if client.status != "running" or isinstance(error, OSError):
            raise DpexpError(f"the scheduler {scheduler} is gone", CONTINUE) from None
        raise
    finally:
        client.close(timeout=2)  # the scheduler forgets its tasks


def on_cluster(tasks: Sequence[Task], scheduler: str) -> Generator[tuple[int, Any]]:
    """On a dask cluster. Raises UsageError if it cannot be reached, DpexpError if it goes away or a task fails."""
    from distributed import wait

    with _connected(scheduler) as client:
        calls = (client.submit(in_process, *packed(task), pure=False) for task in tasks)
        out = {call: number for number, call in enumerate(calls)}
        while out:
            try:
                client.wait_for_workers(1, timeout=WAIT_S)
            except TimeoutError:
                problem = f"--scheduler {scheduler}: no worker for {WAIT_S:g} s"
                raise DpexpError(problem, f"start: dask worker {scheduler}; {CONTINUE}") from None
            with suppress(TimeoutError), client.as_current():
                wait([*out], timeout=1, return_when="FIRST_COMPLETED")
            for future in [future for future in out if future.done()]:
                try:
                    result = future.result(timeout=5)
                except TimeoutError:  # its worker has died, and another one computes it
                    continue
                except DpexpError:
                    raise
                except Exception as error:
                    problem = f"a task failed on the cluster at {scheduler}: {type(error).__name__}: {error}"
                    hint = "was it restarted, has a worker too little memory for its threads, or another dpexp?"
                    raise DpexpError(problem, f"{hint} {CONTINUE}") from None
                yield out.pop(future), result
