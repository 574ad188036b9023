"""Whatever a plug-in opens, imports or reads from the environment is in the fingerprint of its cells, or is refused."""

import os
import re
import signal
import sys
import textwrap
from inspect import getattr_static
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from dpexp.config.experiment_file import load_experiment
from dpexp.core.bytecode import altered
from dpexp.core.errors import DpexpError, ResultsMissing, UsageError
from dpexp.plugins import loading as plugins
from dpexp.plugins import observed
from dpexp.problems import mallows
from dpexp.problems.huber_linear import HuberLinear
from dpexp.store import Folder, cell_of, load_generation, partials, simulating
from dpexp.store import run as running
from dpexp.store.executors import loky
from dpexp.store.fingerprint import changed, code_of, plugins_missing
from dpexp.store.planning import plan
from dpexp.store.run import Options, run
from tests.conftest import call, share

PLUGIN = '''\
"""An algorithm whose every number is a value that it finds somewhere."""

import glob
import importlib
import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor as POOL
from contextlib import suppress
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.engine.result import Passed
from dpexp.plugins import Plugin

HERE = Path(__file__).parent


def text(path):
    with open(path) as file:
        return file.read()


def made(path):
    with suppress(FileExistsError), open(path, "x"):
        pass


FIXED = {loading}


def value():
    return {running}


class Found(LdpSgd):
    name: Literal["found"] = "found"
    estimators = ("sgd",)
    metrics = ("param_distance_sq",)

    def simulate(self, problem, settings, steps, seed, replicates):
        values = np.full((len(settings), 1, len(steps), 1, len(replicates)), float(value()))
        return Passed(steps, self.estimators, self.metrics, values)


PLUGIN = Plugin(algorithms={{"found": Found}})
'''
OPTIONAL = """

def number_in(path):
    try:
        return text(path)
    except OSError:
        return 1.5
"""
CONFIG = """\
experiment: toy
problem: {name: huber-linear, d: 2}
algorithm: {name: found}
schedule: {name: power, eta: 0.2, alpha: 1/2}
privacy: {mu: 1}
run: {n: 4, replicates: 2, checkpoints: 1}
"""
WAYS = {
    "a path of parts": '(HERE / "data" / "f.txt").read_text()',
    "os.path.join": 'text(os.path.join(os.path.dirname(__file__), "data", "f" + ".txt"))',
    "an f-string": 'text(f"{HERE}/da{chr(116)}a/f.txt")',
    "glob": 'sum(float(text(name)) for name in glob.glob(str(HERE / "data" / "*.txt")))',
    "listed": 'sum(float((HERE / "data" / name).read_text()) for name in os.listdir(HERE / "data") if name == "f.txt")',
    "os.open": 'os.read(os.open(HERE / "data" / "f.txt", os.O_RDONLY), 99)',
    "beside the folder": '(HERE / ".." / "out" / "f.txt").read_text()',
    "an absolute path": 'text("ROOT/out/f.txt")',
    "exec": 'eval((HERE / "data" / "m.py").read_text().split("=")[1])',
    "sys.path": 'sys.path.insert(0, str(HERE.parent / "out")) or importlib.import_module("far").X',
    "numpy": 'np.loadtxt(HERE / "data" / "f.txt")',
    "pandas": 'pd.read_csv(HERE / "data" / "f.txt", header=None)[0][0]',
    "pandas, past Python": 'pd.read_parquet(HERE / "data" / "f.parquet")["x"][0]',
    "os.environ": 'os.environ["DPEXP_TOY"]',
    "os.getenv": 'os.getenv("DPEXP_TOY", "0")',
    "os.environ.get": 'os.environ.get("DPEXP_TOY")',
    "all of os.environ": 'dict(os.environ)["DPEXP_TOY"]',
    "os.environb": 'os.environb[b"DPEXP_TOY"].decode()',
    "os.path.expandvars": 'os.path.expandvars("$DPEXP_TOY")',
    "a thread that runs a library's function": 'POOL(1).submit(np.loadtxt, HERE / "data" / "f.txt").result()',
    "a variable in such a thread": 'POOL(1).submit(os.getenv, "DPEXP_TOY").result()',
    "data of the loader": '__loader__.get_data(str(HERE / "data" / "f.txt")).decode()',
    "what is appended to": '[open(HERE / "data" / "f.txt", "a").close(), text(HERE / "data" / "f.txt")][1]',
    "what could not be made": '[made(HERE / "data" / "f.txt"), text(HERE / "data" / "f.txt")][1]',
}


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A folder in which everything that can be read says 4.5."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    write(tmp_path, "4.5")
    monkeypatch.setenv("DPEXP_TOY", "4.5")
    yield tmp_path
    sys.modules.pop("far", None)


def write(folder, number):
    files = (
        ("lab/data/f.txt", f"{number}\n"),
        ("out/f.txt", f"{number}\n"),
        ("lab/data/m.py", f"X = {number}"),
        ("out/far.py", f"X = {number}"),
    )
    for name, text in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    pd.DataFrame({"x": [float(number)]}).to_parquet(folder / "lab" / "data" / "f.parquet")
    (folder / "toy.yaml").write_text(CONFIG)


def plug_in(folder, running="FIXED", loading="0"):
    path = folder / "lab" / "lab.py"
    texts = (text.replace("ROOT", str(folder)) for text in (loading, running))
    path.write_text(textwrap.dedent(PLUGIN).format(**dict(zip(("loading", "running"), texts, strict=True))))
    return path


def go(path, **options):
    """Run with the plug-in, as a process of its own would; how many cells were computed."""
    sys.modules.pop("far", None)
    with plugins.using(path):
        return run(load_experiment("toy.yaml"), Options(Path("results"), quiet=True, **options)).computed


def stored(path):
    """The stored number, as a reader finds it."""
    with plugins.using(path):
        (cell,) = load_experiment("toy.yaml").cells
        return float(cell_of(load_generation(Path("results"), "toy"), cell.cell_id).values.ravel()[0])


@pytest.mark.slow
@pytest.mark.parametrize(("way", "when"), share(product(WAYS, ["running", "loading"]), 5))
def test_an_edit_of_what_is_read_makes_cells_stale(lab, monkeypatch, way, when):
    path = plug_in(lab, **{when: WAYS[way]})
    assert go(path) == 1
    assert stored(path) == 4.5
    assert go(path) == 0  # what it reads is as it was
    write(lab, "29.5")
    monkeypatch.setenv("DPEXP_TOY", "29.5")
    with pytest.raises(ResultsMissing, match="changed since"):
        stored(path)
    assert go(path) == 1
    assert stored(path) == 29.5


def test_another_file_in_a_folder_that_is_looked_through_counts(lab):
    path = plug_in(lab, WAYS["glob"])
    go(path)
    (lab / "lab" / "data" / "g.txt").write_text("2")
    assert go(path) == 1
    assert stored(path) == 6.5


def test_another_file_in_a_folder_that_is_open_counts(lab):
    path = plug_in(lab, 'len(os.listdir(os.open(HERE / "data", os.O_RDONLY)))')
    go(path)
    (lab / "lab" / "data" / "g.txt").write_text("2")
    assert go(path) == 1


def test_a_file_that_was_not_there_counts_when_it_comes(lab):
    path = plug_in(lab, 'number_in(HERE / "more")')
    path.write_text(path.read_text() + OPTIONAL)
    go(path)
    assert stored(path) == 1.5
    (lab / "lab" / "more").write_text("2.5")
    assert go(path) == 1
    assert stored(path) == 2.5


def test_what_a_plug_in_does_not_read_does_not_count(lab, monkeypatch):
    """And what it has written itself is its own business."""
    path = plug_in(lab, '[(HERE / "own.txt").write_text("3"), (HERE / "own.txt").read_text()][1]')
    go(path)
    write(lab, "29.5")
    monkeypatch.setenv("DPEXP_TOY", "29.5")
    assert go(path) == 0
    with plugins.using(path):
        (cell,) = load_experiment("toy.yaml").cells
        origin = plan(load_experiment("toy.yaml"), Path("results"))[0].file.code
        assert origin == code_of(cell)


def test_the_place_of_the_folder_does_not_count(lab):
    path = plug_in(lab, WAYS["a path of parts"])
    go(path)
    (lab / "lab").rename(lab / "moved")
    assert go(lab / "moved" / "lab.py") == 0


def test_a_worker_says_what_it_has_read(lab):
    path = plug_in(lab, WAYS["a path of parts"])
    assert go(path, backend="loky", jobs=2) == 1
    assert go(path) == 0
    write(lab, "29.5")
    assert go(path, backend="loky", jobs=2) == 1


def test_a_kept_chunk_of_other_files_is_not_gone_on_with(lab, monkeypatch):
    path = plug_in(lab, WAYS["a path of parts"])
    monkeypatch.setattr(partials, "MOST_LOST_S", 0.0)
    monkeypatch.setattr(running, "publish", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        go(path)
    assert list(Path("results").glob("toy/partial/*"))
    monkeypatch.undo()
    monkeypatch.chdir(lab)
    write(lab, "29.5")
    go(path)
    assert stored(path) == 29.5


def test_a_file_that_changes_after_it_was_read_stops_the_run(lab, monkeypatch):
    path, original = plug_in(lab, WAYS["a path of parts"]), running.simulate

    def meanwhile(*arguments):
        done = original(*arguments)
        write(lab, "29.5")
        return done

    monkeypatch.setattr(running, "simulate", meanwhile)
    with pytest.raises(DpexpError, match=r"data/f\.txt changed while a plug-in was using it"):
        go(path)
    assert not Folder(Path("results"), "toy").manifest.exists()


REFUSED = {
    "a program": ('subprocess.run(["echo", "4"], capture_output=True).stdout', "starts another program"),
    "a shell": ('os.system("true")', "starts another program"),
    "a data base": ('sqlite3.connect(":memory:").execute("select 4").fetchone()[0]', "opens a data base"),
    "a pipe": ('text(HERE / "pipe")', "no ordinary file"),
    "another working folder": ("os.chdir(HERE) or 4", "changes the working folder"),
    "pyarrow": ('__import__("pyarrow") and 4', "opens files of which Python is not told"),
    "pyarrow by its name": ('importlib.import_module("pyarrow") and 4', "opens files of which Python is not told"),
    "an open folder": ('os.open("f.txt", os.O_RDONLY, dir_fd=os.open(HERE / "data", os.O_RDONLY))', "that is open"),
    "workers": ('__import__("joblib") and 4', "opens files of which Python is not told"),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", REFUSED)
def test_what_cannot_be_followed_is_refused_at_its_line(lab, way):
    os.mkfifo(lab / "lab" / "pipe")
    text, said = REFUSED[way]
    message = call("run", "toy.yaml", "--plugin", plug_in(lab, text), cwd=lab, code=1).stderr
    assert re.search(rf"lab\.py:\d+: .*{said}", message)
    with pytest.raises(UsageError, match=rf"lab\.py:\d+: .*{said}"):
        plugins.use(plug_in(lab, loading=text))


def test_libraries_and_dpexp_itself_are_not_followed(lab):
    """What they open for themselves belongs to their versions."""
    path = plug_in(lab, "4")
    with plugins.using(path):
        experiment = load_experiment("toy.yaml")
        run(experiment, Options(Path("results"), quiet=True))
        assert observed.found(code_of(experiment.cells[0])) == {}


BY_TEXT = [
    'importlib.import_module("dpexp.problems.pinball_linear")',
    '__import__("dpexp.problems.pinball_linear", fromlist=["name"])',
    'importlib.import_module(f"dpexp.problems.{chr(112)}inball_linear")',
]


@pytest.mark.parametrize("way", BY_TEXT)
def test_a_module_of_dpexp_that_a_text_names_counts(lab, way):
    """An import statement is followed; a call that imports is not one, so that its text is."""
    for loading, counts in ((way, True), ("0", False)):
        with plugins.using(plug_in(lab, loading=loading)):
            (cell,) = load_experiment("toy.yaml").cells
            assert ("dpexp.problems.pinball_linear" in code_of(cell)) is counts


PATCHES = {
    "a method": "HuberLinear.score = staticmethod(lambda t, y, scale, k: (t - y, 0.0))",
    "a function of a module": "mallows.moment_matrix = lambda *arguments, **options: None",
    "a constant": "simulating.Misshapen = 5",
    "a function of Python": "simulating.len = lambda value: 1",
    "the code of a function": "simulating.releases.__code__ = (lambda cell, replicate: False).__code__",
}
PATCHING = """\
from dpexp.plugins import Plugin
from dpexp.problems import mallows
from dpexp.problems.huber_linear import HuberLinear
from dpexp.store import simulating

{patch}
PLUGIN = Plugin()
"""


@pytest.fixture
def mended(monkeypatch):
    """What the patches put elsewhere is put back."""
    for owner, name in ((HuberLinear, "score"), (mallows, "moment_matrix"), (simulating, "Misshapen")):
        monkeypatch.setattr(owner, name, getattr_static(owner, name))
    code = simulating.releases.__code__
    yield
    simulating.releases.__code__ = code
    vars(simulating).pop("len", None)


@pytest.mark.parametrize("patch", PATCHES)
def test_a_plug_in_that_only_changes_dpexp_leaves_a_trace(lab, mended, patch):
    """It offers nothing that a cell could name, and every number may be another for it."""
    (lab / "toy.yaml").write_text(CONFIG.replace("{name: found}", "{name: ldp-sgd}"))
    path = lab / "lab" / "patch.py"
    path.write_text(PATCHING.format(patch="pass"))
    with plugins.using(path):
        (cell,) = load_experiment("toy.yaml").cells
        before = code_of(cell)
        assert not any(":" in name for name in before)
    path.write_text(PATCHING.format(patch=PATCHES[patch]))
    with plugins.using(path):
        after = code_of(cell)
    assert "patch.py of the plug-in patch.py" in changed(before, after)
    assert {name: after[name] for name in before} == before  # the code of the cell itself is as it was
    assert plugins_missing([after]) == ["patch.py"]


def test_dpexp_that_is_changed_while_cells_run_is_refused(lab, mended):
    patch = (
        "__import__('dpexp.store.simulating').store.simulating.__dict__.update(len=lambda value: value.__len__()) or 4"
    )
    with pytest.raises(DpexpError, match=r"changed dpexp\.store\.simulating\.len while it ran"):
        go(plug_in(lab, patch))


def test_nothing_of_dpexp_is_altered_by_dpexp():
    assert not [name for name in altered() if "test" not in name]


def test_a_variable_that_a_plug_in_sets_is_its_own(lab, monkeypatch):
    monkeypatch.delenv("DPEXP_TOY")
    path = plug_in(lab, 'os.environ.update(DPEXP_TOY="3") or os.environ["DPEXP_TOY"]')
    assert go(path) == 1
    monkeypatch.delenv("DPEXP_TOY", raising=False)
    assert go(path) == 0


def test_a_plug_in_is_found_where_it_was_wherever_the_process_goes(lab):
    """By a relative path, which means another file afterwards."""
    plug_in(lab, "4").write_text("from dpexp.plugins import Plugin\nPLUGIN = Plugin()\n")
    call("list", "--plugin", "lab/lab.py", cwd=lab)
    plug_in(lab, loading="os.chdir(HERE)")
    message = call("list", "--plugin", "lab/lab.py", cwd=lab, code=2).stderr
    assert "unexpected" not in message
    assert "changes the working folder" in message


def test_processes_of_loky_do_not_hear_an_interrupt():
    """A terminal sends it to all of them: those that start would each show a traceback."""
    asked = [(signal.pthread_sigmask, (signal.SIG_BLOCK, ()))] * 2
    assert all(signal.SIGINT in mask for _, mask in loky(asked, 2))
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
