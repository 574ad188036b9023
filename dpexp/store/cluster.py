"""A dask cluster as the place where tasks run: `dpexp run CONFIG --backend dask --scheduler ADDRESS`.

The parent plans, hands out tasks, and alone writes what comes back. (a) Every worker that is there is asked once what
it computes with. One that joins later is known by its results: each comes with the hash of the code, data and
arithmetic that gave it, which the run compares. (b) Nothing waits for ever: dask itself would, for a scheduler that is
gone. (c) dask sees to workers that die: their tasks go to others. Tasks are handed out as results come in, a few for
each thread.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.text import counted
from dpexp.store import fingerprint
from dpexp.store.executors import Task, in_process, packed
from dpexp.store.provenance import arithmetic, versions

if TYPE_CHECKING:
    from distributed import Client, Future

WAIT = "DPEXP_CLUSTER_WAIT"
"""the variable that says how many seconds to wait for workers and for their answers"""
AHEAD = 2
"""tasks that are handed out for each thread: one to compute, and one so that no thread waits for the parent"""
HELLO_S = 10.0
"""how long a scheduler may take to say its first words"""
LONGEST_HELLO = 1_000_000
"""bytes of these words; what another service says, read as a number, is as large as it happens to be"""
CONTINUE = "finished chunks are kept, run again to continue"


def require_dask() -> None:
    """Raises UsageError where dask is not installed."""
    if find_spec("distributed") is None:
        raise UsageError("--backend dask needs dask, which is not installed", "pip install 'dpexp[dask]'")


def patience() -> float:
    """Seconds to wait for workers, and for their answers."""
    try:
        seconds = float(os.environ.get(WAIT, "60"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e8:
        raise UsageError(f"{WAIT} is {os.environ[WAIT]!r}, not a number of seconds", f"for instance {WAIT}=600")
    return seconds


def on_cluster(tasks: Sequence[Task], scheduler: str) -> Generator[tuple[int, Any], None, None]:
    """(task number, result) as results come in, from the workers of the cluster.

    Raises UsageError where the cluster cannot be reached, has no worker, or has one that is not like this process;
    DpexpError where the cluster goes away, or a task kills its workers.
    """
    require_dask()
    if not tasks:
        return
    before = logging.root.manager.disable
    # what goes wrong is said once, in our words
    logging.disable()
    try:
        with _connected(scheduler) as client:
            _require_alike(client, scheduler)
            yield from _results(client, scheduler, (_call(in_process, *packed(task)) for task in tasks))
    finally:
        logging.disable(before)


class _Call(NamedTuple):
    """A function and its arguments; unpickling it calls the function, by the rules of `pickle`."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.function, self.arguments


def _call(function: Callable[..., Any], *arguments: Any) -> bytes:
    """Bytes whose unpickling on a worker is the call."""
    # the scheduler needs no dpexp then, and a worker that has none says so: in a task that is an error like any other
    return pickle.dumps(_Call(function, arguments))


def _hear(scheduler: str) -> None:
    """Wait for the first words of a scheduler. Raises OSError or ValueError where what is there is none.

    A client would wait for a service that says nothing for ever, and take the words of another one for a size.
    """
    from distributed.comm.addressing import parse_address, parse_host_port

    protocol, place = parse_address(scheduler)
    if protocol != "tcp":
        return
    with socket.create_connection(parse_host_port(place), timeout=HELLO_S) as talk:
        try:
            first = talk.recv(8, socket.MSG_WAITALL)
        except TimeoutError:
            raise OSError(f"what listens there says nothing in {HELLO_S:g} s") from None
    # dask's first eight bytes are the length of the message
    if len(first) < 8 or int.from_bytes(first, "little") > LONGEST_HELLO:
        raise OSError("what listens there is no dask scheduler")


@contextmanager
def _connected(scheduler: str) -> Iterator[Client]:
    from distributed import Client

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other versions, which are compared
        try:
            _hear(scheduler)
            client = Client(scheduler, set_as_default=False, name="dpexp", timeout=min(patience(), 30.0))
        except (OSError, ValueError, TypeError, ImportError) as error:
            why = str(error).split("\n")[0] or type(error).__name__
            hint = "start one with: dask scheduler, which prints its address; for instance tcp://127.0.0.1:8786"
            raise UsageError(f"--scheduler {scheduler}: no dask scheduler answers: {why}", hint) from None
    try:
        yield client
    except Exception as error:
        if client.status != "running" or isinstance(error, OSError):
            raise DpexpError(f"the scheduler {scheduler} is gone", CONTINUE) from None
        raise
    finally:
        # the scheduler forgets its tasks
        client.close(timeout=2)


def facts() -> dict[str, str]:
    """What this process computes with, by name. Two processes with equal facts give equal bits."""
    return {
        **versions(),
        "distributed": version("distributed"),
        **arithmetic(),
        "code of dpexp": fingerprint.own_hash(),
    }


def _require_alike(client: Client, scheduler: str) -> None:
    """Wait for workers, and raise UsageError unless all that are there give the answers of this process."""
    # (b)
    try:
        client.wait_for_workers(1, timeout=patience())
    except TimeoutError:
        hint = f"dask worker {scheduler} starts one; {WAIT}=3600 waits an hour for the first"
        raise UsageError(f"--scheduler {scheduler}: no worker has come in {patience():g} s", hint) from None
    # (a)
    ask = partial(client.submit, pickle.loads, _call(facts), allow_other_workers=False, pure=False, priority=1000)
    answers = {address: ask(workers=[address], key=f"dpexp-{uuid4().hex}") for address in sorted(client.nthreads())}
    until, expected = time.monotonic() + patience(), facts()
    for address, answer in answers.items():
        try:
            found = answer.result(timeout=max(0.1, until - time.monotonic()))
            wrong = [f"{name} {found.get(name)}, and {here} here" for name, here in expected.items()
                     if found.get(name) != here]  # fmt: skip
        except TimeoutError:
            wrong = [f"gave no answer in {patience():g} s"]
        except Exception as error:
            wrong = [f"has not the same dpexp: {type(error).__name__}: {error}"]
        # one that has left meanwhile is no reason to complain
        if wrong and address in client.nthreads():
            hint = "use the same dpexp, packages and kind of processor for all workers, and restart them"
            raise UsageError(f"worker {address}: {'; '.join(wrong[:3])}", hint)


def _results(client: Client, scheduler: str, calls: Iterator[bytes]) -> Iterator[tuple[int, Any]]:
    """(number, result) of calls as workers give them."""
    from distributed import CancelledError, wait

    numbered, seen, run = enumerate(calls), time.monotonic(), uuid4().hex
    out: dict[Future[Any], int] = {}
    while True:
        # (b)
        if threads := sum(client.nthreads().values()):
            seen = time.monotonic()
        elif time.monotonic() - seen > patience():
            gone = f"no worker of {scheduler} is left, and none has come in {patience():g} s"
            raise DpexpError(gone, CONTINUE)
        # (c)
        for number, call in islice(numbered, max(0, AHEAD * max(threads, 1) - len(out))):
            out[client.submit(pickle.loads, call, key=f"dpexp-{run}-{number}", pure=False)] = number
        if not out:
            return
        try:
            with client.as_current():
                done = wait([*out], timeout=1, return_when="FIRST_COMPLETED").done
            for future in done:
                result = _result_of(future, scheduler)
                yield out.pop(future), result
        except TimeoutError:
            # nothing is done yet, or the worker of a result has died, and it is computed again
            pass
        except CancelledError:
            raise DpexpError(f"the cluster at {scheduler} gave up a task: was it restarted?", CONTINUE) from None


def _result_of(future: Future[Any], scheduler: str) -> Any:
    """What a task gave. Raises TimeoutError where it has to be computed again."""
    from distributed import CancelledError
    from distributed.scheduler import KilledWorker

    try:
        return future.result(timeout=5)
    except (TimeoutError, CancelledError):
        raise
    except KilledWorker as error:
        what = f"{counted(error.allowed_failures + 1, 'worker')} of {scheduler} died of one task"
        raise DpexpError(what, f"was memory too small? a worker with fewer threads needs less; {CONTINUE}") from None
    except Exception as error:
        what = f"a worker of {scheduler} cannot do its task: {type(error).__name__}: {error}"
        raise UsageError(what, f"has one joined that has not the same dpexp? {CONTINUE}") from None
