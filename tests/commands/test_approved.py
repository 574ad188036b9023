"""What commands print: a file of approved outputs for each, one after the other in one folder, as a user sees them.

After a change that is meant, `DPEXP_APPROVE=1 pytest tests/commands/test_approved.py` writes them anew: read the
difference.
"""

import os
import random
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from dpexp.commands.cli import COMMANDS
from tests.conftest import call

APPROVED = sorted((Path(__file__).parent / "approved").glob("*.txt"))
MASKED = re.compile(r"\b\d+(\.\d+)? m?s\b|\d+ min \d\d s\b|\b[0-9a-f]{12}\b")
"""times, and ids of cells, which a new parameter of any problem changes"""
WIDTHS = re.compile(r"([ -])\1+")
"""of columns, in which a time may stand"""
SMALL = """experiment: small
problem: {name: huber-linear, d: 2}
schedule: {name: power, alpha: [1/3, 1]}
privacy: {mu: [1, inf]}
run: {n: 200, replicates: 8, seed: 3, checkpoints: 5}
"""
OWN = """experiment: own
problem:
  name: softmax
  data: {path: people.csv, target: bought, ranges: {age: [20, 70]}, leave_out: [y],
         categories: {bought: ['no', 'yes'], job: [clerk, cook]}, records: 2000}
algorithm: {name: dp-sgd, batch_size: 50, epochs: 1, clip: 1.0}
privacy: {eps: 1, delta: 1e-5}
run: {replicates: 2, seed: 1, checkpoints: 1}
"""
BOUND = """ASSUMES = {"sampling": "full-batch", "relation": "replace-one", "released": "all-iterates"}


def rdp(order, *, noise_multiplier, steps):
    return order * steps / (2 * noise_multiplier**2)
"""
STEPS = """from typing import Literal
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.plugins import Plugin


class Halved(SCHEDULES["power"]):
    \"\"\"Half of the step sizes.\"\"\"

    name: Literal["halved"] = "halved"

    def step_sizes(self, first, count):
        return super().step_sizes(first, count) / 2


PLUGIN = Plugin(schedules={"halved": Halved})
"""


@cache
def people():
    """A table of 2,000 people."""
    draws, lines = random.Random(1), ["age,job,y,bought"]
    for _ in range(2000):
        age, job = draws.gauss(45, 12), draws.choice(["clerk", "cook"])
        y = 2 + 0.05 * (age - 45) + (job == "cook") + draws.gauss(0, 1)
        lines.append(f"{age:.3f},{job},{y:.4f},{'yes' if y > 2.5 else 'no'}")
    return "\n".join([*lines, ""])


@pytest.fixture
def desk(tmp_path):
    """A folder with configs, a table of people, and what is public of it."""
    files = {
        "small.yaml": SMALL, "own.yaml": OWN, "people.csv": people(),
        "public.yaml": "ranges: {age: [20, 70], y: [-1, 6]}\ncategories: {job: [clerk, cook]}\nleave_out: [bought]\n",
        "bound.py": BOUND, "steps.py": STEPS, "new.csv": "age,job,y\n40,cook,1\n,clerk,2\n50,pilot,3\n", "bad.yaml": SMALL.replace("schedule", "schedul").replace("mu: [1, inf]", "mu: 0"),
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("path", APPROVED, ids=lambda path: path.stem)
def test_what_is_printed_is_what_was_approved(path, desk):
    """Exit code, stdout and stderr of every line that begins with a dollar sign."""
    commands = re.findall(r"^\$ dpexp (.*)$", path.read_text(), re.MULTILINE)
    found = []
    for command in commands:
        done = call(*shlex.split(command), cwd=desk, code=None, env={"COLUMNS": "120"})
        # progress is a matter of the machine
        said = [line for line in done.stderr.splitlines() if " so far" not in line]
        printed = [f"$ dpexp {command}", f"[exit {done.returncode}]", *done.stdout.splitlines(), *said]
        found.append("\n".join(WIDTHS.sub(r"\1\1", MASKED.sub("...", line.rstrip())) for line in printed))
    text = "\n\n".join(found) + "\n"
    if os.environ.get("DPEXP_APPROVE"):
        path.write_text(text)
    assert text == path.read_text()


def test_every_command_has_an_approved_output():
    assert [path.stem for path in APPROVED] == sorted(COMMANDS)
