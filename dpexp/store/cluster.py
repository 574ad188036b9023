"""A dask cluster as the place where tasks run: `dpexp run CONFIG --backend dask --scheduler ADDRESS`.

The parent plans, hands out tasks, and alone writes what comes back. Every worker is compared with the parent before
it is given work, and one that joins later is compared before its first task (`dpexp.store.worker`). Nothing waits for
ever: dask itself would, for a worker that lacks a package or for a scheduler that is gone.

dask sees to workers that die: their tasks go to others. Tasks are handed out as results come in, a few for each thread,
so a million of them need no more memory than a hundred, and workers that join are given their share.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import queue
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.text import counted
from dpexp.plugins import observed
from dpexp.store.executors import Task, seal
from dpexp.store.worker import CODE, EDITED, PLUGINS, Asked, Memory, Parcel, Unlike, answer, compute, facts

if TYPE_CHECKING:
    from distributed import Client, Future

WAIT = "DPEXP_CLUSTER_WAIT"
"""the variable that says how many seconds to wait for workers and for their answers"""
AHEAD = 2
"""tasks that are handed out for each thread: one to compute, and one so that no thread waits for the parent"""
GIVEN_BACK = "finished chunks are kept, run again to continue"


class Lost(DpexpError):
    """The cluster went away: nothing is wrong with the experiment, and another run goes on where this one stopped."""


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

    Raises UsageError where the cluster cannot be reached, has no worker, or has one that is not like this process; Lost
    where the cluster goes away; DpexpError where a task kills its workers.
    """
    require_dask()
    if not tasks:
        return
    with _silence(), _connected(scheduler) as client:
        expected = facts(asked)
        threads = _accepted(client, scheduler, asked, expected, room)
        parcels = (_call(compute, Parcel(seal(task), asked, expected)) for task in tasks)
        yield from _Errand(client, scheduler, asked, expected).results(parcels, threads)


class _Call(NamedTuple):
    """A function and its argument; unpickling it calls the function, by the rules of `pickle`."""

    function: Callable[[Any], Any]
    argument: Any

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        return self.function, (self.argument,)


def _call(function: Callable[[Any], Any], argument: Any) -> bytes:
    """Bytes whose unpickling on a worker is the call.

    A worker that dask hands our function itself would import dpexp while it reads dask's message. Where there is no
    dpexp that ends the worker, without a word to us. Inside a task it is an error like any other.
    """
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


@contextmanager
def _connected(scheduler: str) -> Iterator[Client]:
    from distributed import Client

    why = ""
    with warnings.catch_warnings(), _nothing_collected():
        warnings.simplefilter("ignore")  # of other versions: these are compared below
        try:
            client = Client(scheduler, set_as_default=False, name="dpexp", timeout=min(patience(), 30.0))
        except (OSError, ValueError, TypeError, ImportError) as error:
            why = str(error).split("\n")[0] or type(error).__name__
    if why:
        hint = "start one with: dask scheduler, which prints its address; for instance tcp://127.0.0.1:8786"
        raise UsageError(f"--scheduler {scheduler}: no dask scheduler answers: {why}", hint)
    try:
        yield client
    finally:
        with warnings.catch_warnings(), _nothing_collected():
            warnings.simplefilter("ignore")
            client.close(timeout=2)


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Without collecting garbage in here; what there is goes before.

    A client that could not connect, or lost its scheduler, stops its loop when it is collected, and asks for a lock for
    that. The next client holds this lock while it starts and stops. Collected in between, the two wait for each other.
    """
    gc.collect()
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _accepted(client: Client, scheduler: str, asked: Asked, expected: Mapping[str, str], room: Room) -> int:
    """The threads of the cluster, once every worker that is there has given the answers of this process."""
    until = time.monotonic() + patience()
    while not (workers := client.nthreads()):
        if time.monotonic() > until:
            hint = f"dask worker {scheduler} starts one; {WAIT}=3600 waits an hour for the first"
            raise UsageError(f"--scheduler {scheduler}: no worker has come in {patience():g} s", hint)
        time.sleep(0.1)
    questions = {
        address: client.submit(
            pickle.loads, _call(answer, asked), workers=[address], allow_other_workers=False, pure=False,
            priority=1000, key=f"dpexp-question-{asked.run}-{number}",
        )
        for number, address in enumerate(sorted(workers))
    }  # fmt: skip
    try:
        complaints, answered = [], 0
        for address, question in questions.items():
            found = _reply(question, max(0.1, until + patience() - time.monotonic()))
            if found is None and address not in client.nthreads():
                continue  # it has left, which workers may do
            answered += 1
            complaints += _complaints(found, expected, room, address)
    finally:
        client.cancel(list(questions.values()))
    if complaints:
        more = f" (and {len(complaints) - 3} more)" if len(complaints) > 3 else ""
        raise UsageError("; ".join(complaints[:3]) + more, _advice(complaints))
    if not answered:
        raise Lost(f"all workers of {scheduler} have left", GIVEN_BACK)
    return sum(client.nthreads().values())


def _reply(question: Future[Any], seconds: float) -> tuple[dict[str, str], Memory] | Exception | None:
    """What a worker answers, or the error that it answers with; None where it says nothing."""
    from distributed import CancelledError

    try:
        found: tuple[dict[str, str], Memory] = question.result(timeout=seconds)
        return found
    except (TimeoutError, CancelledError):
        return None
    except Exception as error:
        return error


def _complaints(
    found: tuple[dict[str, str], Memory] | Exception | None, expected: Mapping[str, str], room: Room, address: str
) -> list[str]:
    """What is wrong with a worker, each with its address."""
    if found is None:
        return [f"worker {address} gave no answer in {patience():g} s"]
    if isinstance(found, Exception):
        return [f"worker {address} has not the same dpexp: {type(found).__name__}: {found}"]
    there, memory = found
    wrong = [f"worker {address}: {what}" for what in _differences(expected, there)]
    need = memory.threads * room.task + room.records
    if memory.bytes is not None and need > memory.bytes:
        tasks = counted(memory.threads, "task")
        wrong.append(
            f"worker {address}: needs {need:,} bytes of memory for {tasks} at a time, {memory.bytes:,} are there"
        )
    return wrong


def _differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """What a worker has that the parent has not, or the other way round: `numpy 2.3.0, and 2.4.6 here`."""
    differing = [name for name in expected if found.get(name) != expected[name]]
    return [
        f"{found.get(name)} was {EDITED}" if name == EDITED
        else str(found.get(name)) if name == PLUGINS
        else f"{name} {found.get(name)}, and {expected[name]} here"
        for name in differing
    ]  # fmt: skip


def _advice(complaints: Sequence[str]) -> str:
    """What helps against the first complaint."""
    first = complaints[0]
    if "bytes of memory" in first:
        return "start workers with fewer threads or more memory: dask worker --nthreads 1 --memory-limit 8GB"
    if "no answer" in first:
        return f"it may be busy with other work: {WAIT}=600 waits ten minutes"
    if f" was {EDITED}" in first or "when this process read it" in first:
        return "restart the workers"
    if ": file " in first or "plug-in" in first:
        return "every worker must see the same files under the same paths: give absolute paths on a shared disk"
    if CODE in first or "dpexp" in first:
        return "install the same dpexp for every worker, and restart the workers"
    if ": processor " in first or ": linear algebra " in first:
        return "the last bits could differ: start dpexp itself on a machine of the workers' kind"
    return "use the same environment for dpexp and for every worker"


class _Errand:
    """One run of some tasks on a cluster whose workers were accepted."""

    def __init__(self, client: Client, scheduler: str, asked: Asked, expected: Mapping[str, str]) -> None:
        self.client, self.scheduler, self.asked, self.expected = client, scheduler, asked, expected
        self.arrived: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self.out: dict[str, tuple[int, Future[Any]]] = {}
        """by key: the task's number, and what stands for its result"""
        self.seen = time.monotonic()
        """when a worker was last there"""

    def results(self, parcels: Iterator[bytes], threads: int) -> Generator[tuple[int, Any], None, None]:
        """(task number, result) as they come in; where it is given up, dask is told to drop the rest."""
        numbered, looked = enumerate(parcels), time.monotonic()
        try:
            while self._hand_out(numbered, AHEAD * threads):
                if time.monotonic() - looked > 1:
                    threads, looked = self._threads() or threads, time.monotonic()
                try:
                    future = self.arrived.get(timeout=0.5)
                except queue.Empty:
                    self._require_scheduler()
                    continue
                result, read = self._result_of(future)
                observed.add(read)
                number, _ = self.out.pop(future.key)
                del future  # dask forgets a result that nobody holds
                yield number, result
        finally:
            if self.out and self.client.status == "running":
                self.client.cancel([future for _, future in self.out.values()])
            self.out.clear()

    def _hand_out(self, numbered: Iterator[tuple[int, bytes]], most: int) -> int:
        """Submit tasks until so many are out; how many are."""
        while len(self.out) < most and (following := next(numbered, None)) is not None:
            number, parcel = following
            self._require_scheduler()
            future = self.client.submit(pickle.loads, parcel, key=f"dpexp-{self.asked.run}-{number}", pure=False)
            self.out[future.key] = number, future
            future.add_done_callback(self.arrived.put)
        return len(self.out)

    def _threads(self) -> int:
        """Of all workers that are there now. Raises Lost where there has been none for long."""
        self._require_scheduler()
        try:
            threads: int = sum(self.client.nthreads().values())
        except OSError:
            raise self._lost() from None
        now = time.monotonic()
        if threads:
            self.seen = now
        elif now - self.seen > patience():
            raise Lost(f"no worker of {self.scheduler} is left, and none has come in {patience():g} s", GIVEN_BACK)
        return threads

    def _result_of(self, future: Future[Any]) -> Any:
        """What a task gave. Where its worker has died since, dask computes it again meanwhile."""
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        while True:
            try:
                result = future.result(timeout=5)
            except TimeoutError:
                self._threads()
            except CancelledError:
                self._require_scheduler()
                raise Lost(f"the cluster at {self.scheduler} gave up a task: was it restarted?", GIVEN_BACK) from None
            except KilledWorker as error:
                what = f"{counted(error.allowed_failures + 1, 'worker')} of {self.scheduler} died of one task"
                hint = f"was memory too small? a worker with fewer threads needs less; {GIVEN_BACK}"
                raise DpexpError(what, hint) from None
            except Exception as error:
                self._require_scheduler()
                what = f"a worker of {self.scheduler} cannot do its task: {type(error).__name__}: {error}"
                raise UsageError(what, f"has one joined that has not the same dpexp? {GIVEN_BACK}") from None
            else:
                if isinstance(result, Unlike):
                    wrong = [f"worker {result.address}: {one}" for one in _differences(self.expected, result.facts)]
                    raise UsageError("; ".join(wrong), f"{_advice(wrong)}; {GIVEN_BACK}")
                return result

    def _require_scheduler(self) -> None:
        if self.client.status != "running":
            raise self._lost()

    def _lost(self) -> Lost:
        return Lost(f"the scheduler {self.scheduler} is gone", GIVEN_BACK)
