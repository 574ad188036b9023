"""A dask cluster as the place where tasks run: `dpexp run CONFIG --backend dask --scheduler ADDRESS`.

The parent plans, hands out tasks, and alone writes what comes back.

(a) Every worker is compared with the parent before it is given work, and one that joins later is compared before its
first task (`dpexp.store.worker`).
(b) Nothing waits for ever: dask itself would, for a worker that lacks a package or for a scheduler that is gone.
(c) dask sees to workers that die: their tasks go to others. Tasks are handed out as results come in, a few for each
thread, so a million of them need no more memory than a hundred, and workers that join are given their share.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import socket
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.text import counted
from dpexp.store.executors import Task
from dpexp.store.worker import CODE, EDITED, PLUGINS, Asked, Memory, Parcel, Unlike, answer, compute, facts

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
GIVEN_BACK = "finished chunks are kept, run again to continue"


class Room(NamedTuple):
    """Bytes that a worker needs: for every task that it runs at a time, and once."""

    task: int
    records: int


def require_dask() -> None:
    """Raises UsageError where dask is not installed."""
    if find_spec("distributed") is None:
        raise UsageError("--backend dask needs dask, which is not installed", "pip install 'dpexp[dask]'")


def patience() -> float:
    """Seconds to wait for workers, and for their answers."""
    given = os.environ.get(WAIT, "60")
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e8:
        raise UsageError(f"{WAIT} is {given!r}, not a number of seconds", f"for instance {WAIT}=600")
    return seconds


def on_cluster(
    tasks: Sequence[Task], scheduler: str, asked: Asked, room: Room
) -> Generator[tuple[int, Any], None, None]:
    """(task number, result) as results come in, from the workers of the cluster.

    Raises UsageError where the cluster cannot be reached, has no worker, or has one that is not like this process;
    DpexpError where the cluster goes away, or a task kills its workers.
    """
    require_dask()
    if not tasks:
        return
    with _silence(), _connected(scheduler) as client:
        expected = facts(asked)
        # (a)
        _require_alike(client, scheduler, asked, expected, room)
        calls = (_call(compute, Parcel(pickle.dumps(task), asked, expected)) for task in tasks)
        for number, result in _results(client, scheduler, asked.run, calls):
            # (a), of one that has joined since
            if isinstance(result, Unlike):
                wrong = _complaints((result.facts, None), expected, room, result.address)
                raise UsageError("; ".join(wrong), f"{_advice(wrong[0])}; {GIVEN_BACK}")
            yield number, result


class _Call(NamedTuple):
    """A function and its argument; unpickling it calls the function, by the rules of `pickle`."""

    function: Callable[[Any], Any]
    argument: Any

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        return self.function, (self.argument,)


def _call(function: Callable[[Any], Any], argument: Any) -> bytes:
    """Bytes whose unpickling on a worker is the call."""
    # the scheduler needs no dpexp then, and a worker that has none says so: in a task that is an error like any other
    return pickle.dumps(_Call(function, argument))


@contextmanager
def _silence() -> Iterator[None]:
    """Without logs on stderr, dask's above all: what goes wrong is said once, in our words."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


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

    with _undisturbed():
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
            raise DpexpError(f"the scheduler {scheduler} is gone", GIVEN_BACK) from None
        raise
    finally:
        # the scheduler forgets its tasks
        with _undisturbed():
            client.close(timeout=2)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Without warnings of other versions, which are compared, and without collecting garbage, which is done before."""
    # A client that could not connect, or lost its scheduler, stops its loop when it is collected, and asks for a lock
    # for that. The next client holds this lock while it starts and stops. Collected in between, both wait.
    gc.collect()
    collects = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if collects:
            gc.enable()


def _require_alike(client: Client, scheduler: str, asked: Asked, expected: Mapping[str, str], room: Room) -> None:
    """Wait for workers, and raise UsageError unless all that are there give the answers of this process."""
    # (b)
    until = time.monotonic() + patience()
    try:
        client.wait_for_workers(1, timeout=patience())
    except TimeoutError:
        hint = f"dask worker {scheduler} starts one; {WAIT}=3600 waits an hour for the first"
        raise UsageError(f"--scheduler {scheduler}: no worker has come in {patience():g} s", hint) from None
    questions = {
        address: client.submit(
            pickle.loads, _call(answer, asked), workers=[address], allow_other_workers=False, pure=False,
            priority=1000, key=f"dpexp-question-{asked.run}-{number}",
        )
        for number, address in enumerate(sorted(client.nthreads()))
    }  # fmt: skip
    replies = {
        address: _reply(question, max(0.1, until + patience() - time.monotonic()))
        for address, question in questions.items()
    }
    # a worker that leaves at this moment answers nothing, and is no reason to complain
    there = client.nthreads()
    replies = {address: found for address, found in replies.items() if found is not None or address in there}
    complaints = [what for address, found in replies.items() for what in _complaints(found, expected, room, address)]
    if complaints:
        more = f" (and {len(complaints) - 3} more)" if len(complaints) > 3 else ""
        raise UsageError("; ".join(complaints[:3]) + more, _advice(complaints[0]))
    if not replies:
        raise DpexpError(f"all workers of {scheduler} have left", GIVEN_BACK)


Reply = tuple[dict[str, str], Memory | None] | Exception | None
"""what a worker answers, or the error that it answers with; None where it says nothing"""


def _reply(question: Future[Any], seconds: float) -> Reply:
    from distributed import CancelledError

    try:
        found: Reply = question.result(timeout=seconds)
        return found
    except (TimeoutError, CancelledError):
        return None
    except Exception as error:
        return error


def _complaints(found: Reply, expected: Mapping[str, str], room: Room, address: str) -> list[str]:
    """What is wrong with a worker, each with its address: `worker A: numpy 2.3.0, and 2.4.6 here`."""
    if found is None:
        return [f"worker {address} gave no answer in {patience():g} s"]
    if isinstance(found, Exception):
        return [f"worker {address} has not the same dpexp: {type(found).__name__}: {found}"]
    there, memory = found
    wrong = [
        f"{there.get(name)} was {EDITED}" if name == EDITED
        else str(there.get(name)) if name == PLUGINS
        else f"{name} {there.get(name)}, and {expected[name]} here"
        for name in expected if there.get(name) != expected[name]
    ]  # fmt: skip
    need = 0 if memory is None else memory.threads * room.task + room.records
    if memory is not None and memory.bytes is not None and need > memory.bytes:
        tasks = counted(memory.threads, "task")
        wrong.append(f"needs {need:,} bytes of memory for {tasks} at a time, {memory.bytes:,} are there")
    return [f"worker {address}: {what}" for what in wrong]


SAME_FILES = "every worker must see the same files under the same paths: give absolute paths on a shared disk"
SAME_CODE = "install the same dpexp for every worker, and restart the workers"
OTHER_BITS = "the last bits could differ: start dpexp itself on a machine of the workers' kind"
ADVICE = {
    "bytes of memory": "start workers with fewer threads or more memory: dask worker --nthreads 1 --memory-limit 8GB",
    "no answer": f"it may be busy with other work: {WAIT}=600 waits ten minutes",
    f" was {EDITED}": "restart the workers",
    "when this process read it": "restart the workers",
    ": file ": SAME_FILES,
    "plug-in": SAME_FILES,
    CODE: SAME_CODE,
    "dpexp": SAME_CODE,
    ": processor ": OTHER_BITS,
    ": linear algebra ": OTHER_BITS,
}
"""what helps, by what a complaint says"""


def _advice(complaint: str) -> str:
    other = "use the same environment for dpexp and for every worker"
    return next((hint for said, hint in ADVICE.items() if said in complaint), other)


def _results(client: Client, scheduler: str, run: str, calls: Iterator[bytes]) -> Iterator[tuple[int, Any]]:
    """(number, result) of calls as workers give them."""
    from distributed import CancelledError, wait

    numbered, seen = enumerate(calls), time.monotonic()
    out: dict[Future[Any], int] = {}
    while True:
        # (b)
        if threads := sum(client.nthreads().values()):
            seen = time.monotonic()
        elif time.monotonic() - seen > patience():
            gone = f"no worker of {scheduler} is left, and none has come in {patience():g} s"
            raise DpexpError(gone, GIVEN_BACK)
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
            raise DpexpError(f"the cluster at {scheduler} gave up a task: was it restarted?", GIVEN_BACK) from None


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
        raise DpexpError(what, f"was memory too small? a worker with fewer threads needs less; {GIVEN_BACK}") from None
    except Exception as error:
        what = f"a worker of {scheduler} cannot do its task: {type(error).__name__}: {error}"
        raise UsageError(what, f"has one joined that has not the same dpexp? {GIVEN_BACK}") from None
