"""Run tasks on a dask cluster: `dpexp run CONFIG --backend dask --scheduler ADDRESS`.

(a) Every worker that is there is asked once what it computes with; one that joins later refuses a task whose chunk it
calls otherwise. (b) Nothing waits for ever: dask itself would, for a scheduler that is gone. (c) The parent hands out a
few tasks for each thread, and alone writes what comes back; dask gives the tasks of dead workers to others.
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
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from dpexp.core.errors import DpexpError, UsageError
from dpexp.store import fingerprint
from dpexp.store.executors import Task, in_process, packed
from dpexp.store.provenance import arithmetic, versions

if TYPE_CHECKING:
    from distributed import Client, Future

WAIT_S = 60.0
"""for workers and for their answers; a scheduler says its first words within `HELLO_S`"""
HELLO_S = 10.0
CONTINUE = "finished chunks are kept, run again to continue"


def require_dask() -> None:
    """Raises UsageError where dask is not installed."""
    if find_spec("distributed") is None:
        raise UsageError("--backend dask needs dask, which is not installed", "pip install 'dpexp[dask]'")


class _Call(NamedTuple):
    """Unpickling it calls the function: a scheduler needs no dpexp, and a worker without it fails in its task."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.function, self.arguments


def on_cluster(tasks: Sequence[Task], scheduler: str) -> Generator[tuple[int, Any]]:
    """(task number, result) as results come in. Raises UsageError where the cluster cannot be reached, or has no worker
    or one that is not like this process; DpexpError where it goes away, or a task kills its workers."""
    before = logging.root.manager.disable
    logging.disable()  # what goes wrong is said once, in our words
    try:
        with _connected(scheduler) as client:
            _require_alike(client, scheduler)
            yield from _results(client, scheduler, (pickle.dumps(_Call(in_process, packed(task))) for task in tasks))
    finally:
        logging.disable(before)


@contextmanager
def _connected(scheduler: str) -> Iterator[Client]:
    from distributed import Client
    from distributed.comm.addressing import parse_address, parse_host_port

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other versions, which are compared
        try:
            protocol, place = parse_address(scheduler)
            # a client would wait for ever for a service that says nothing, and take the words of another for a size
            if protocol == "tcp":
                with socket.create_connection(parse_host_port(place), timeout=HELLO_S) as talk:
                    hello = talk.recv(8, socket.MSG_WAITALL)
                if len(hello) < 8 or int.from_bytes(hello, "little") > 10**6:
                    raise OSError("what listens there is no dask scheduler")
            client = Client(scheduler, set_as_default=False, name="dpexp", timeout=min(WAIT_S, 30.0))
        except (OSError, ValueError, TypeError, ImportError) as error:
            what = f"no dask scheduler answers: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
            hint = "start one with: dask scheduler, which prints its address"
            raise UsageError(f"--scheduler {scheduler}: {what}", hint) from None
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
    return {**versions(), **arithmetic(), "distributed": version("distributed"), "code": fingerprint.own_hash()}


def _require_alike(client: Client, scheduler: str) -> None:
    """Wait for workers, and raise UsageError unless all that are there give the answers of this process."""
    try:
        client.wait_for_workers(1, timeout=WAIT_S)  # (b)
    except TimeoutError:
        raise UsageError(
            f"--scheduler {scheduler}: no worker in {WAIT_S:g} s", f"start: dask worker {scheduler}"
        ) from None
    call, where = pickle.dumps(_Call(facts, ())), sorted(client.nthreads())  # (a)
    answers = [client.submit(pickle.loads, call, workers=[one], pure=False, priority=1000) for one in where]
    until, expected = time.monotonic() + WAIT_S, facts()
    for address, answer in zip(where, answers, strict=True):
        try:
            told = answer.result(timeout=max(0.1, until - time.monotonic()))
            wrong = [f"{k} {told.get(k)}, and {here} here" for k, here in expected.items() if told.get(k) != here]
        except TimeoutError:
            wrong = [f"gave no answer in {WAIT_S:g} s"]
        except Exception as error:
            wrong = [f"has not the same dpexp: {type(error).__name__}: {error}"]
        # one that has left meanwhile is no reason to complain
        if wrong and address in client.nthreads():
            hint = "use the same dpexp, packages and kind of processor for all workers, and restart them"
            raise UsageError(f"worker {address}: {'; '.join(wrong[:3])}", hint)


def _results(client: Client, scheduler: str, calls: Iterator[bytes]) -> Iterator[tuple[int, Any]]:
    """(number, result) of calls as workers give them."""
    from distributed import CancelledError, wait
    from distributed.scheduler import KilledWorker

    numbered, seen, run = enumerate(calls), time.monotonic(), uuid4().hex
    out: dict[Future[Any], int] = {}
    while True:
        # (b)
        if threads := sum(client.nthreads().values()):
            seen = time.monotonic()
        elif time.monotonic() - seen > WAIT_S:
            raise DpexpError(f"no worker of {scheduler} is left since {WAIT_S:g} s", CONTINUE)
        # (c): for each thread one to compute, and one so that it does not wait for the parent
        for number, call in islice(numbered, max(0, 2 * max(threads, 1) - len(out))):
            out[client.submit(pickle.loads, call, key=f"dpexp-{run}-{number}", pure=False)] = number
        if not out:
            return
        done: set[Future[Any]] = set()
        with suppress(TimeoutError), client.as_current():
            done = wait([*out], timeout=1, return_when="FIRST_COMPLETED").done
        for future in done:
            try:
                result = future.result(timeout=5)
            except TimeoutError:  # its worker has died, and it is computed again
                continue
            except (CancelledError, KilledWorker):
                what = f"the cluster at {scheduler} gave up a task: was it restarted, or have workers died of it?"
                raise DpexpError(what, f"a worker with fewer threads needs less memory; {CONTINUE}") from None
            except DpexpError:
                raise
            except Exception as error:
                what = f"a worker of {scheduler} cannot do its task: {type(error).__name__}: {error}"
                raise UsageError(what, f"has one joined that has not the same dpexp? {CONTINUE}") from None
            yield out.pop(future), result
