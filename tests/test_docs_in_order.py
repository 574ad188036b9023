"""Every command of README and docs is run by a test, or listed with a reason that is checked.

`tests/test_docs.py` runs the examples that show what they print, each by itself. Here the other commands are run: those
of a page in their order, in a folder of their own, through the command line from its entry point on. The tutorial is
run as a reader would: from an empty folder, block by block, and what it prints is what the page shows.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from dpexp.data.adult import census
from tests import test_docs as docs
from tests.conftest import ROOT, at_length, call
from tests.test_docs import Example, agrees, all_blocks, begins, commands, examples

TUTORIAL = docs.IN_ORDER
PAGES = [page for page in docs.PAGES if page.name != "artifact.md" and "shelf" not in page.parts]
"""the page for evaluations, which `dpexp claims` writes, computes everything at full size: its commands only have to parse"""


NOT_RUN = {
    "make reproduce": "half an hour on two cores",
    "make test": "it is the suite that this is part of",
    "make check": "it is the suite that this is part of",
    "pip install .": "an environment for what is run here",
    ".venv/bin/python -m pytest": "tests, which are run anyway",
    "dpexp table table1": "reads six experiments at full size",
    "dpexp table momentum_tuned": "reads three experiments at full size",
    "dpexp fit census.csv --target over_50k --model mallows-logistic --public census.yaml --mu 0.3 --central --deployment":
        "the reader has filled in the public file before",
    "dpexp fit --plan": "the reader has filled in the public file before",
    "dpexp plot hidden_state_figure": "a minute of exact laws",
    "dpexp plot noisy_sgd_figure1": "a minute of exact laws",
}  # fmt: skip
"""commands that are not run, by how they begin, and why"""

SMOKE = "--profile smoke --results results"
AT_TOY_SIZE = {
    "dpexp run configs/linear_d5.yaml": f"dpexp run configs/linear_d5.yaml {SMOKE}",
    ".venv/bin/dpexp run configs/linear_d5.yaml": f"dpexp run configs/linear_d5.yaml {SMOKE}",
    "dpexp run configs/linear_d5.yaml configs/figure1.yaml": f"dpexp run configs/linear_d5.yaml configs/figure1.yaml {SMOKE}",
    "dpexp run configs/clipping_or_weights.yaml": f"dpexp run configs/clipping_or_weights.yaml {SMOKE}",
    "dpexp run configs/momentum_*.yaml": f"dpexp run configs/momentum_epochs.yaml {SMOKE}",
    "dpexp run research/extrapolated/extrapolation.yaml": f"dpexp run research/extrapolated/extrapolation.yaml {SMOKE}",
    "dpexp run dimension.yaml --results own": "dpexp run dimension.yaml --results own --set problem.d=[5,8,20]",
    'dpexp audit configs/linear_d5.yaml --set "privacy.mu={list: [0.5, 3]}" --set schedule.alpha=1/2 --runs 40000':
        'dpexp audit configs/linear_d5.yaml --set "privacy.mu={list: [0.5, 3]}" --set schedule.alpha=1/2 --runs 4000',
}  # fmt: skip
"""commands that compute for minutes, and what is run in their place: the same experiments at toy size, or another claim"""
BEFORE = {
    "docs/figures.md": f"dpexp run configs/linear_d5.yaml configs/linear_d20.yaml {SMOKE}",
}
"""what a page supposes to have been run"""
MINE = """experiment: mine
problem:   {name: softmax, data: {path: people.csv, target: income, categories: {job: [clerk, cook, nurse], income: [low, high]}, records: 200}}
algorithm: {name: dp-sgd, batch_size: 64, epochs: 2}
schedule:  {name: langevin, decreasing: false}
privacy:   {eps: 1, delta: 1e-5}
"""
"""the config that a page calls the reader's own"""


def shown(page: Path) -> list[Example]:
    """The commands of a page."""
    return [one for block in docs.blocks(page) if block.language in ("sh", "console") for one in examples(block)]


def fate(example: Example) -> str:
    """By what a command is run: by itself, with its page, with the plug-ins of its page, or not at all."""
    page, command = example.block.page, example.command
    if begins(command, NOT_RUN):
        return "not run"
    if re.search("lab/|docs/plugins/", command) and not any(example.output) and page != TUTORIAL:
        return "with its plug-ins"
    by_itself = any(example.output) and not begins(command, docs.NOT_RUN) and page != TUTORIAL
    return "by itself" if by_itself else "with its page"


def test_no_list_holds_a_dead_entry():
    everything = [one for page in PAGES for one in shown(page) if one.command.strip()]
    printing = [one for one in everything if any(one.output)]
    for given, starts in ((everything, (*NOT_RUN, *AT_TOY_SIZE)), (printing, docs.NOT_RUN)):
        for start in starts:
            assert any(one.command.startswith(start) for one in given), start
    assert Counter(map(fate, everything))["not run"] <= 18


class Desk:
    """A folder in which the commands of a page are run one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, command: str) -> str:
        """What a line prints; what it stands for is run where it would take long."""
        printed = ""
        for words in commands(AT_TOY_SIZE.get(command.split("#")[0].strip(), command)):
            program = words[0].removeprefix(".venv/bin/")
            if program == "cp":
                shutil.copytree(self.folder / words[-2], self.folder / words[-1])
                continue
            if words[1] == "-m":
                subprocess.run([sys.executable, *words[1:]], cwd=self.folder, check=True, capture_output=True)
                continue
            assert program == "dpexp", words
            if words[1] == "init" and "--out" in words:  # the reader's folder has no such file yet
                (self.folder / words[words.index("--out") + 1]).unlink(missing_ok=True)
            done = call(*self._globbed(words[1:]), cwd=self.folder, code=None)
            right = (0, 1, 3) if words[1] == "claims" else (0,)  # a verdict may be stale, and says so
            assert done.returncode in right, f"{command}\n{done.stdout}{done.stderr}"
            printed += done.stdout
        return printed

    def _globbed(self, words: list[str]) -> list[str]:
        """As a shell hands paths over."""
        found = []
        for word in words:
            matches = sorted(self.folder.glob(word)) if "*" in word and "/" in word else []
            found += [str(path.relative_to(self.folder)) for path in matches] or [word]
        return found


TIME = re.compile(r"\b\d+ (min|h) \d\d (s|min)\b|\b\d+(\.\d+)? s\b")


def lines(text: str) -> list[str]:
    """Lines without trailing blanks, with times as T and gaps, which follow the widths of times, as one blank."""
    found = [TIME.sub("T", line).rstrip() for line in text.splitlines()]
    return [re.sub(r"-{3,}", "---", re.sub(r" {2,}", "  ", line)) for line in found]


def check(example: Example, printed: str) -> None:
    if any(example.output):
        assert agrees(lines("\n".join(example.output)), lines(printed)), (
            f"{example.block}\n$ {example.command}\n{printed}"
        )


@pytest.fixture
def page_desk(tmp_path):
    """A folder with the shipped configs, the files that pages show, and results of its own."""
    for folder in ("configs", "research"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "mine.yaml").write_text(MINE)
    census().to_csv(tmp_path / "census.csv", index=False)  # as the first block of regression.md, in Python, does
    for name in ("people.csv", "new_people.csv"):
        (tmp_path / name).write_text(docs.people())
    for block in all_blocks("yaml"):
        if block.file and not block.of_the_package and "/" not in block.file:
            (tmp_path / block.file).write_text(block.text + "\n")
        elif (named := re.match(r"experiment: *(\w+)\n", block.text)) and not (tmp_path / f"{named[1]}.yaml").exists():
            (tmp_path / f"{named[1]}.yaml").write_text(block.text + "\n")
    return Desk(tmp_path)


PAGES_IN_ORDER = [page for page in PAGES if page != TUTORIAL and "with its page" in map(fate, shown(page))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=at_length) if p.name == "figures.md" else p for p in PAGES_IN_ORDER],
    ids=lambda page: page.stem,
)
def test_commands_of_a_page_run_in_their_order(page, page_desk):
    page_desk.run(BEFORE.get(str(page.relative_to(ROOT)), ""))
    for one in shown(page):
        if fate(one) == "with its page":
            check(one, page_desk.run(one.command))


@pytest.mark.slow
def test_the_tutorial_goes_from_an_empty_folder_to_a_page(tmp_path, monkeypatch):
    """From its beginning: the files that it shows are saved, its Python and its commands are run."""
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "tutorial"}
    for block in docs.blocks(TUTORIAL):
        if block.file:
            (tmp_path / block.file).write_text(block.text + "\n")
        elif block.language == "python":  # it reads what the commands before it stored
            exec(compile(block.text, str(block), "exec"), names)
        for one in examples(block) if block.language in ("sh", "console") else []:
            if fate(one) == "with its page":
                check(one, Desk(tmp_path).run(one.command))
    for file in ("figures/first.png", "figures/first.caption.txt", "people/cells.parquet", "report.html"):
        assert (tmp_path / "results" / file).is_file(), file


def test_a_wrong_page_is_noticed(tmp_path):
    block = all_blocks("console")[0]
    right = Example(block, "dpexp run x", ["name  time   folder", "----  -----  ------", "x     8.6 s  r", "..."])
    check(right, "name  time  folder\n----  ----  ------\nx     12 s  r\nmore\n")
    with pytest.raises(AssertionError):
        check(right, "name  time  folder\n----  ----  ------\ny     12 s  r\nmore\n")
    with pytest.raises(AssertionError):
        Desk(tmp_path).run("dpexp run nothing.yaml")
