"""Running: the same bits whatever happens, nothing lost, and what is stale is known."""

import json
import re
import signal
import subprocess
import sys
from subprocess import PIPE

import pandas as pd
import pytest

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import DpexpError
from dpexp.problems.linear_losses import HuberLinear
from dpexp.store import partials
from dpexp.store.executors import executed
from dpexp.store.experiment_run import Options, run, run_part
from dpexp.store.folder import Folder
from dpexp.store.planning import plan
from dpexp.store.reading import load_trajectories
from tests.campaigns import faults
from tests.conftest import ROOT, SMALL, call, numbers, share


def go(config, results, *, overrides=(), replicates=None, **options):
    """Run in this process."""
    experiment = load_experiment(config, overrides, replicates)
    report = run(experiment, Options(results, quiet=True, **options))
    return report, Folder(results, experiment.name)


def states(config, results, **options):
    return [(p.status, p.reason) for p in plan(load_experiment(config, **options), results)]


@pytest.fixture
def done(config, tmp_path):
    """The small experiment, computed."""
    _, folder = go(config, tmp_path / "results")
    return folder


def test_nothing_is_done_twice(config, done):
    before = {path: path.stat().st_mtime_ns for path in done.root.rglob("*.parquet")}
    report, _ = go(config, done.root.parent)
    assert (report.computed, report.reused) == (0, 6)
    assert {path: path.stat().st_mtime_ns for path in done.root.rglob("*.parquet")} == before


@pytest.mark.parametrize(
    "way", [{"jobs": 2}, {"jobs": 3}, pytest.param({"jobs": 2, "backend": "loky"}, marks=pytest.mark.slow)], ids=str
)
def test_same_bits_for_any_jobs_and_backend(way, config, done, tmp_path):
    _, folder = go(config, tmp_path / "other", **way)
    assert numbers(folder.root) == numbers(done.root)


def test_same_bits_for_any_chunks(config, done, tmp_path, monkeypatch):
    original = partials.chunks_of
    monkeypatch.setattr(partials, "chunks_of", lambda cells, r: original(cells, r, lanes=3, settings=2))
    _, folder = go(config, tmp_path / "other")
    assert numbers(folder.root) == numbers(done.root)


def test_parts_of_an_array_job_give_the_bits_of_one_run(config, done, tmp_path):
    """In any order, two at once and twice, one of them killed: a later run computes what is missing and publishes."""
    results, experiment = tmp_path / "r", load_experiment(config)
    for k in (3, 1, 3):
        part = run_part(experiment, Options(results, quiet=True), k, 4)
        assert (part.own, part.failed, part.chunks) == (len(range(k - 1, 3, 4)), 0, 3)
    assert part.done == 2
    folder = Folder(results, "small")
    assert not folder.manifest.exists()
    assert "1 of 1" in call("run", config, "--results", results, "--part", "2/4").stdout
    (killed, *_) = folder.partial.glob("*.chunk")
    killed.unlink()
    together = [faults.forked(lambda: run_part(experiment, Options(results, quiet=True), 1, 3)) for _ in "ab"]
    assert [faults.ended(process) for process in together] == [0, 0]
    told = call("run", config, "--results", results).stderr
    assert re.search(r"small: [23] of 3 chunks were finished before", told)
    assert numbers(folder.root) == numbers(done.root)
    assert not folder.partial.exists()
    said = json.loads(call("run", config, "--results", results, "--part", "1/4", "--json").stdout)
    assert said["experiments"] == [{"experiment": "small", "own": 0, "failed": 0, "done": 0, "chunks": 0}]


def test_same_bits_for_a_part_of_the_grid(config, done, tmp_path):
    experiment = load_experiment(config)
    some = frozenset(cell.cell_id for cell in experiment.cells[1::2])
    _, folder = go(config, tmp_path / "other", only=some)
    part = numbers(folder.root)
    assert set(part) == some
    assert part == {name: digest for name, digest in numbers(done.root).items() if name in some}
    _, folder = go(config, tmp_path / "other")  # the rest joins later
    assert numbers(folder.root) == numbers(done.root)
    assert len(pd.read_parquet(folder.cells)) == 6


def test_more_replicates_extend_the_stored_ones_with_the_same_bits(config, done, tmp_path):
    _, folder = go(config, tmp_path / "other", replicates=5)
    assert states(config, tmp_path / "other")[0] == ("incomplete", "5 of 20 replicates")
    go(config, tmp_path / "other")
    report, _ = go(config, tmp_path / "other", replicates=5)
    assert report.reused == 6
    assert numbers(folder.root) == numbers(done.root)


HELD = """
import os, threading
from dpexp.commands import cli
from dpexp.store import partials

kept, lock, begun = threading.Event(), threading.Lock(), []
save, simulate = partials.save, partials.simulate_chunk

def save_and_tell(*arguments):
    save(*arguments)
    kept.set()

def hold(chunk, key):
    with lock:
        begun.append(chunk)
        first = len(begun) == 1
    if not first:
        kept.wait()
        os.write(1, b"one is kept, and another has begun\\n")
        os.read(0, 1)
    return simulate(chunk, key)

partials.save, partials.simulate_chunk = save_and_tell, hold
cli.main()
"""
"""The command; when its first chunk is kept and another has begun it says so, and goes on when its stdin is closed."""


def stopped(arguments, end):
    """The exit code and stderr of a run that got this signal when one of its chunks was kept and another had begun."""
    command = [sys.executable, "-c", HELD, *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdout.readline() == "one is kept, and another has begun\n", process.stderr.read()
        process.send_signal(end)
        _, stderr = process.communicate()
    return process.returncode, stderr


@pytest.mark.slow
@pytest.mark.parametrize("jobs", share([2, 1], 2))
def test_interruption_keeps_finished_chunks_and_the_next_run_goes_on_with_the_same_bits(jobs, config, done, tmp_path):
    """SIGKILL at any moment: tests/store/test_faults.py."""
    arguments, folder = ["run", config, "-j", jobs, "--results", tmp_path / "r"], Folder(tmp_path / "r", "small")
    code, stderr = stopped([*arguments, "-q"], signal.SIGINT)
    assert code == 130
    assert "interrupted; finished chunks are kept" in stderr
    assert "Traceback" not in stderr
    assert len(list(folder.partial.glob("*.chunk"))) == 1
    assert not folder.cells.exists()
    # a run of some cells uses what is finished of these, and leaves what is finished of others
    some = call(*arguments, "--only", "mu=1").stderr
    assert "1 of 3 chunks were finished before" in some
    assert len(list(folder.partial.glob("*.chunk"))) == 1
    assert "1 of 3 chunks were finished before" in call(*arguments).stderr
    assert numbers(folder.root) == numbers(done.root)
    assert not folder.partial.exists()
    assert not list(folder.root.rglob(".*.tmp"))


def test_damaged_files_are_named_and_rebuilt(config, done, capsys):
    before = numbers(done.root)
    victim = sorted((done.root / "trajectories").glob("*.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:500])
    done.summary.write_bytes(b"junk")
    done.cells.write_bytes(b"")
    done.manifest.unlink()
    message = f"{victim.name} is damaged, or another program wrote it (ArrowInvalid)"
    assert ("damaged", message) in states(config, done.root.parent)
    report = run(load_experiment(config), Options(done.root.parent))
    assert report.computed == 1
    assert victim.name in capsys.readouterr().err
    assert numbers(done.root) == before
    assert len(pd.read_parquet(done.cells)) == 6
    assert done.manifest.exists()


def test_cells_that_leave_the_config_are_not_shown_and_come_back(config, done):
    before = numbers(done.root)
    for text, cells in ((SMALL.replace("[1/3, 1/2]", "1/2"), 3), (SMALL, 6)):
        config.write_text(text)
        report, _ = go(config, done.root.parent)
        assert (report.computed, report.reused) == (0, cells)
        assert len(load_trajectories(done.root.parent, "small").cell_id.unique()) == cells
    assert numbers(done.root) == before


def test_a_failing_cell_does_not_stop_the_others(config, tmp_path, monkeypatch, capsys):
    def fail(self):
        if self.d in failing:
            raise RuntimeError("no such weather")
        return original(self)

    original, failing, both = HuberLinear.model, {10}, ["problem.d=[5, 10]"]
    monkeypatch.setattr(HuberLinear, "model", fail)
    run(load_experiment(config, both), Options(tmp_path / "r"))
    assert "small: a cell failed: RuntimeError: no such weather" in capsys.readouterr().err
    cells = pd.read_parquet(tmp_path / "r/small/cells.parquet")
    assert set(cells[cells.status == "failed"].reason) == {"RuntimeError: no such weather"}
    failing = set()
    report, folder = go(config, tmp_path / "r", overrides=both)
    assert (report.computed, report.reused, report.failed) == (6, 6, 0)
    # a failure replaces no good result, whether some or all of what is forced fails
    before = numbers(folder.root)
    for failing in ({10}, {5, 10}):
        report, _ = go(config, tmp_path / "r", overrides=both, force=True)
        assert report.failed == 6 * len(failing)
        assert numbers(folder.root) == before
        assert set(pd.read_parquet(folder.cells).status) == {"done"}


def test_a_cell_that_fails_in_a_shared_pass_fails_alone(config, tmp_path, monkeypatch):
    whole_folder = go(config, tmp_path / "whole")[1]
    original, calls = LdpSgd.simulate, []

    def fail(self, problem, settings, *others):
        calls.append(len(settings))
        if any(schedule.alpha == 0.5 for schedule, _ in settings):
            raise RuntimeError("no such weather")
        return original(self, problem, settings, *others)

    monkeypatch.setattr(LdpSgd, "simulate", fail)
    report, folder = go(config, tmp_path / "r")
    assert calls[0] > 1
    cells = pd.read_parquet(folder.cells)
    assert set(cells[cells.status == "failed"].alpha) == {0.5}
    assert report.computed == len(cells) - report.failed > 0
    ours, theirs = (pd.read_parquet(one.summary) for one in (folder, whole_folder))
    theirs = theirs[theirs.cell_id.isin(ours.cell_id)]
    pd.testing.assert_frame_equal(ours.reset_index(drop=True), theirs.reset_index(drop=True))


@pytest.mark.slow
def test_a_killed_worker_ends_the_run_with_a_hint():
    with pytest.raises(DpexpError, match="was killed") as caught:
        list(executed([(signal.raise_signal, (signal.SIGKILL,))] * 2, 2, "loky"))
    assert "finished chunks are kept" in caught.value.hint
