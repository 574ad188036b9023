"""Every command of README and docs is run by a test, or listed with a reason that is checked.

`tests/test_docs.py` runs the examples that show what they print, each by itself. Here the other commands are run: those
of a page in their order, in a folder of their own, through the command line from its entry point on. The tutorial is
run as a reader would: from an empty folder, block by block, and what it prints is what the page shows.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import test_docs as docs
from tests.conftest import ROOT, call
from tests.test_docs import Example, agrees, all_blocks, begins, commands, examples

TUTORIAL = docs.IN_ORDER
PAGES = [page for page in docs.PAGES if page.name != "artifact.md"]
"""the page for evaluations, which `dpexp claims` writes, computes everything at full size: its commands only have to parse"""


class Reason(NamedTuple):
    """Why a command is not run, and what makes it so."""

    words: str
    holds: Callable[[list[str]], bool]


def _in_makefile(words: list[str]) -> bool:
    return bool(re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE))


def _of_tests(words: list[str]) -> bool:
    return words[2:3] == ["pytest"] and all((ROOT / word).exists() for word in words if word.startswith("tests/"))


def _of_theory(words: list[str]) -> bool:
    from dpexp.papers import figures

    return not figures()[words[2]].needs


def _asks_the_network(words: list[str]) -> bool:
    return words[0] == "apt-get" or {"install", "download"} & set(words) != set()


def _follows_the_network(words: list[str]) -> bool:
    """What is used comes from a command of the same page that asks the network."""
    page = (ROOT / "docs/data.md").read_text()
    return words[0] in ("python3", "dpkg-deb", ".venv/bin/python") and "apt-get download" in page


def _reads_experiments(words: list[str]) -> bool:
    from dpexp.papers import tables

    return bool(tables()[words[2]].needs)


def _has_blanks(words: list[str]) -> bool:
    return "--public" in words and "its blanks are yours to fill in" in (ROOT / "docs/regression.md").read_text()


NOT_RUN = {
    "make reproduce": Reason("half an hour on two cores", _in_makefile),
    "make test": Reason("it is the suite that this is part of", _in_makefile),
    "make check": Reason("it is the suite that this is part of", _in_makefile),
    ".venv/bin/python -m pytest": Reason("tests, which are run anyway", _of_tests),
    ".venv/bin/python -m benchmarks": Reason("needs PyTorch and Opacus", _follows_the_network),
    "python3 -m venv": Reason("an environment for what is downloaded next", _follows_the_network),
    "PIP_CONSTRAINT=": Reason("downloads 1.7 GB", _asks_the_network),
    "apt-get download": Reason("downloads a package", _asks_the_network),
    "dpkg-deb -x": Reason("unpacks what was downloaded", _follows_the_network),
    ".venv/bin/pip download": Reason("downloads a package", _asks_the_network),
    ".venv/bin/python -m zipfile": Reason("unpacks what was downloaded", _follows_the_network),
    ".venv/bin/python -m tests.campaigns.rebuild": Reason("reads what was downloaded", _follows_the_network),
    "dpexp table table1": Reason("reads six experiments at full size", _reads_experiments),
    "dpexp table momentum_tuned": Reason("reads three experiments at full size", _reads_experiments),
    "dpexp fit census.csv --target over_50k --model mallows-logistic --public census.yaml --mu 0.3 --central --deployment":
        Reason("the reader has filled in the public file before", _has_blanks),
    "dpexp fit --plan": Reason("the reader has filled in the public file before", _has_blanks),
    "dpexp plot hidden_state_figure": Reason("a minute of exact laws; its files are compared", _of_theory),
    "dpexp plot noisy_sgd_figure1": Reason("a minute of exact laws; its files are compared", _of_theory),
}  # fmt: skip
"""commands that are not run, by how they begin"""

SMOKE = "--profile smoke --results results"
AT_TOY_SIZE = {
    "dpexp run configs/linear_d5.yaml": f"dpexp run configs/linear_d5.yaml {SMOKE}",
    ".venv/bin/dpexp run configs/linear_d5.yaml": f"dpexp run configs/linear_d5.yaml {SMOKE}",
    "dpexp run configs/linear_d5.yaml configs/figure1.yaml": f"dpexp run configs/linear_d5.yaml configs/figure1.yaml {SMOKE}",
    "dpexp run configs/momentum_*.yaml": f"dpexp run configs/momentum_epochs.yaml {SMOKE}",
    "dpexp run configs/extrapolation.yaml": f"dpexp run configs/extrapolation.yaml {SMOKE}",
    "dpexp run dimension.yaml --results own": "dpexp run dimension.yaml --results own --set problem.d=[5,8,20]",
    'dpexp audit configs/linear_d5.yaml --set "privacy.mu={list: [0.5, 3]}" --set schedule.alpha=1/2 --runs 40000':
        'dpexp audit configs/linear_d5.yaml --set "privacy.mu={list: [0.5, 3]}" --set schedule.alpha=1/2 --runs 4000',
    "dpexp claims theorem-3 --rerun": "dpexp claims theorem-5/half --rerun",
}  # fmt: skip
"""commands that compute for minutes, and what is run in their place: the same experiments at toy size, or another claim"""
BEFORE = {
    "docs/figures.md": f"dpexp run configs/linear_d5.yaml configs/linear_d20.yaml {SMOKE}",
    "docs/report.md": " && ".join(
        f"dpexp run configs/linear_d5.yaml --profile smoke --results {r}" for r in ("results", "own")
    ),
}
"""what a page supposes to have been run"""
MINE = """experiment: mine
problem:   {name: softmax, data: {path: people.csv, target: income, categories: {job: [clerk, cook, nurse], income: [low, high]}, records: 200}}
algorithm: {name: dp-sgd, batch_size: 64, epochs: 2}
schedule:  {name: langevin, decreasing: false}
privacy:   {eps: 1, delta: 1e-5}
"""
"""the config that a page calls the reader's own"""
SLOW = {
    "dpexp run configs/momentum_*.yaml": "seconds of toy runs",
    "dpexp plot momentum_epochs": "shows them",
    "dpexp run dimension.yaml": "five dimensions, for each of which a kernel is compiled",
    "dpexp plot dimension": "shows them",
    "dpexp table dimension": "shows them",
    "dpexp advise huber-linear --mu 1 -n 20000": "ten seconds of trials",
}
"""commands that are run with the slow tests, by how they begin, and why"""


def shown(page: Path) -> list[Example]:
    """The commands of a page."""
    return [one for block in docs.blocks(page) if block.language in ("sh", "console") for one in examples(block)]


def fate(example: Example) -> str:
    """By what a command is run: by itself, with its page, with the plug-ins of its page, or not at all."""
    page, command = example.block.page, example.command
    if begins(command, {start: reason.words for start, reason in NOT_RUN.items()}):
        return "not run"
    if page == TUTORIAL:
        return "slow with its page" if begins(command, SLOW) else "with its page"
    if "lab/" in command and not any(example.output):
        return "slow with its plug-ins"
    if any(example.output) and not begins(command, docs.NOT_RUN):
        return "slow by itself" if begins(command, docs.SLOW) else "by itself"
    return "slow with its page" if begins(command, SLOW) else "with its page"


def test_no_list_holds_a_dead_entry_and_every_reason_is_so():
    everything = [one for page in PAGES for one in shown(page) if one.command.strip()]
    printing = [one for one in everything if any(one.output)]
    for given, starts in ((everything, (*NOT_RUN, *AT_TOY_SIZE, *SLOW)), (printing, (*docs.SLOW, *docs.NOT_RUN))):
        for start in starts:
            assert any(one.command.startswith(start) for one in given), start
    for one in everything:
        if fate(one) == "not run":
            words = next(iter(commands(one.command)))
            reason = next(reason for start, reason in NOT_RUN.items() if one.command.startswith(start))
            assert reason.holds(words), f"{one.block}: {one.command}: it is not so that {reason.words}"
    counts = Counter(map(fate, everything))
    assert counts["not run"] <= 23, counts
    assert sum(counts.values()) == len(everything)


def test_a_reason_that_is_not_so_is_noticed():
    assert not NOT_RUN["dpexp plot hidden_state_figure"].holds(["dpexp", "plot", "figure2"])
    assert not NOT_RUN["make test"].holds(["make", "tests"])
    assert not NOT_RUN["PIP_CONSTRAINT="].holds(["dpexp", "run"])


@pytest.mark.parametrize(
    "example",
    [
        one
        for page in PAGES
        for one in shown(page)
        if page != TUTORIAL and one.command.startswith("dpexp plot") and any(one.output)
    ],
    ids=lambda one: f"{one.block} {one.command}",
)
def test_files_of_figures_are_those_that_are_written(example):
    """Also of figures that are not drawn here: their names follow from the figure's."""
    names = [word for word in shlex.split(example.command)[2:] if not word.startswith("-")]
    wanted = [f"results/figures/{n}.{form}" for n in names for form in ("png", "pdf", "csv", "caption.txt")]
    assert [line for line in example.output if line] == wanted


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
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    (tmp_path / "mine.yaml").write_text(MINE)
    for name in ("people.csv", "new_people.csv"):
        (tmp_path / name).write_text(docs.people())
    for block in all_blocks("yaml"):
        if block.file and not block.of_the_package and "/" not in block.file:
            (tmp_path / block.file).write_text(block.text + "\n")
        elif (named := re.match(r"experiment: *(\w+)\n", block.text)) and not (tmp_path / f"{named[1]}.yaml").exists():
            (tmp_path / f"{named[1]}.yaml").write_text(block.text + "\n")
    return Desk(tmp_path)


def in_order(desk: Desk, page: Path, kinds: tuple[str, ...]) -> int:
    """Run the commands of a page that are of one of these fates; how many there were."""
    mine = [one for one in shown(page) if fate(one) in kinds]
    if mine and (first := BEFORE.get(str(page.relative_to(ROOT)))):
        desk.run(first)
    for one in mine:
        check(one, desk.run(one.command))
    return len(mine)


def pages_with(kind: str) -> list[Path]:
    return [page for page in PAGES if page != TUTORIAL and any(fate(one) == kind for one in shown(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("with its page"), ids=lambda page: page.name)
def test_commands_of_a_page_run_in_their_order(page, page_desk):
    assert in_order(page_desk, page, ("with its page",))


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("slow with its page"), ids=lambda page: page.name)
def test_long_commands_of_a_page_run_in_their_order(page, page_desk):
    assert in_order(page_desk, page, ("slow with its page",))


def tutorial(desk: Desk, monkeypatch: pytest.MonkeyPatch, kinds: tuple[str, ...]) -> None:
    """Read the tutorial from its beginning: save the files that it shows, run its Python, run its commands."""
    monkeypatch.chdir(desk.folder)
    assert not list(desk.folder.iterdir())
    names: dict = {"__name__": "tutorial"}
    for block in docs.blocks(TUTORIAL):
        if block.file:
            (desk.folder / block.file).write_text(block.text + "\n")
        elif block.language == "python" and "with its page" in kinds:  # it reads what the commands before it stored
            exec(compile(block.text, str(block), "exec"), names)
        for one in examples(block) if block.language in ("sh", "console") else []:
            if fate(one) in kinds:
                check(one, desk.run(one.command))


@pytest.mark.slow
def test_the_tutorial_goes_from_an_empty_folder_to_a_page(tmp_path, monkeypatch):
    tutorial(Desk(tmp_path), monkeypatch, ("with its page",))
    for file in ("figures/first.png", "figures/first.caption.txt", "people/cells.parquet", "report.html"):
        assert (tmp_path / "results" / file).is_file(), file


@pytest.mark.slow
def test_long_commands_of_the_tutorial_run(tmp_path, monkeypatch):
    tutorial(Desk(tmp_path), monkeypatch, ("slow with its page",))


def test_a_wrong_page_is_noticed(tmp_path):
    block = all_blocks("console")[0]
    right = Example(block, "dpexp run x", ["name  time   folder", "----  -----  ------", "x     8.6 s  r", "..."])
    check(right, "name  time  folder\n----  ----  ------\nx     12 s  r\nmore\n")
    with pytest.raises(AssertionError):
        check(right, "name  time  folder\n----  ----  ------\ny     12 s  r\nmore\n")
    with pytest.raises(AssertionError):
        Desk(tmp_path).run("dpexp run nothing.yaml")
