"""What `run --dry-run` says of the time, beside what a run takes."""

import json
import resource
import time
import tracemalloc
from dataclasses import replace
from threading import Thread

import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.finite_sum_run import drawn_order
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.commands import run as command
from dpexp.config.experiment_file import load_experiment
from dpexp.core.terminal import compiling
from dpexp.inference.users import BLOCK
from dpexp.privacy.budgets import Target
from dpexp.problems import PROBLEMS
from dpexp.store import planning, run
from dpexp.store.partials import Chunk
from dpexp.store.run import Report
from dpexp.store.simulating import Done
from tests.conftest import AT_LENGTH, installed

LINEAR = """\
experiment: timed
problem: {name: huber-linear, d: 5}
schedule: {name: power, eta: 0.2, alpha: [1/3, 1/2, 1]}
privacy: {mu: [1, 2, inf]}
run: {n: 20000, replicates: 40, seed: 1, checkpoints: 20}
"""
RECORDS = """\
experiment: timed
problem: {name: softmax, data: {name: digits}}
algorithm: {name: dp-sgd, batch_size: 100, epochs: 20}
schedule: {name: langevin, decreasing: false}
privacy: {eps: [1, 4], delta: 1e-5}
run: {replicates: 10, seed: 1, checkpoints: 2}
"""


@pytest.mark.skipif(not AT_LENGTH, reason="a shared machine gives no steady times: make soak")
@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False], ids=["compiled before", "compiles"])
@pytest.mark.parametrize("text", [LINEAR, RECORDS], ids=["linear", "records"])
def test_estimates_are_right_within_a_factor_of_two(tmp_path, text, kept):
    """Held against the processor's time of one worker, which other programs on the machine hardly change."""
    (tmp_path / "timed.yaml").write_text(text)
    env = {"DPEXP_CACHE": str(tmp_path / "kernels"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    words = ("run", "timed.yaml", "--jobs", "1", "--json")
    if kept:
        installed(*words, "--results", "before", cwd=tmp_path, env=env)
    said = json.loads(installed(*words, "--dry-run", cwd=tmp_path, env=env).stdout)["estimate_s"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    installed(*words, cwd=tmp_path, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
    assert said / 2 < took < 2 * said, (said, took)


def test_estimates_come_from_what_was_done_last(tmp_path, monkeypatch):
    """The factor of the same work first, then of its algorithm; of little work nothing is learned for longer work."""
    monkeypatch.setenv("DPEXP_CACHE", str(tmp_path))
    same, alike = ("linear, 20 settings", "ldp-sgd"), ("linear, 9 settings", "ldp-sgd")
    assert planning.factor(planning.factors(), same) == 1
    # the first chunk compiles: 9 seconds in place of 1.5 change nothing
    assert planning.learn([(same, 9.0, 0.5), *[(same, 1.5, 0.5)] * 4]) == pytest.approx(7.5)
    assert planning.factor(planning.factors(), same) == planning.factor(planning.factors(), alike) == 3
    assert planning.learn([(alike, 0.1, 0.001)]) == pytest.approx(0.001)
    assert planning.factor(planning.factors(), alike) == 3
    # the very same takes as long again, but what is like it may be longer
    assert planning.learn([(alike, 0.4, 0.001)]) == pytest.approx(0.4)
    assert [planning.factor(planning.factors(), of) for of in (alike, alike[1:])] == [400, 3]
    planning.learn([(alike, 0.1, 0.4)])
    assert [planning.factor(planning.factors(), of) for of in (same, alike, alike[1:])] == [3, 0.25, 0.25]
    # an estimate of a plug-in may be none
    assert planning.learn([(("mine", "its kind"), 9.0, 0.0)]) == 0
    assert "mine" not in planning.factors()
    (tmp_path / "speeds" / "factors.json").write_text('{"ldp-sgd": "x"')
    assert planning.factors() == {}


def test_many_settings_teach_of_more(tmp_path, monkeypatch):
    """Of 64 settings it is told what 20 took; three, for which random numbers count, are told as before."""
    monkeypatch.setenv("DPEXP_CACHE", str(tmp_path))
    (tmp_path / "timed.yaml").write_text(LINEAR)
    (tmp_path / "longer.yaml").write_text(LINEAR.replace("n: 20000", "n: 900000").replace("d: 5", "d: 9"))
    (cell, *_), (longer, *_) = (load_experiment(tmp_path / f"{name}.yaml").cells for name in ("timed", "longer"))
    planning.learn([(planning.kinds(cell, 20), 1.5, 5.0)])
    known = planning.factors()
    assert [planning.factor(known, planning.kinds(longer, settings)) for settings in (64, 16, 3)] == [0.3, 0.3, 1]
    # the very same work is of one length: what is done once counts more in a shorter one
    assert planning.kinds(cell, 20)[0] != planning.kinds(replace(cell, run=cell.run.model_copy(update={"n": 7})), 20)[0]


def test_what_compiling_took_is_not_learned(tmp_path, monkeypatch):
    """Of seven seconds of a chunk five went into compiling: two are told the next time."""
    (tmp_path / "timed.yaml").write_text(LINEAR)
    cells = load_experiment(tmp_path / "timed.yaml").cells[:2]
    now = [100.0]
    monkeypatch.setattr(time, "thread_time", lambda: now[0])

    def compiles(*_):
        for busy, seconds in ((True, 4.0), (False, 1.0), (True, 1.0), (False, 1.0)):
            compiling.tell(busy)
            now[0] += seconds
        # another thread's is no part of it
        other = Thread(target=lambda: (compiling.tell(True), now.__setitem__(0, 900.0), compiling.tell(False)))
        other.start()
        other.join()
        return Done(None, 7.0 / len(cells))

    monkeypatch.setattr(run, "simulate", compiles)
    done, _ = run.simulate_chunk(Chunk(cells, (0,)))
    assert done.wall_s * len(cells) == pytest.approx(2.0)


@pytest.mark.parametrize("compiles", [True, False])
def test_only_a_run_that_kept_no_new_kernel_teaches_what_is_beside_it(tmp_path, monkeypatch, compiles):
    """Its compiling and what it imported for that are not done again."""
    monkeypatch.setenv("DPEXP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    (tmp_path / "cache" / "before").write_text("a kernel")
    (tmp_path / "timed.yaml").write_text(LINEAR)
    experiment, learned = load_experiment(tmp_path / "timed.yaml"), []

    def reports(*_):
        if compiles:
            (tmp_path / "cache" / "new").write_text("a kernel")
        yield Report("timed", tmp_path, computed=len(experiment.cells))

    monkeypatch.setattr(command, "_reports", reports)
    monkeypatch.setattr(command, "learn", learned.extend)
    command.run_all([experiment], command.Request(results=tmp_path, quiet=True))
    assert [kinds for kinds, _, _ in learned] == [] if compiles else [planning.kinds_beside(experiment.cells)]


@pytest.mark.parametrize(
    ("algorithm", "problem", "least"),
    [
        # the order of the records and the step sizes are an integer and a float a step
        ("tree-momentum", PROBLEMS["rippled-mean"](), {"n": 16}),
        ("staged-newton", PROBLEMS["huber-linear"](), {"n": 8}),
        # iterate and average of eight replicates: p = 7 numbers, six that are measured of them, and four metrics
        (
            "ldp-sgd",
            PROBLEMS["huber-linear"](d=5),
            {"checkpoints": 2 * 8 * 2 * 8 * 17, "settings": 10 * 8 * 2 * 8 * 17},
        ),
        # weights of every setting at every checkpoint: 10 classes, 65 columns of four bytes
        ("dp-sgd", PROBLEMS["softmax"](data={"name": "digits"}), {"settings": 10 * 10 * 65 * 4, "checkpoints": 5200}),
    ],
)
def test_memory_has_room_for_what_grows_with_the_run(algorithm, problem, least):
    """The arrays that a run keeps, counted by hand; the slow test measures what it takes in all."""
    sizes = {"n": 20_000, "checkpoints": 10, "settings": 2}
    before = ALGORITHMS[algorithm]().memory(problem, **sizes)
    for size, bytes_of_one in least.items():
        grown = ALGORITHMS[algorithm]().memory(problem, **sizes | {size: sizes[size] + 100}) - before
        assert grown >= 100 * bytes_of_one, size


def test_memory_of_intervals_has_room_for_the_products_of_a_block_of_users():
    """Of 480 users of eight replicates each, p covariates three times and p^2 products."""

    small, large = (PROBLEMS["huber-linear"](d=d) for d in (5, 20))
    for name in ("staged-newton", "path-intervals"):
        algorithm = ALGORITHMS[name]()
        least = 8 * 8 * BLOCK * (3 * (large.p - small.p) + large.p**2 - small.p**2)
        assert algorithm.memory(large, 20_000, 5, 1) - algorithm.memory(small, 20_000, 5, 1) >= least


def test_memory_of_square_root_noise_has_room_for_the_noise_of_every_parameter():
    """It is drawn for the whole run at once: n numbers for each of d parameters."""

    n = 4_000
    for d in (10, 200):
        problem = PROBLEMS["rippled-mean"](N=100, d=d)
        tree = ALGORITHMS["tree-momentum"](order="fixed").memory(problem, n, 5, 1)
        whole = ALGORITHMS["tree-momentum"](design="square-root", order="fixed").memory(problem, n, 5, 1)
        assert whole - tree >= 8 * n * d


def test_memory_of_reduced_momentum_has_room_for_the_split_of_its_noise():
    """What tracemalloc sees while an order is drawn and its noise is split, and the two lengths that it grows between."""

    problem, algorithm = PROBLEMS["rippled-mean"](N=50, d=3), ALGORITHMS["reduced-momentum"](order="reshuffled")
    peaks, estimates, sizes = [], [], (200, 20_000, 60_000)
    for steps in sizes:  # the first one imports and compiles
        plan = algorithm.plan(problem, SCHEDULES["path-length"](length=2.0), Target(eps=1.0, delta=1e-5), steps)
        tracemalloc.start()
        try:
            order = drawn_order(1, 0, 50, steps, "reshuffled")
            algorithm.unit_stds(problem, plan, Target(eps=1.0, delta=1e-5), order)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        estimates.append(algorithm.memory(problem, steps, 5, 1))
    grown = peaks[2] - peaks[1]
    assert grown <= estimates[2] - estimates[1] <= 4 * grown
    assert peaks[2] <= estimates[2]
