"""The exit codes of all commands: what each of them means is one table, in `dpexp.core.errors`."""

import os
import re
import subprocess

import pytest

from dpexp.commands import list as listing
from dpexp.store.folder import Folder
from tests.conftest import COMMAND, call

STEPS = ("noise_multiplier=1", "sampling_probability=.01", "steps=1000", "sampler=poisson")
CONFIG = """experiment: e
problem: {name: huber-linear, d: 2}
schedule: {name: power, eta: 1, alpha: 1/2}
privacy: {mu: 1}
run: {n: 200, replicates: 8, seed: 1, checkpoints: 4}
"""
CODES = [
    (0, "--version"),
    (0, "privacy", "--mechanism", "local-gaussian", "mu=1"),
    (0, "receipt", *STEPS, "eps=1.83", "delta=1e-5"),
    (0, "calibrate", "eps=1", "delta=1e-5", "sampling_probability=0.01", "steps=1000"),
    (2, "calibrate", "epsilon=1", "sampling_probability=0.01", "steps=1000"),
    (0, "privacy", "--mechanism", "sampled-gaussian", *STEPS[:3], "delta=1e-300"),
    (1, "receipt", *STEPS, "eps=1.5", "delta=1e-5"),
    (3, "receipt", "noise_multiplier=1", "steps=1000", "sampler=reshuffled", "batch_size=600", "n=60000", "eps=8"),
    (1, "receipt", *STEPS, "eps=1.83", "delta=1e-300"),
    (2, "receipt", *STEPS, "eps=-1", "delta=1e-5"),
    (2, "privacy", "--mechanism", "nothing"),
    (2, "run", "there-is-none.yaml"),
    (2, "plot", "--nothing"),
    (2, "run", "e.yaml", "--results", "e.yaml"),
    (3, "plot", "figure2"),
    (3, "table", "table1"),
    (3, "claims"),
    (70, "run", "e.yaml", "--results", "locked"),
    (70, "list", "--results", "broken"),
]  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "e.yaml").write_text(CONFIG)
    inventory = listing.inventory

    def broken(configs, results):
        if results.name == "broken":
            raise RuntimeError("something that nobody thought of")
        return inventory(configs, results)

    monkeypatch.setattr(listing, "inventory", broken)
    return tmp_path


@pytest.mark.parametrize(("code", "arguments"), [(code, words) for code, *words in CODES], ids=lambda x: str(x)[:60])
def test_a_code_says_what_came_out(place, code, arguments):
    with Folder(place / "locked", "e").locked():
        done = call(*arguments, cwd=place, code=code)
    assert "Traceback" not in done.stderr


PRINTING = [
    ("--help",),
    ("list", "--shipped"),
    ("privacy", "--mechanism", "local-gaussian", "mu=1", "--json"),
    ("receipt", *STEPS, "eps=0.5", "delta=1e-5", "--json"),
]


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_a_closed_stdout_ends_quietly(arguments):
    """The reading end is closed before the first byte: what is printed reaches nobody, whatever it would say."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([COMMAND, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=300)
    os.close(writing)
    assert done.returncode == 141
    assert not re.search("(?i)error|exception|traceback", done.stderr)


def test_without_stdout_and_stderr_the_codes_are_those_of_the_work():
    for code, budget, without in ((0, 1, ">&-"), (2, -1, "2>&-"), (2, -1, "<&- >&- 2>&-")):
        words = f"exec {COMMAND} privacy --mechanism local-gaussian mu={budget} {without}"
        done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stdout) == (code, "")
