"""A dask cluster: the same bits, whoever dies or joins; what is unlike is refused with its address; nothing hangs."""

import socket
import threading
from contextlib import suppress
from importlib.util import find_spec

import pytest

import dpexp
from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import UsageError
from dpexp.store import executors
from dpexp.store.executors import on_cluster
from dpexp.store.experiment_run import Options, run
from dpexp.store.folder import Folder
from tests.conftest import AT_LENGTH, call, numbers
from tests.store.loopback import Loopback, square

needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="dask is not installed: the extra [dask]")


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    with Loopback(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def lan(scheduler):
    """A scheduler and a worker with two threads: another one takes the place of one that a test ended."""
    if all(process.poll() is not None for process in scheduler.processes[1:]):
        scheduler.worker(threads=2)
    scheduler.wait_for(1)
    return scheduler


def squares(count, seconds=0.0):
    return [(square, (k, seconds)) for k in range(count)]


def go(config, results, lan=None, quiet=True):
    """Run in this process: here, or on a cluster."""
    experiment = load_experiment(config)
    options = Options(results, jobs=2, quiet=quiet)
    if lan is not None:
        options.backend, options.scheduler = "dask", lan.address
    run(experiment, options)
    return numbers(Folder(results, experiment.name).root)


def test_a_missing_dask_is_named_with_the_command_that_installs_it(config, monkeypatch):
    monkeypatch.setattr(executors, "find_spec", lambda name: None)
    message = call("run", config, "--backend", "dask", "--scheduler", "tcp://127.0.0.1:1", code=2).stderr
    assert "pip install 'dpexp[dask]'" in message


@needs_dask
@pytest.mark.parametrize("said", [b"", b"HTTP"])
def test_a_service_that_is_no_scheduler_is_refused(said, monkeypatch):
    monkeypatch.setattr(executors, "HELLO_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as service:

        def greet():
            # on a busy machine it may come when the service is closed: an error of a thread would be the next test's
            with suppress(OSError), service.accept()[0] as talk:
                talk.sendall(said)
                talk.recv(1)

        threading.Thread(target=greet, daemon=True).start()
        address = f"tcp://127.0.0.1:{service.getsockname()[1]}"
        with pytest.raises(UsageError, match=r"no dask scheduler answers: "):
            list(on_cluster(squares(1), address))


@pytest.mark.slow
@needs_dask
def test_a_cluster_gives_the_bits_of_this_machine(lan, config, tmp_path):
    assert go(config, tmp_path / "there", lan) == go(config, tmp_path / "here")
    assert not (tmp_path / "there" / "small" / "partial").exists()


@needs_dask
@pytest.mark.slow
def test_joblibs_own_contexts_give_the_bits_of_this_machine(lan, config, tmp_path):
    from distributed import Client
    from joblib import parallel_config

    here = go(config, tmp_path / "here")
    with Client(lan.address, set_as_default=False) as client:
        contexts = {"dask": {"client": client}} | ({"loky": {"n_jobs": 2}} if AT_LENGTH else {})
        for name, context in contexts.items():
            with parallel_config(name, **context):
                dpexp.run(config, results=tmp_path / name)
            assert numbers(tmp_path / name / "small") == here


@pytest.mark.slow
@needs_dask
def test_a_worker_that_dies_and_one_that_is_unlike(tmp_path, config, lan):
    like, results = lan.processes[-1], {}
    unlike = lan.worker(env={"OPENBLAS_CORETYPE": "Prescott", "DPEXP_CACHE": str(tmp_path)})
    lan.wait_for(2)
    for number, result in on_cluster(squares(24, 0.02), lan.address):
        if not results:
            like.kill()  # which had tasks
        results[number] = result
    assert results == {k: k * k for k in range(24)}
    lan.wait_for(1)
    with pytest.raises(UsageError, match="has other code, data, libraries or another kind of processor"):
        go(config, tmp_path / "there", lan)
    unlike.kill()
    unlike.wait()
