"""Every mistake of a user is one row: exit code, what was typed, the place that is named, and a word of the way out."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from dpexp.commands import list as listing
from dpexp.store.folder import Folder
from tests.commands.test_approved import desk as desk
from tests.conftest import COMMAND, call

STEPS = "noise_multiplier=1 sampling_probability=.01 steps=1000 sampler=poisson"
CARD = "records=100000 records_public=true relation=add-remove normaliser=public eps=2.47 delta=1e-5"
SIGMA = "privacy --mechanism sampled-gaussian"
FILES = {
    "a.json": json.dumps({"history": [[0.0, 0.01, 500], [0.9, 0.01, 500]], "mechanism": "rdp"}),
    "wrong.yaml": "card: 1\nrecords: sixty\nrelation: swap\nphases: [{noise_multiplier: 0, sampling_probability: 2, steps: 5}]\n",
    "words.csv": "class,my col,pay\n1,2,3\n",
    "broken.py": "def eps(delta):\n    return (\n",
}
"""small inputs that others have tried"""
ERRORS = """
0  | --version | |
0  | SIGMA noise_multiplier=1 sampling_probability=.01 steps=1000 delta=1e-300 | |
0  | receipt STEPS eps=1.83 delta=1e-5 | |
1  | receipt STEPS eps=1.5 delta=1e-5 | |
1  | receipt STEPS eps=1.83 delta=1e-300 | |
3  | receipt noise_multiplier=1 steps=1000 sampler=reshuffled batch_size=600 n=60000 eps=8 | |
2  | receipt STEPS eps=-1 delta=1e-5 | | eps
2  | receipt sampler=poisson noise_multiplier=0.7 sampling_probability=0.01 steps=120 microbatch_size=2 CARD | | microbatch
2  | receipt a.json eps=3 | a.json | noise_multiplier
2  | receipt wrong.yaml | wrong.yaml:2:10 | 'sixty'
2  | receipt wrong.yaml | wrong.yaml:4:54 | <= 1
2  | receipt | | card.yaml
2  | frobnicate | | frobnicate
2  | run | | CONFIG
2  | run small.yaml --profil smoke | | --profile
2  | run absent.yaml | absent.yaml | no such file
2  | run smal.yaml | smal.yaml | small.yaml
2  | run bad.yaml | bad.yaml:3:1 | 'schedule'
2  | run bad.yaml | bad.yaml:4:15 | 1e-06
2  | run small.yaml small.yaml | | 'small'
2  | run small.yaml --backend dask | | --scheduler
2  | run small.yaml --scheduler tcp://x | | dask
2  | run small.yaml -j -1 | | --jobs
2  | run small.yaml --only aplha=1 | | 'alpha'
2  | run small.yaml --only alpha=7 | | no cell
2  | run small.yaml --part 4/3 | | K/N
2  | run small.yaml --part a/b | | K/N
2  | run small.yaml --part 1/2 --force | | --part
2  | run small.yaml --again | | --deployment
2  | run small.yaml --deployment | small.yaml | own records
2  | run small.yaml --results small.yaml | small.yaml | --results
70 | run small.yaml --results locked | locked | another process
70 | list --results broken | | RuntimeError
2  | plot figur2 | | 'figure2'
2  | plot linear_d6 | | 'linear_d5'
2  | plot --metric loss_gap | | dpexp plot NAME
2  | plot --over steps | | --mechanism
2  | plot figure2 --format gif | | svg
2  | plot figure2 --metric loss_gap | | results/linear_d5
2  | plot small --width 1 | | inches
2  | plot small --name a/b | | --out
3  | plot | | dpexp run
3  | plot figure2 | | dpexp run @linear_d5
3  | table table1 | | dpexp run @rates_linear
2  | table table1 --format pdf | | tex
2  | diff a b | a | results/linear_d5
2  | diff small | | --by NAME
3  | report nowhere | nowhere | dpexp run
3  | claims | | --judge
2  | claims theorm-3 | | 'theorem-3'
2  | claims ldp-sdg | | 'ldp-sgd'
2  | claims --format tabel | | 'table'
2  | reproduce | | clone
2  | init huber-lnear | | 'huber-linear'
2  | init --from linear_d6 | | 'linear_d5'
2  | init --from figure2 | | init --from linear_d5
2  | init --for-fit | | --data
2  | validate | | CONFIG
2  | validate linear_d5 | linear_d5 | @linear_d5
2  | validate small.yaml bad.yaml absent.yaml | bad.yaml:3:1 | absent.yaml
2  | privacy | | --mechanism
2  | privacy --mechanism local-gaussian mu=1 --users people.csv | | --users
2  | SIGMA sigma=1 q=.01 steps=10 | | sigma is noise_multiplier here
2  | SIGMA noise_multiplier=-1 steps=10 sampling_probability=.1 | | >= 0
2  | SIGMA noise_multiplier=1 steps=10 | | 'sampling_probability' is missing
2  | SIGMA noise_multiplier=1e300 steps=10 sampling_probability=.1 | | 1e+12
2  | calibrate | | eps=
2  | calibrate epsilon=1 sampling_probability=0.01 steps=1000 | | eps=
2  | calibrate eps=1 n=1000 batch_size=10 steps=100 sampling=fixed-size | | neighboring_relation=replace-one
2  | calibrate tpr=0.01@fpr=0.05 steps=1 | | guessing
2  | calibrate mu=1 delta=1e-5 steps=1 sampling_probability=1 | | delta
2  | audit small.yaml --runs 5 | | --runs
2  | judge broken.py | broken.py:2 |
3  | predict nowhere | nowhere | dpexp run
2  | check nowhere.py | nowhere.py | no such plug-in file
2  | fit words.csv --formula 'pay ~ log(my col)' --mu 5 --central | | my col
2  | fit words.csv --formula 'pay ~ s(class)' --mu 5 --central | | s(
"""
"""exit code, command, place, word"""
ROWS = [
    [cell.strip() for cell in line.replace("SIGMA", SIGMA).replace("STEPS", STEPS).replace("CARD", CARD).split("|")]
    for line in ERRORS.strip().splitlines()
]


@pytest.fixture
def place(desk, monkeypatch):
    inventory = listing.inventory

    def broken(**options):
        if options.get("results") == Path("broken"):
            raise RuntimeError("an error that is not foreseen")
        return inventory(**options)

    monkeypatch.setattr(listing, "inventory", broken)
    for name, text in FILES.items():
        (desk / name).write_text(text)
    return desk


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1][:60])
def test_a_mistake_has_its_code_its_place_and_a_way_out(place, row):
    code, command, at, word = row
    with Folder(place / "locked", "small").locked():
        done = call(*shlex.split(command), cwd=place, code=int(code))
    assert at in done.stderr
    assert word in done.stderr
    if int(code) == 2:
        assert not done.stdout or command.startswith("validate small")
        assert 1 <= len(done.stderr.strip().splitlines()) <= 15


PRINTING = [
    "--help",
    "list --shipped",
    "privacy --mechanism local-gaussian mu=1 --json",
    f"receipt {STEPS} eps=0.5 --json",
]


@pytest.mark.parametrize("command", PRINTING)
def test_a_closed_stdout_ends_quietly(command):
    """The reading end is closed before the first byte: what is printed reaches nobody, whatever it would say."""
    reading, writing = os.pipe()
    os.close(reading)
    words = [COMMAND, *shlex.split(command)]
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=300)
    os.close(writing)
    assert done.returncode == 141
    assert not re.search("(?i)error|exception|traceback", done.stderr)


def test_without_stdout_and_stderr_the_codes_are_those_of_the_work():
    for code, budget, without in ((0, 1, ">&-"), (2, -1, "2>&-"), (2, -1, "<&- >&- 2>&-")):
        words = f"exec {COMMAND} privacy --mechanism local-gaussian mu={budget} {without}"
        done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stdout) == (code, "")
