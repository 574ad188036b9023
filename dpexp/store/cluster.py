"""Run tasks on a dask cluster: `dpexp run CONFIG --backend dask --scheduler ADDRESS`.

joblib's own dask backend serves whoever has a client (`joblib.parallel_config`). What it does not do is here: (a) every
worker is asked once what it computes with; one that joins later refuses a chunk that it names otherwise. (b) Nothing
waits for ever: joblib does where workers die of a task, or no worker is left.
"""

from __future__ import annotations

import logging
import pickle
import socket
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dpexp.core.errors import DpexpError, UsageError
from dpexp.store import fingerprint
from dpexp.store.executors import Task, in_process, packed
from dpexp.store.provenance import arithmetic, versions

if TYPE_CHECKING:
    from distributed import Client

WAIT_S = 60.0
"""for workers; a scheduler says its first words within `HELLO_S`"""
HELLO_S = 10.0
CONTINUE = "finished chunks are kept, run again to continue"


def require_dask() -> None:
    """Raises UsageError where dask is not installed."""
    if find_spec("distributed") is None:
        raise UsageError("--backend dask needs dask, which is not installed", "pip install 'dpexp[dask]'")


class _Call:
    """Unpickling it calls the function: a scheduler needs no dpexp, and a worker without it fails in its task."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


def on_cluster(tasks: Sequence[Task], scheduler: str) -> Generator[tuple[int, Any]]:
    """(task number, result) as results come in. Raises UsageError where the cluster cannot be reached, or has no worker
    or one that is not like this process; DpexpError where it goes away, or a task fails on it."""
    before = logging.root.manager.disable
    logging.disable()  # dask would report each failure a second time
    try:
        with _connected(scheduler) as client:
            _require_alike(client, scheduler)
            yield from _results(client, scheduler, tasks)
    finally:
        logging.disable(before)


@contextmanager
def _connected(scheduler: str) -> Iterator[Client]:
    from distributed import Client
    from distributed.comm.addressing import parse_address, parse_host_port

    try:
        protocol, place = parse_address(scheduler)
        # (b) of a service that says nothing, or something else
        if protocol == "tcp":
            with socket.create_connection(parse_host_port(place), timeout=HELLO_S) as service:
                hello = service.recv(8, socket.MSG_WAITALL)
            if len(hello) < 8 or int.from_bytes(hello, "little") > 10**6:
                raise OSError("what listens there is no dask scheduler")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions are compared below
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


def facts() -> dict[str, str]:
    """What this process computes with: two processes with equal facts give equal bits."""
    own = {"distributed": version("distributed"), "code": fingerprint.today({"dpexp": ""})["dpexp"]}
    return {**versions(), **arithmetic(), **own}


def _require_alike(client: Client, scheduler: str) -> None:
    """(a) Wait for workers, and raise UsageError unless all of them give the facts of this process."""
    try:
        client.wait_for_workers(1, timeout=WAIT_S)
    except TimeoutError:
        hint = f"start: dask worker {scheduler}"
        raise UsageError(f"--scheduler {scheduler}: no worker in {WAIT_S:g} s", hint) from None
    here, hint = facts(), "use the same dpexp, packages and kind of processor for all workers, and restart them"
    for address, answer in sorted(client.run(pickle.loads, pickle.dumps(_Call(facts)), on_error="return").items()):
        if not isinstance(answer, dict):
            wrong = [f"has not the same dpexp: {type(answer).__name__}: {answer}"]
        else:
            wrong = [f"{k} {answer.get(k)}, and {own} here" for k, own in here.items() if answer.get(k) != own]
        # a worker that has left meanwhile does no harm
        if wrong and address in client.nthreads():
            raise UsageError(f"worker {address}: {'; '.join(wrong[:3])}", hint)


def _results(client: Client, scheduler: str, tasks: Sequence[Task]) -> Iterator[tuple[int, Any]]:
    from distributed import wait

    calls = (pickle.dumps(_Call(in_process, *packed(task))) for task in tasks)
    out = {client.submit(pickle.loads, call, pure=False): number for number, call in enumerate(calls)}
    alive = time.monotonic()
    while out:
        if client.nthreads():
            alive = time.monotonic()
        elif time.monotonic() - alive > WAIT_S:
            raise DpexpError(f"no worker of {scheduler} is left since {WAIT_S:g} s", CONTINUE)
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
