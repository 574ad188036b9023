"""Shared helpers: the installed command, small configs, hashes of stored numbers."""

from __future__ import annotations

import gc
import hashlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import zlib
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from dpexp.config.shipped import shipped
from dpexp.store import fingerprint
from dpexp.store.folder import read_document, write_document
from tests.toy_experiments import ToyExperiments

ROOT = Path(__file__).parent.parent
KERNELS = f"dpexp-tests-{os.getuid()}-{hashlib.sha256(os.fsencode(ROOT.resolve())).hexdigest()[:12]}"
"""the folder of this user and this checkout under the temporary directory"""


def pytest_configure():
    """Compiled kernels lie in one folder for all workers and for the commands that tests start.

    It is kept, so that a second session compiles nothing: what is stored there is found by all that it depends on
    (`dpexp.engine.compiled`). Tests never read or fill the cache of the user. With several workers this runs in the
    process that starts them, and they inherit the variable. It runs before any module that compiles is imported.
    """
    folder = os.environ.setdefault("DPEXP_CACHE", str(Path(tempfile.gettempdir()) / KERNELS))
    if folder.startswith("/"):  # not one of the words that say: keep nothing
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)


def pytest_sessionstart():
    """Linear algebra on one thread, as in every worker of a run: two would wait for each other on two cores."""
    import scipy.linalg  # noqa: F401 - it brings a library of its own, which has to be there
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """No search for garbage among what is imported, which stays: neither now, where it takes a third of the time, nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def using(*paths):
    """The plug-ins of these files for a while."""
    from dpexp.plugins.loaded import LOADED
    from dpexp.plugins.loading import forget, use

    before = set(LOADED)
    try:
        for path in paths:
            use(path)
        yield
    finally:
        for name in set(LOADED) - before:
            forget(name)


@pytest.fixture(autouse=True)
def forget_plugins():
    """Every test begins without plug-ins, as a new process does: readers of stored results load those of research/."""
    with using():
        yield


os.environ.pop("COLUMNS", None)  # workers of a parallel run have one, and tables would be folded to it
AT_LENGTH = os.environ.get("DPEXP_TESTS") == "all"
"""whether everything is tried, as by `make soak`, and not the share for which `make test` has time"""
at_length = pytest.mark.skipif(not AT_LENGTH, reason="make soak tries it: it takes a quarter of a minute or more")
COSTLY = frozenset() if AT_LENGTH else frozenset(
    {
        "momentum_grid", "momentum_large", "momentum_tuned", "momentum_tuned_d", "momentum_tuned_eps",
        "dp_sgld_tuned_adult", "dp_sgld_tuned_fashion", "dp_sgld_chosen",
        "dp_sgld_table1", "dp_sgld_table3", "momentum_adult", "coverage_caps", "coverage_paths", "coverage_paths_logistic",
    }
)  # fmt: skip
"""experiments whose toy results take several seconds of a processor each: hundreds of settings, or many records"""


def in_share(name: str, one_of: int = 4) -> bool:
    """Whether something is among those that are always tried: one of so many, by its name, the same in every run."""
    return AT_LENGTH or zlib.crc32(name.encode()) % one_of == 0


def share(cases, one_of: int = 3):
    """Some of many alike cases, in equal distances and the same in every run; `make soak` tries all."""
    return list(cases)[:: 1 if AT_LENGTH else one_of]


def mostly_slow(cases, one_of=4):
    """All of many alike cases, of which `make check` tries some, in equal distances and the same in every run."""
    return [case if k % one_of == 0 else pytest.param(case, marks=pytest.mark.slow) for k, case in enumerate(cases)]


LONGEST = (
    "test_docs.py", "papers/test_claims.py", "reporting/test_figures_of_any_result.py", "papers/test_figures_and_tables.py",
    "conformance/test_conformance.py", "reporting/test_audit.py", "data/test_neighbouring_files.py", "store/test_runner.py",
    "commands/test_approved.py", "commands/test_fit.py", "privacy/test_statements_agree.py", "store/test_cluster.py",
)  # fmt: skip
"""files that take longest, to be begun first: a file's tests stay with one worker, for which the other would wait"""


def pytest_collection_modifyitems(items):
    def place(item):
        name = item.path.relative_to(ROOT / "tests").as_posix()
        return LONGEST.index(name) if name in LONGEST else len(LONGEST)

    items.sort(key=place)


COMMAND = Path(sys.executable).parent / "dpexp"

# d is that of the shipped configs wherever it does not matter: a kernel is compiled for each d, in seconds, and kept
SMALL = """experiment: small
problem: {name: huber-linear, d: 5}
schedule: {eta: 0.2, alpha: [1/3, 1/2]}
privacy: {mu: [1, {uniform: [1, 2]}, inf]}
run: {n: 700, replicates: 20, seed: 3, checkpoints: 12}
"""


def installed(*arguments, code=0, cwd=None, env=None, timeout=300):
    """Run the installed command in a process of its own; its exit code must be `code`.

    It takes a second to start, so this is for signals, workers and the environment; `call` answers the same in no time.
    """
    return checked(
        subprocess.run(
            [COMMAND, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=cwd or ROOT,
            env={**os.environ, **(env or {})},
            timeout=timeout,
        ),
        code,
    )


def call(*arguments, code=0, cwd=None, env=None):
    """What the command prints, from its entry point on, in this process; its exit code must be `code`, if one is given.

    Arguments and streams are as `installed` has them; plug-ins are forgotten after it.
    """
    from dpexp.commands import cli
    from dpexp.core.files import hash_of_data
    from dpexp.problems import softmax
    from dpexp.store import reading

    for kept in (softmax.split_of, hash_of_data, reading.say_once):
        kept.cache_clear()  # of the user's files: a new process has read none, and has said nothing

    words = ["dpexp", *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    handler, arguments_before = signal.getsignal(signal.SIGINT), sys.argv
    sys.argv = words
    try:
        with patch.dict(os.environ, env or {}), chdir(cwd or ROOT), redirect_stdout(out), redirect_stderr(err), using():
            try:
                cli.main()
                status = 0
            except SystemExit as end:
                status = end.code or 0
    finally:
        sys.argv = arguments_before
        signal.signal(signal.SIGINT, handler)
    return checked(subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue()), code)


def invoked(*arguments):
    """What a command prints, its exit code, and the exception that it raised before anything makes a message of it."""
    from dpexp.commands.cli import parser

    out, err, exception = io.StringIO(), io.StringIO(), None
    with redirect_stdout(out), redirect_stderr(err):
        try:
            parser().main([*map(str, arguments)], prog_name="dpexp")
        except (SystemExit, Exception) as error:
            exception = error
    code = exception.code if isinstance(exception, SystemExit) else 1
    return SimpleNamespace(stdout=out.getvalue(), stderr=err.getvalue(), exit_code=code, exception=exception)


def checked(result, code):
    """The exit code is the wanted one (None: any), and no traceback or terminal code is shown."""
    assert code is None or result.returncode == code, result.stdout + result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    assert "\x1b[" not in result.stdout + result.stderr
    assert "\r" not in result.stdout + result.stderr
    return result


def forget_code():
    """Let this process read code anew, after an edit."""
    for cached in (fingerprint.code_of_rooms, fingerprint.files_of_rooms, fingerprint.hash_of_code):
        cached.cache_clear()


def of_other_code(folder):
    """Let a results folder say that another code computed it."""
    manifest = read_document(folder / "manifest.json")
    other = {key: dict.fromkeys(files, "0" * 16) for key, files in manifest["code"].items()}
    write_document(folder / "manifest.json", manifest | {"code": other})


def numbers(folder):
    """Hash of every stored number of an experiment, by cell."""
    import pyarrow.parquet as pq

    found = {}
    for path in sorted((Path(folder) / "trajectories").glob("*.parquet")):
        table = pq.read_table(path)
        columns = [table[name].combine_chunks() for name in table.column_names if name not in ("cell_id", "estimator")]
        content = b"".join(column.to_numpy(zero_copy_only=False).tobytes() for column in columns)
        found[path.stem] = hashlib.sha256(content + str(table["estimator"].to_pylist()).encode()).hexdigest()
    return found


@pytest.fixture
def config(tmp_path):
    """A small config file."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def few_problems(monkeypatch):
    """The conformance suite tries a rule of one pass on two problems: it is compiled for each, from the same templates.

    `make soak` tries it on all.
    """
    from dpexp.conformance import algorithms

    every, few = algorithms.sorted_toys, ("huber-linear", "mallows-logistic")
    if not AT_LENGTH:
        monkeypatch.setattr(
            algorithms, "sorted_toys", lambda of: [t for t in every(of) if t.problem in few] or every(of)
        )


@pytest.fixture(scope="session")
def toys(tmp_path_factory):
    """Shipped experiments at toy size: each is computed once in a session, by the first test that asks for it."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent  # the same for all workers: one of them computes
    folders = [*dict.fromkeys(path.parent for path in shipped().values())]
    return ToyExperiments(shared / "toys", folders, figures=shared / "toys" / "figures")
