"""Several experiments on threads: one does not wait for the last chunk of another, and nothing else is different."""

import threading

import pytest

from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import DpexpError
from dpexp.core.steps import listening
from dpexp.store import Folder, in_turn, partials
from dpexp.store import run as running
from dpexp.store.executors import Crew
from dpexp.store.in_turn import run_in_turn
from dpexp.store.run import Options, Progress, run
from tests.conftest import numbers

PATIENCE = 500.0
"""seconds after which a thread that waits for what never comes gives up"""


@pytest.fixture
def three(config):
    """The small experiment under three names, with other numbers each."""
    texts = {name: config.read_text().replace("experiment: small", f"experiment: {name}") for name in "abc"}
    for name, text in texts.items():
        config.with_name(f"{name}.yaml").write_text(text)
    seeds = {"a": 1, "b": 2, "c": 3}
    return [load_experiment(config.with_name(f"{name}.yaml"), [f"run.seed={seeds[name]}"]) for name in texts]


def go(experiments, results, jobs=2, **options):
    return list(run_in_turn(experiments, lambda _: Options(results, jobs, quiet=True, **options), jobs))


def test_the_same_bits_and_reports_as_one_by_one(three, tmp_path):
    reports = go(three, tmp_path / "together", jobs=3)
    for experiment, report in zip(three, reports, strict=True):
        alone = run(experiment, Options(tmp_path / "alone", quiet=True))
        assert (report.experiment, report.computed) == (experiment.name, 6) == (alone.experiment, alone.computed)
        assert numbers(report.folder) == numbers(alone.folder)
    assert [report.reused for report in go(three, tmp_path / "together")] == [6, 6, 6]


class Held:
    """In place of `simulate_chunk`: the chunks of each seed are counted as they begin, and `before` may hold one."""

    def __init__(self, monkeypatch, before):
        self.before, self.begun, self.lock = before, [], threading.Lock()
        self.simulate = running.simulate_chunk
        monkeypatch.setattr(running, "simulate_chunk", self)

    def __call__(self, chunk):
        seed = chunk.cells[0].run.seed
        with self.lock:
            self.begun.append(seed)
            number = self.begun.count(seed)
        self.before(seed, number)
        return self.simulate(chunk)


LAST = 3
"""the number of the last chunk of an experiment: all cells share a pass, and 20 replicates are taken in eights"""


def test_the_next_begins_while_the_last_chunk_of_one_is_at_work(three, tmp_path, monkeypatch):
    next_begun = threading.Event()

    def before(seed, number):
        if seed == 2:
            next_begun.set()
        if (seed, number) == (1, LAST):
            assert next_begun.wait(PATIENCE)

    held = Held(monkeypatch, before)
    reports = go(three, tmp_path / "r")
    assert held.begun.count(1) == LAST
    assert [report.experiment for report in reports] == ["a", "b", "c"]


def test_the_next_compiles_while_chunks_of_the_one_before_wait(three, tmp_path, monkeypatch):
    """Its first chunk comes before them, and its others after them."""
    given, next_begun, give = threading.Event(), threading.Event(), Crew.give

    def noticed(crew, group, number, task, early=False):
        give(crew, group, number, task, early)
        if group == 1:
            given.set()

    def before(seed, number):
        if seed == 2:
            next_begun.set()
        elif seed == 1 and number > 2:
            assert given.wait(PATIENCE)
            assert number < 6 or next_begun.wait(PATIENCE)

    begun = Held(monkeypatch, before).begun
    monkeypatch.setattr(Crew, "give", noticed)
    monkeypatch.setattr(
        running, "chunks_of", lambda cells, replicates: partials.chunks_of(cells, replicates, lanes=2)
    )  # ten chunks
    go(three, tmp_path / "r")
    assert [place for place, seed in enumerate(begun) if seed == 2][1] >= 9  # of the first only what runs is left
    assert len(begun) == 30


@pytest.mark.parametrize("why", ["two are on their way", "memory"])
def test_no_more_begin_than_there_is_room_for(three, tmp_path, monkeypatch, why):
    most = 2 if why.startswith("two") else 1
    if most == 1:
        monkeypatch.setattr(in_turn, "fit_together", lambda experiments, jobs: False)
    on_their_way, largest = set(), 0
    steps = in_turn.steps_of_run

    def counted(experiment, options):
        nonlocal largest
        on_their_way.add(experiment.name)
        largest = max(largest, len(on_their_way))
        try:
            return (yield from steps(experiment, options))
        finally:
            on_their_way.remove(experiment.name)

    monkeypatch.setattr(in_turn, "steps_of_run", counted)
    assert len(go(three, tmp_path / "r")) == 3
    assert largest == most


def test_an_error_is_raised_when_all_before_it_are_done(three, tmp_path):
    with Folder(tmp_path / "r", "b").locked():
        with pytest.raises(DpexpError, match="b"):
            go(three, tmp_path / "r")
        assert run(three[0], Options(tmp_path / "r", quiet=True)).reused == 6
        assert not Folder(tmp_path / "r", "c").root.exists()


def test_an_error_gives_up_what_came_after_it_and_keeps_its_chunks(three, tmp_path, monkeypatch):
    kept, has_failed, save = threading.Event(), threading.Event(), partials.save

    def noticed(folder, chunk, done):
        save(folder, chunk, done)
        if chunk.cells[0].run.seed == 2:
            kept.set()

    def before(seed, number):
        if (seed, number) == (1, LAST):
            assert kept.wait(PATIENCE)
            has_failed.set()
            raise MemoryError("no room")
        if seed == 2 and number > 1:
            assert has_failed.wait(PATIENCE)

    Held(monkeypatch, before)
    monkeypatch.setattr(partials, "MOST_LOST_S", 0.0)
    monkeypatch.setattr(partials, "save", noticed)
    with pytest.raises(MemoryError):
        go(three, tmp_path / "r")
    monkeypatch.undo()
    second = Folder(tmp_path / "r", "b")
    assert list(second.partial.glob("*.chunk"))
    assert not second.cells.exists()
    assert [report.computed for report in go(three, tmp_path / "r")] == [6, 6, 6]  # no folder is locked any more


def test_what_is_to_be_said_of_an_experiment_may_fail_too(three, tmp_path):
    def options(experiment):
        if experiment.name == "b":
            raise DpexpError("b cannot be read")
        return Options(tmp_path / "r", 2, quiet=True)

    with pytest.raises(DpexpError, match="b cannot be read"):
        list(run_in_turn(three, options, 2))
    assert Folder(tmp_path / "r", "a").cells.exists()


def test_a_thread_forgets_with_its_group():
    memory = threading.local()

    def task(group):
        kept = getattr(memory, "group", group)
        memory.group = group
        return kept

    with Crew(2) as crew:
        for number in range(40):
            crew.give(number // 10, number, (task, (number // 10,)))
        taken = [crew.take() for _ in range(40)]
    assert all(outcome.result() == group for group, _, outcome in taken)
    assert sorted(number for _, number, _ in taken) == list(range(40))


def test_tasks_that_nobody_has_begun_are_dropped_and_threads_end():
    before, may_go_on, done = set(threading.enumerate()), threading.Event(), []
    both_begun = threading.Barrier(3)  # two threads, and this one

    def task(number):
        both_begun.wait(PATIENCE)
        may_go_on.wait(PATIENCE)
        done.append(number)

    with Crew(2) as crew:
        for number in range(10):
            crew.give(0, number, (task, (number,)))
        both_begun.wait(PATIENCE)
    may_go_on.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert sorted(done) == [0, 1]


def test_what_a_task_raises_reaches_who_takes_it():
    with Crew(1) as crew:
        crew.give(0, 7, (int, ("seven",)))
        group, number, outcome = crew.take()
    assert (group, number) == (0, 7)
    with pytest.raises(ValueError, match="seven"):
        outcome.result()


def test_of_experiments_at_the_same_time_the_first_is_told():
    said = []
    with listening(lambda step, done: said.append((step, done))):
        first, second = Progress("first", 100.0).__enter__(), Progress("second", 200.0).__enter__()
        second.advance(40)
        first.advance(25)
        first.__exit__(None, None, None)
        second.advance(40)  # the time left is that of what was done since it is told
        second.__exit__(None, None, None)
    assert said == [("first: 0%", 0.0), ("first: 25%", 0.25), ("second: 20%", 0.0), ("second: 40%", 0.25)]
