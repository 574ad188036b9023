"""Several experiments on the threads of this machine, one after the other, and no core waits for another's last chunk.

The next experiment begins when the first chunk of the one before is done, with one chunk of its own: one thread then
compiles what it needs, while the others go on. Its other chunks come after all of those before it. Two at most are on
their way, and only where both fit into memory. What is computed does not depend on it, and neither does what is said
of it: reports come in the order of the experiments, and an error is raised when all before it are done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from dpexp.config.cells import Experiment
from dpexp.config.resources import fit_together
from dpexp.store import run
from dpexp.store.executors import Crew, Outcome
from dpexp.store.partials import Chunk
from dpexp.store.run import Options, Report, Running, steps_of_run

AT_ONCE = 2
"""experiments on their way: the chunks of a second are enough for all cores"""


def run_in_turn(
    experiments: Sequence[Experiment], options_of: Callable[[Experiment], Options], jobs: int
) -> Iterator[Report]:
    """Run experiments on so many threads; raises DpexpError as `steps_of_run` does.

    The options of an experiment are asked for when it begins.
    """
    following = deque(experiments)
    with Crew(jobs) as crew:
        under_way = _UnderWay(crew)
        try:
            while following or under_way.running:
                while following and under_way.has_room_for(following[0]):
                    under_way.begin(following.popleft(), options_of)
                if under_way.failed:
                    following.clear()  # those before it are finished
                if under_way.running:
                    under_way.hand_over(*crew.take())
                yield from under_way.reported()
        finally:
            under_way.close()


class _UnderWay:
    """The experiments that have begun, by their place in the order."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.running: dict[int, tuple[Experiment, Running]] = {}
        self.ended: dict[int, Report | Exception] = {}
        self.begun = self.told = 0
        self.compiled: set[int] = set()
        """places of which a chunk is done"""

    @property
    def failed(self) -> bool:
        return any(isinstance(end, Exception) for end in self.ended.values())

    def has_room_for(self, experiment: Experiment) -> bool:
        """Whether one more can begin: the one before has its compiled code, and both fit into memory."""
        if self.failed or not self.running:
            return not self.failed
        if len(self.running) >= AT_ONCE or not self.running.keys() <= self.compiled:
            return False
        return fit_together([*(other for other, _ in self.running.values()), experiment], self.crew.jobs)

    def begin(self, experiment: Experiment, options_of: Callable[[Experiment], Options]) -> None:
        """Start the next one."""
        place = self.begun
        self.begun += 1

        def start() -> Sequence[Chunk]:
            running = steps_of_run(experiment, options_of(experiment))
            self.running[place] = experiment, running
            return next(running)

        self._go_on(place, start)

    def hand_over(self, place: int, number: int, outcome: Outcome) -> None:
        """Give the run of a place the result of its chunk of that number."""
        if place not in self.running:
            return  # it has failed meanwhile
        _, running = self.running[place]
        self.compiled.add(place)
        error = outcome.exception()
        self._go_on(place, lambda: running.throw(error) if error else running.send((number, outcome.result())))

    def reported(self) -> Iterator[Report]:
        """The reports of those that have ended and whose turn it is. Raises the error of one that failed."""
        while (end := self.ended.get(self.told)) is not None:
            if isinstance(end, Exception):
                raise end
            self.told += 1
            yield end

    def close(self) -> None:
        """Give up what is still on its way; finished chunks are kept."""
        for _, running in self.running.values():
            running.close()

    def _go_on(self, place: int, step: Callable[[], Sequence[Chunk]]) -> None:
        try:
            for number, chunk in enumerate(step()):
                early = number == 0 and place not in self.compiled  # the first in line has nobody to come before
                self.crew.give(place, number, (run.simulate_chunk, (chunk,)), early)
        except StopIteration as end:
            self._end(place, end.value)
        except Exception as error:
            self._end(place, error)

    def _end(self, place: int, end: Report | Exception) -> None:
        self.ended[place] = end
        self.running.pop(place, None)  # it is not there if there were no options
