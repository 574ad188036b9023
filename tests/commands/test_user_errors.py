"""Every mistake of a user is one row: exit code, what was typed, the place that is named, and a word of the way out."""

import json
import os
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path

import pytest

from dpexp.commands import list as listing
from dpexp.store.folder import Folder
from tests.commands.test_approved import OWN, SMALL, people
from tests.commands.test_approved import desk as desk
from tests.conftest import COMMAND, call

STEPS = "noise_multiplier=1 sampling_probability=.01 steps=1000 sampler=poisson releases=all"
CARD = "records=100000 records_public=true relation=add-remove normaliser=public eps=2.47 delta=1e-5"
FIT = "--target y --mu 5 --central --public"
FORMULA = "fit people.csv --mu 1 --central --public public.yaml --formula"
SIGMA = "privacy --mechanism sampled-gaussian"
FILES = {
    "a.json": json.dumps({"history": [[0.0, 0.01, 500], [0.9, 0.01, 500]], "mechanism": "rdp"}),
    "b.json": json.dumps({"history": [[1.1, 1.7, 10]], "mechanism": "rdp"}),
    "target.yaml": OWN.replace("target: bought", "target: c"),
    "absent_plugin.yaml": "plugins: [absent.py]\n" + SMALL,
    "three.yaml": "plugins: [3]\n" + SMALL,
    "median.yaml": SMALL.replace("huber-linear", "median-linear"),
    "h.json": json.dumps({"history": [[1.0, 0.01, 400], [1.0, 0.01, 600]], "mechanism": "gdp"}),
    "c.json": json.dumps({"history": [], "mechanism": "prv"}),
    "blank.yaml": "ranges: {age: [LOW, HIGH]}\n",
    "turned.yaml": "ranges: {age: [70, 20]}\n",
    "both.yaml": "ranges: {age: [0, 1]}\ncategories: {age: [x, y]}\n",
    "free.yaml": "ranges: {age: [20, 70]}\n",
    "small_unit.yaml": "ranges: {age: [20, 70], y: [0, 9e-12]}\n",
    "wrong.yaml": "card: 1\nrecords: sixty\nrelation: swap\nphases: [{noise_multiplier: 0, sampling_probability: 2, steps: 5}]\n",
    "words.csv": "class,my col,pay\n1,2,3\n",
    "one.csv": "a,b\n1,2\n",
    "broken.py": "def eps(delta):\n    return (\n",
}
"""small inputs that others have tried"""


@cache
def tables():
    """The table of people as other programs write it, or with another target."""
    head, *rows = people().split()
    cells = [row.split(",") for row in rows]
    pairs = [(age, float(age), float(y)) for age, _, y, _ in cells]
    return {
        "sep.csv": "sep=;\n" + people().replace(",", ";"),
        "index.csv": "\n".join([f",{head}", *(f"{k},{row}" for k, row in enumerate(rows))]),
        "ends.csv": people().replace("\n", ",\n"),
        "UPPER.CSV": people(),
        "marks.tsv": "age\ty\n" + "".join(f"{age}\t{1000 * y + 9000:,.0f}\n" for age, _, y in pairs),
        "unread.csv": "\n".join([head, *(",".join([*row[:2], f"{row[2]} €", row[3]]) for row in cells[:1500]), *rows[1500:], ",,,"]),
        "exact.csv": "age,y\n" + "".join(f"{age},{1 + number / 20:.6f}\n" for age, number, _ in pairs),
        "apart.csv": "age,y\n" + "".join(f"{age},{int(number > 45)}\n" for age, number, _ in pairs),
        "small.csv": "age,y\n" + "".join(f"{age},{(y + 3) * 1e-12:.6e}\n" for age, _, y in pairs),
    }  # fmt: skip


ERRORS = """
0  | --version | |
0  | SIGMA noise_multiplier=1 sampling_probability=.01 steps=1000 delta=1e-300 | |
1  | receipt STEPS records=6000 batch_sizes_logged=true normaliser=drawn eps=1.83 delta=1e-5 | | refuted
1  | receipt noise_multiplier=1 sampling_probability=.01 steps=100 sampler=poisson releases=all eps=1.83 delta=1e-300 | |
2  | receipt STEPS eps=-1 delta=1e-5 | | eps
2  | receipt sampler=poisson noise_multiplier=0.7 sampling_probability=0.01 steps=120 microbatch_size=2 CARD | | microbatch
2  | receipt a.json eps=3 | a.json | noise_multiplier
3  | receipt h.json eps=1.83 | | central limit theorem
2  | receipt b.json eps=3 | b.json:1:20 | 1.7
2  | receipt c.json eps=3 | c.json:1:13 | empty
2  | receipt noise_multiplier=1 sampler=poisson sampling_probability=.5 n=4 batch_size=1 steps=4 | |
2  | receipt noise_multiplier=1 sampler=full-batch n=100 batch_size=10 steps=4 | |
2  | receipt noise_multiplier=1 sampler=k-of-t selected=5 steps_per_epoch=100 sampling_probability=.5 steps=100 | |
2  | receipt noise_multiplier=1 sampler=cyclic-poisson groups=100 n=6400 batch_size=256 steps=4 | |
2  | receipt noise_multiplier=1 accounted_as=cyclic-poisson sampling_probability=.01 steps=1000 | |
2  | receipt noise_multiplier=1 accounted_as=k-of-t sampling_probability=.01 steps=1000 | |
2  | receipt noise_multiplier=1 sampler=poisson accounted_as=truncated-poisson sampling_probability=.01 steps=1000 | |
2  | receipt noise_multiplier=1 sampler=poisson sampling_probability=.01 steps=1000,2000 epochs=1 | |
2  | receipt STEPS records=60000 microbatch_size=2 | |
2  | receipt STEPS records=60000 clipping=microbatch | |
2  | receipt STEPS records=60000 sampler=full-batch | |
2  | receipt STEPS records=60000 cap=700 | |
2  | receipt STEPS records=60000 n=60000 | |
2  | receipt STEPS records=60000 epochs=7 | |
2  | receipt STEPS records=60000 batch_size=500 | |
2  | validate absent_plugin.yaml | absent_plugin.yaml:1:11 | no such plug-in file
2  | validate three.yaml | three.yaml:1:11 | must be text
2  | init --data one.csv --target b | one.csv: | a split needs
2  | validate median.yaml | median.yaml:2:17 | --plugin FILE.py
2  | validate target.yaml | people.csv | no column 'c'
2  | receipt wrong.yaml | wrong.yaml:2:10 | 'sixty'
2  | receipt wrong.yaml | wrong.yaml:4:54 | <= 1
2  | receipt | | card.yaml
2  | frobnicate | | frobnicate
2  | run | | CONFIG
2  | run small.yaml --profil smoke | | --profile
2  | run absent.yaml | absent.yaml | no such file
2  | run smal.yaml | smal.yaml | small.yaml
2  | run small.yaml small.yaml | | 'small'
2  | run small.yaml --backend dask | | --scheduler
2  | run small.yaml --scheduler tcp://x | | dask
2  | run small.yaml --backend x | | threads
0  | run small.yaml --results ./~tilde/res | | ~tilde/res/small
2  | run small.yaml --results ~no-such-user/res | ~no-such-user/res | no such user
2  | run own.yaml --deployment --set privacy.eps=inf | own.yaml | no guarantee
2  | run small.yaml -j -1 | | --jobs
2  | run small.yaml --only aplha=1 | | 'alpha'
2  | run small.yaml --only alpha=7 | | no cell
2  | run small.yaml --part 4/3 | | K/N
2  | run small.yaml --part 1/2 --force | | --part
2  | run small.yaml --again | | --deployment
2  | run small.yaml --deployment | small.yaml | own records
2  | run small.yaml --results small.yaml | small.yaml | --results
2  | run small.yaml --results locked | locked | another process
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
2  | table tabel1 | | 'table1'
2  | table table1 --metric loss_gap | | results/rates_linear
2  | diff a b | a | results/linear_d5
2  | diff small | | --by NAME
3  | report nowhere | nowhere | dpexp run
3  | claims | | --judge
2  | claims theorm-3 | | 'theorem-3'
2  | claims ldp-sdg | | 'ldp-sgd'
2  | claims --format tabel | | 'table'
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
2  | SIGMA noise_multiplier=1 steps=5 sampling_probability=0.5,2 --over sampling_probability | | probability = 2
2  | SIGMA noise_multiplier=1 steps=5 sampling_probability=0.01 delta=1e-5 --over n | | no values of 'n'
2  | privacy small.yaml --over mu | | goes with --mechanism
2  | calibrate | | eps=
2  | calibrate epsilon=1 sampling_probability=0.01 steps=1000 | | eps=
2  | calibrate eps=1 n=1000 batch_size=10 steps=100 sampling=fixed-size | | neighboring_relation=replace-one
2  | calibrate tpr=0.01@fpr=0.05 steps=1 | | guessing
2  | calibrate mu=1 delta=1e-5 steps=1 sampling_probability=1 | | delta
2  | audit small.yaml --runs 5 | | --runs
2  | audit small.yaml --set privacy.mu=inf | | nothing to audit
2  | judge broken.py | broken.py:2 |
3  | predict nowhere | nowhere | dpexp run
2  | check nowhere.py | nowhere.py | no such plug-in file
0  | fit sep.csv FIT public.yaml | | n = 2,000
0  | fit index.csv FIT public.yaml | | columns without a name are left out: 1
0  | fit ends.csv FIT public.yaml | | columns without a name are left out: 5
0  | fit UPPER.CSV FIT public.yaml | | n = 2,000
0  | fit unread.csv FIT public.yaml | unread.csv:2 | 1,500 of 2,000
0  | fit small.csv FIT small_unit.yaml | | e-12
2  | fit marks.tsv FIT free.yaml | marks.tsv:2 | thousands
3  | fit exact.csv FIT free.yaml | | errors are nearly 0
3  | fit apart.csv FIT free.yaml --model mallows-logistic | | separat
2  | fit people.csv FIT blank.yaml | blank.yaml:1:15 | LOW
2  | fit people.csv FIT turned.yaml | turned.yaml:1:15 | smaller first
2  | fit people.csv FIT both.yaml | both.yaml:2:19 | range
2  | FORMULA 'y ~ age +' | y ~ age + | misplaced
2  | FORMULA '~ age' | ~ age | target
2  | FORMULA 'y ~ age - 1' | y ~ age - 1 | intercept
2  | FORMULA 'y ~ center(age)' | center(age) | other records
2  | FORMULA 'y ~ age:job' | | needs job too
2  | FORMULA 'y ~ I(age**2)' | | needs age too
2  | FORMULA 'y ~ y + age' | | the target is y
2  | FORMULA 'y ~ C(age)' | C(age) | no categories of age
2  | FORMULA 'log(y) ~ age' | log(y) | range
2  | fit words.csv --formula 'pay ~ log(my col)' --mu 5 --central | | my col
2  | fit words.csv --formula 'pay ~ s(class)' --mu 5 --central | | s(
"""
"""exit code, command, place, word"""
ROWS = [
    [
        cell.strip()
        for cell in line.replace("SIGMA", SIGMA)
        .replace("STEPS", STEPS)
        .replace("CARD", CARD)
        .replace("FIT", FIT)
        .replace("FORMULA", FORMULA)
        .split("|")
    ]
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
    for name, text in (FILES | tables()).items():
        (desk / name).write_text(text)
    return desk


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1][:60])
def test_a_mistake_has_its_code_its_place_and_a_way_out(place, row):
    code, command, at, word = row
    if "--formula" in command:
        pytest.importorskip("formulaic")
    with Folder(place / "locked", "small").locked():
        done = call(*shlex.split(command), cwd=place, code=int(code))
    said = done.stderr + done.stdout
    assert at in said
    assert word in said
    if int(code) == 2:
        assert not done.stdout or command.startswith("validate small")
        assert 1 <= len(done.stderr.strip().splitlines()) <= 15


PRINTING = ["--help", "privacy --mechanism local-gaussian mu=1 --json"]


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
