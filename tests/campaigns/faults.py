"""The fault campaign: whatever happens to a run or to its files, nothing false is shown as current.

Every case breaks something, and then asks two questions. Does every reader give the numbers of an uninterrupted run, or
refuse and name the command that helps? And does that command, run once, give the same bits as an uninterrupted run?

`python -m tests.campaigns.faults` runs all of it (`make soak`); the test suite runs a share. Faults are injected into
forked children of one process that has compiled the kernels.
"""

import argparse
import builtins
import contextlib
import errno
import io
import itertools
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from functools import wraps
from pathlib import Path

import numpy as np

from dpexp.algorithms.schedules import Power
from dpexp.commands.released_model import released_model
from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import DpexpError, ResultsMissing, UsageError
from dpexp.core.files import hash_of_data
from dpexp.core.text import standard_json
from dpexp.engine.linear import linear_pass
from dpexp.problems import softmax
from dpexp.store import experiment_run as running
from dpexp.store import fingerprint, reading
from dpexp.store.experiment_run import Options, run
from dpexp.store.folder import Folder
from dpexp.store.reading import load_cells, load_generation, load_summary

CONFIG = """\
experiment: toy
problem: {{name: huber-linear, d: 5}}
schedule: {{name: power, eta: {eta}, alpha: [1/3, 1/2]}}
privacy: {{mu: [1, inf]}}
run: {{n: 40, replicates: {replicates}, seed: 3, checkpoints: 4}}
"""
DATA_CONFIG = """\
experiment: toy
problem: {name: softmax, regulariser: 1e-2, data: {path: people.csv, target: y, ranges: {a: [-3, 3], b: [-3, 3], c: [-3, 3]}, categories: {y: [no, yes, noo]}, records: 60}}
algorithm: {name: dp-sgd, batch_size: 8, epochs: 2}
schedule: {name: constant, eta: 0.1}
privacy: {eps: [1, 4], delta: 1e-5}
run: {replicates: 2, seed: 3, checkpoints: 2, release: first}
"""
EXPERIMENT = "toy"


def people():
    """A small table of records."""
    draws = np.random.default_rng(0)
    rows = [[f"{x:.3f}" for x in draws.normal(size=3)] + ["yes" if k % 3 else "no"] for k in range(60)]
    return "\n".join(["a,b,c,y", *(",".join(row) for row in rows)]) + "\n"


class World:
    """A folder with a config, results, and a state of the code, before and after a change."""

    def __init__(self, root, scenario):
        self.root, self.scenario, self.results = root, scenario, root / "results"

    def write(self, changed):
        """The files of the first, undisturbed run, or those of the disturbed run and of readers."""
        os.chdir(self.root)
        change = self.scenario if changed else ""
        if self.scenario in OWN_RECORDS:
            (self.root / "people.csv").write_text(people())
            (self.root / "toy.yaml").write_text(DATA_CONFIG)
        else:
            eta, replicates = 0.3 if change == "config changed" else 0.2, 12 if change == "extend" else 4
            (self.root / "toy.yaml").write_text(CONFIG.format(eta=eta, replicates=replicates))
        new_code(change == "code changed")
        hash_of_data.cache_clear()
        softmax.split_of.cache_clear()

    def run(self):
        options = Options(Path("results"), jobs=1, quiet=True, force=self.scenario == "force")
        with contextlib.redirect_stderr(io.StringIO()):
            report = run(load_experiment(Path("toy.yaml")), options)
        assert not report.failed, report.cells


_STEP_SIZES = Power.step_sizes
_OF_ROOMS = fingerprint.code_of_rooms


def code_after(edit):
    """What `fingerprint.code_of_rooms` gives after this edit of every room."""

    def of_rooms(rooms):
        return " ".join(f"{edit}{one}" for one in _OF_ROOMS(rooms).split())

    of_rooms.cache_clear = _OF_ROOMS.cache_clear
    return of_rooms


def new_code(changed):
    """Let the schedule's code be another one: other numbers, and another hash of its module."""

    def longer(self, first, count):
        return 1.5 * _STEP_SIZES(self, first, count)

    Power.step_sizes = longer if changed else _STEP_SIZES
    fingerprint.code_of_rooms = code_after("new") if changed else _OF_ROOMS
    linear_pass.schedule_sizes.cache_clear()  # a process that begins after the edit remembers no step sizes


def models():
    """Everything that is released, as `dpexp predict` shows it."""
    found, cells = [], load_generation(Path("results"), EXPERIMENT).manifest["cells"]
    for cell_id, estimator, replicate in itertools.product(cells, ("last", "average"), range(2)):
        with contextlib.suppress(UsageError):  # this is not released
            model = released_model(EXPERIMENT, Path("results"), cell_id, estimator, replicate)
            found.append(standard_json(model.document()))
    return "".join(found).encode()


READERS = {
    "cells": lambda: load_cells(Path("results"), EXPERIMENT).to_csv().encode(),
    "parameters": lambda: str(load_generation(Path("results"), EXPERIMENT).manifest["cells"]).encode(),
    "summary": lambda: load_summary(Path("results"), EXPERIMENT).to_csv().encode(),
    "trajectories": lambda: reading.load_trajectories(Path("results"), EXPERIMENT).to_csv().encode(),
    "models": models,
}


def picture():
    """Every number that readers can be shown, as bytes, by reader."""
    return {name: read() for name, read in READERS.items()}


def forked(work):
    """Begin the work in a forked process: its number. It ends with 0, or with 3 where the work is refused."""
    if pid := os.fork():
        return pid
    code = 1
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            work()
        code = 0
    except (DpexpError, OSError):
        code = 3
    finally:
        os._exit(code)


def ended(pid):
    """The exit code of a forked process, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Verdicts(Counter):
    """Outcomes of a kind of fault."""

    def judge(self, world, allowed):
        """Ask the readers, run once more, and ask again; `allowed` holds the true pictures, the last one final."""
        final, outcome = allowed[-1], "refused"
        for name, read in READERS.items():
            try:
                shown = read()
            except ResultsMissing as error:
                if not error.hint.startswith("run: dpexp run"):
                    outcome = "no command"
                continue
            except Exception:
                outcome = "unexpected error"
                continue
            if not any(shown == truth[name] for truth in allowed):
                outcome = "SILENT"
                break
            outcome = "shown, and right" if outcome == "refused" else outcome
        try:
            world.run()
            repaired = picture() == final
        except Exception as error:
            print(f"    not repaired: {type(error).__name__}: {error}", file=sys.stderr)
            repaired = False
        self[outcome] += 1
        self["repaired" if repaired else "NOT REPAIRED"] += 1

    @property
    def bad(self):
        return sum(self[name] for name in ("SILENT", "NOT REPAIRED", "no command", "unexpected error"))


OWN_RECORDS = ("own records",)
"""scenarios on a table, whose runs release parameters; readers open neither its records nor its config"""
SCENARIOS = ("fresh", "force", "extend", "code changed", "config changed", *OWN_RECORDS)


@contextlib.contextmanager
def scenario(name):
    """A world in which the second run is to come, its true pictures, and a way to start over."""
    here, root = Path.cwd(), Path(tempfile.mkdtemp(prefix="dpexp-faults-"))
    world, kept, allowed = World(root, name), root / "kept", []
    try:
        world.write(changed=False)
        if name not in ("fresh", *OWN_RECORDS):
            world.run()
            if name in ("extend", "config changed"):
                # what the config asked for before is true as well, and readers open no config: a result says its own
                allowed.append(picture())
            shutil.copytree(world.results, kept)
        world.write(changed=True)
        world.run()
        allowed.append(picture())

        def again():
            shutil.rmtree(world.results, ignore_errors=True)
            if kept.exists():
                shutil.copytree(kept, world.results)

        yield world, allowed, again
    finally:
        new_code(False)
        os.chdir(here)
        shutil.rmtree(root, ignore_errors=True)


def judged(disturb):
    """A function of the scenario's name that judges its world after each of the disturbances, which know how to start over."""

    @wraps(disturb)
    def whole(name, *arguments):
        verdicts = Verdicts()
        with scenario(name) as (world, allowed, again):
            for _ in disturb(world, again, *arguments):
                verdicts.judge(world, allowed)
        return verdicts

    return whole


OPERATIONS = ("replace", "rename", "unlink", "mkdir", "fsync")


def instrument(at, room=None):
    """Die before file operation `at`, in the middle of it if it writes; or fail beyond `room` bytes."""
    count = itertools.count(1)
    written = 0

    def before(write=lambda: None):
        if next(count) == at:
            write()
            os._exit(9)

    def counted(original):
        def replaced(*arguments, **options):
            before()
            return original(*arguments, **options)

        return replaced

    for name in OPERATIONS:
        setattr(os, name, counted(getattr(os, name)))
    open_file = io.open

    class Counting:
        def __init__(self, handle):
            self._handle = handle

        def write(self, data):
            nonlocal written
            half = data[: len(data) // 2]
            before(lambda: (self._handle.write(half), self._handle.flush()))
            written += len(data)
            if room is not None and written > room:
                self._handle.write(half)
                raise OSError(errno.ENOSPC, "No space left on device")
            return self._handle.write(data)

        def writelines(self, pieces):
            for piece in pieces:
                self.write(bytes(piece) if isinstance(piece, memoryview) else piece)

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            self._handle.close()

        def __getattr__(self, name):
            return getattr(self._handle, name)

    def opened(file, mode="r", *arguments, **options):
        handle = open_file(file, mode, *arguments, **options)
        mine = isinstance(file, str | os.PathLike) and "results" in Path(file).parts
        return Counting(handle) if mine and set(mode) & set("wax+") else handle

    io.open = builtins.open = opened


@judged
def crashes(world, again, every=1):
    """A crash at every (or every so many-th) file operation of the second run."""
    for k in itertools.count(1, every):
        again()
        code = ended(forked(lambda: (instrument(k), world.run())))  # noqa: B023
        if code == 0:  # it has no more operations than that
            return
        assert code == 9, code
        yield code


@judged
def full_disk(world, again, sizes):
    """The disk is full after so many bytes, from nothing to all of them."""
    total = sum(path.stat().st_size for path in world.results.rglob("*") if path.is_file())
    for k in range(sizes):
        again()
        yield ended(forked(lambda: (instrument(None, total * k // sizes), world.run())))  # noqa: B023


@judged
def kills(world, again, times):
    """SIGKILL at a random moment of the second run."""
    again()
    draws, begin = random.Random(0), time.monotonic()
    assert ended(forked(world.run)) == 0
    length = time.monotonic() - begin
    for _ in range(times):
        again()
        pid = forked(world.run)
        time.sleep(draws.uniform(0, length))
        os.kill(pid, signal.SIGKILL)
        yield ended(pid)


PLACES = {
    "manifest": "manifest.json", "cells": "cells.parquet", "summary": "summary.parquet",
    "trajectory": "trajectories/*.parquet", "model": "models/*.parquet", "chunk": "partial/*.chunk",
}  # fmt: skip
"""kind of file -> where it lies in the folder of an experiment"""


def damage(data, draws):
    """One of: a flipped bit, a changed block, a cut end, bytes added at the end or in the middle."""
    way, at = draws.randrange(5), draws.randrange(len(data))
    changed = bytearray(data)
    if way == 0:
        changed[at] ^= 1 << draws.randrange(8)
    elif way == 1:
        changed[at : at + 64] = bytes(255 - b for b in changed[at : at + 64])
    elif way == 2:
        del changed[at:]
    else:
        place = len(changed) if way == 3 else at
        changed[place:place] = draws.randbytes(1 + draws.randrange(40))
    return bytes(changed)


@judged
def damages(world, again, kind, times):
    """Random damage to one file of a finished result; to a kept chunk of an unfinished one."""
    draws = random.Random(kind)

    def killed_before_publishing():
        running.publish = lambda *_: os._exit(9)
        world.run()

    for _ in range(times):
        if kind == "chunk":
            again()
            assert ended(forked(killed_before_publishing)) == 9
        path = draws.choice(sorted(Folder(world.results, EXPERIMENT).root.glob(PLACES[kind])))
        yield path.write_bytes(damage(path.read_bytes(), draws))


@judged
def foreign_files(world, _):
    """Copies of another cell's, another experiment's and another generation's files, and files that have gone."""
    new, old, here = (world.root / name / EXPERIMENT for name in ("new", "kept", "results"))
    shutil.copytree(here, new)
    first, second = (f"trajectories/{path.name}" for path in sorted((new / "trajectories").glob("*.parquet"))[:2])
    alone = "manifest.json", "cells.parquet", "summary.parquet", first
    older = [[name] for name in alone] + [[name, "summary.parquet"] for name in ("cells.parquet", "manifest.json")]
    older.append(list(alone[:3]))  # as of a run that died when it had written trajectories
    swaps = [[(new / second, first)], *([(old / name, name) for name in names] for names in older)]
    swaps += [[(None, name)] for name in alone]
    for swap in swaps:
        shutil.rmtree(here)
        shutil.copytree(new, here)
        for source, name in swap:
            (here / name).unlink()
            if source is not None:
                shutil.copy(source, here / name)
        yield


@judged
def two_writers(world, again, times):
    """Two runs that start within milliseconds of each other; one may be told to wait."""
    draws = random.Random(0)
    for _ in range(times):
        again()
        pids = []
        for _ in range(2):
            pids.append(forked(world.run))
            time.sleep(draws.uniform(0, 0.1))
        codes = [ended(pid) for pid in pids]
        assert 0 in codes, codes
        yield codes


def reader_and_writer(seconds):
    """A process that rewrites the results all the time, back and forth, beside one that reads them."""
    verdicts = Verdicts()
    with scenario("extend") as (world, allowed, again):
        again()
        kept, folder = world.root / "kept" / EXPERIMENT, world.results / EXPERIMENT

        def back_and_forth():
            while True:
                world.run()
                for path in sorted((kept / "trajectories").glob("*.parquet")):
                    shutil.copy(path, folder / ".part")
                    (folder / ".part").replace(folder / "trajectories" / path.name)

        pid = forked(back_and_forth)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                shown = READERS["summary"]()
            except ResultsMissing:
                verdicts["refused"] += 1
                continue
            right = any(shown == truth["summary"] for truth in allowed)
            verdicts["shown, and right" if right else "SILENT"] += 1
        os.kill(pid, signal.SIGKILL)
        ended(pid)
        verdicts.judge(world, allowed)
    return verdicts


def warm_up():
    """Compile everything once, so that forked children do not."""
    for name in ("fresh", "own records"):
        with scenario(name):
            pass


def main():
    """The whole campaign, or one part in `share` of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=int, default=1, help="run one part in so many")
    share, total = parser.parse_args().share, Verdicts()
    warm_up()
    parts = [(foreign_files, "extend"), (two_writers, "extend", max(1, 40 // share)), (reader_and_writer, 30 / share)]
    for name in SCENARIOS:
        parts += [(crashes, name, share), (kills, name, max(1, 40 // share)), (full_disk, name, max(1, 50 // share))]
    for kind in PLACES:
        parts += [(damages, "own records" if kind == "model" else "fresh", kind, max(2, 200 // share))]
    for part, *arguments in parts:
        found = part(*arguments)
        print(f"{part.__name__} {arguments} {dict(found)}", flush=True)
        total.update(found)
    print(f"\nin all: {dict(total)}")
    return 1 if total.bad else 0


if __name__ == "__main__":
    sys.exit(main())
