"""Every page runs from its first block to its last and prints what it shows; its commands, names and links exist."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import shlex
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.main import get_command

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.commands.cli import app
from dpexp.config.experiment_file import read_experiment
from dpexp.data.adult import census
from dpexp.papers import tables
from dpexp.privacy.mechanisms import MECHANISMS, NoisySgd
from dpexp.problems import PROBLEMS
from dpexp.reporting.run_card import read_card
from tests.conftest import AT_LENGTH, ROOT, at_length, call, using

FRONT = ("README.md", "NOTATION.md", "CONTRIBUTING.md", "research/README.md")
PAGES = [ROOT / name for name in FRONT] + sorted((ROOT / "docs").glob("*.md")) + sorted((ROOT / "shelf").rglob("*.md"))
TEXTS = [
    *sorted((ROOT / "docs/gallery").glob("*.py")),
    *sorted((ROOT / "results").glob("**/*.md")),
    *sorted((ROOT / "results/figures").glob("*.txt")),
]
"""other texts that name commands: sources of the gallery, the ledger, tables and captions"""

COMMANDS = get_command(app).commands
AT_SOAK = (
    "dpexp check docs/plugins/", "dpexp check lab/", "dpexp table shelf", "dpexp fit --plan", "dpexp judge table_1.py",
    ".venv/bin/dpexp plot figure2", "dpexp plot figure1 figure2", "dpexp plot clipping_or_weights",
    "dpexp calibrate --mechanism noisy-sgd", "dpexp calibrate tpr=", "dpexp plot extrapolation", "dpexp plot momentum_epochs",
    "dpexp plot figure2 --results try", "dpexp report", "dpexp plot --mechanism", "dpexp judge wrong_bound.py", "dpexp plot directions", "dpexp plot mine",
)  # fmt: skip
"""commands of seconds, whose like runs on another page or in the tests of the command"""
NOT_RUN = {
    "make ": "half an hour, or the suite that this is part of",
    "pip install": "an environment for what is run here",
    ".venv/bin/python -m pytest": "tests, which are run anyway",
    "dpexp table table1": "reads six experiments at full size",
    "dpexp table momentum_tuned": "reads three experiments at full size",
    "dpexp plot hidden_state_figure": "a minute of exact laws",
    "dpexp plot noisy_sgd_figure1": "a minute of exact laws",
    **({} if AT_LENGTH else dict.fromkeys(AT_SOAK, "make soak tries it")),
}
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
        'dpexp audit configs/linear_d5.yaml --set "privacy.mu={list: [0.5, 3]}" --set schedule.alpha=1/2 --runs 200',
}  # fmt: skip
"""commands that compute for minutes, and what is run instead: the same experiments at toy size, or fewer runs"""
BEFORE = {"figures.md": f"dpexp run configs/linear_d5.yaml configs/linear_d20.yaml {SMOKE}"}
"""what a page supposes to have been run"""
MINE = """experiment: mine
problem:   {name: softmax, data: {path: people.csv, target: income, categories: {job: [clerk, cook, nurse], income: [low, high]}, records: 200}}
algorithm: {name: dp-sgd, batch_size: 64, epochs: 2}
schedule:  {name: langevin, decreasing: false}
privacy:   {eps: 1, delta: 1e-5}
run:       {replicates: 8}
"""
"""the config that a page calls the reader's own"""


class Block(NamedTuple):
    """A fenced block of a page: sh is for commands, console for commands with what they print, text for no code."""

    page: Path
    line: int
    language: str
    text: str
    before: str
    """the paragraph above it"""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str:
        """The file that this is, by the last words above it; empty where they name none."""
        named = re.search(r"\(`([\w/]+\.(?:py|yaml))`\)[.:]\s*\Z", self.before)
        return named[1] if named else ""


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    found, lines, opened, before = [], page.read_text().splitlines(), None, ""
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            if opened is None:
                opened = number, line[3:].strip()
            else:
                text = "\n".join(lines[opened[0] : number - 1])
                found.append(Block(page, opened[0], opened[1], text, before))
                opened, before = None, ""
        elif opened is None:
            before = f"{before}\n{line}" if line.strip() else (before if before.endswith("\n") else before + "\n")
    assert opened is None, f"{page}: a block is not closed"
    return tuple(found)


def all_blocks(*languages: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page) if block.language in languages]


def prose(page: Path) -> str:
    """A page without its blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    """A command of a console block with the lines that it prints."""

    block: Block
    command: str
    output: list[str]


def examples(block: Block) -> list[Example]:
    found: list[Example] = []
    text = re.sub(r"\\\n\s*", "", block.text)
    for line in text.splitlines():
        if block.language == "sh" or line.startswith("$ "):
            found.append(Example(block, line.removeprefix("$ "), []))
        elif found:
            found[-1].output.append(line)
    return found


def commands(text: str) -> list[list[str]]:
    """The words of every command on a line; comments and pipes end one."""
    words, found = shlex.split(text, comments=True), [[]]
    for word in words:
        if word in ("&&", ";", "|", "||"):
            found.append([])
        else:
            found[-1].append(word)
    return [command for command in found if command]


def within(page: Path) -> list[list[str]]:
    """Commands within the text of a page."""
    texts = re.findall(r"`((?:dpexp|make) [^`]+)`", prose(page))
    found = [words for text in texts for words in commands(text.replace("\\|", "|").replace("\n", " "))]
    return [words for words in found if words[0] in ("dpexp", "make")]


def is_whole(words: list[str]) -> bool:
    """Whether a command within a text can be run as it is: it takes seconds, writes nothing and has no placeholder."""
    reads = words[0] == "dpexp" and words[1] in ("calibrate", "init", "list", "privacy", "receipt", "table", "validate")
    named = (words[1] == "table" and words[-1] in tables()) or {"--schema", "--card", "--plugin"} & {*words}
    given = any("=" in word or word.startswith("configs/") for word in words)
    return bool(reads and (given or named)) and not re.search(r"\.\.\.|[A-Z]{2}|\||@|--tradeoff", " ".join(words))


WHOLE = {" ".join(words): words for page in (*PAGES, *TEXTS) for words in within(page) if is_whole(words)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    sorted(name for name in WHOLE if AT_LENGTH or not re.search("stated_eps|n=300000|momentum_pres|--schema", name)),
)
def test_whole_commands_within_the_text_run(command):
    done = call(*WHOLE[command][1:], code=None)
    assert done.returncode in (0, 1, 3), done.stderr  # stored results may be stale


@cache
def sentences(module: Path) -> tuple[str, ...]:
    """What a file of the package may print: its texts, with X for what is filled in."""
    nodes = [*ast.walk(ast.parse(module.read_text()))]
    parts = [node.values for node in nodes if isinstance(node, ast.JoinedStr)]
    filled = ["".join(p.value if isinstance(p, ast.Constant) else "X" for p in values) for values in parts]
    return (*filled, *(n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)))


def test_what_is_printed_names_no_file_that_a_wheel_lacks():
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for module in sorted((ROOT / "dpexp").rglob("*.py")):
        if named := {sentence for sentence in sentences(module) if re.search(r"\bdocs/[\w-]+\.md", sentence)}:
            nodes = ast.walk(ast.parse(module.read_text()))
            assert named <= {ast.get_docstring(n, clean=False) for n in nodes if isinstance(n, documented)}, module
    for text in (path.read_text() for path in (ROOT / "dpexp/papers").rglob("*.yaml")):
        assert not re.search(r"\bdocs/[\w-]+\.md", text)


@pytest.mark.parametrize("place", [*PAGES, *TEXTS, ROOT / "dpexp"], ids=lambda place: place.name)
def test_commands_exist_with_their_options(place):
    """On pages, in the texts of results, and in what the package may print."""
    texts = [text for file in sorted(place.rglob("*.py")) for text in sentences(file)]
    for sentence in texts or [re.sub(r"\\\n\s*", "", place.read_text())]:
        for name, rest in re.findall(r"\bdpexp ([a-z]+)\b([^`;,:)#|\n]*)", sentence):
            if name in COMMANDS:
                options = {word for key in COMMANDS[name].params for word in (*key.opts, *key.secondary_opts)}
                named = re.findall(r"(?<!\S)--[a-z][a-z-]*", rest)
                assert {*named} <= options | {"--plugin", "--debug", "--help"}, f"{place}: {sentence}"
        for goal in re.findall(r"`make ([a-z-]+)", sentence):
            assert re.search(rf"^{goal}:", (ROOT / "Makefile").read_text(), re.MULTILINE), f"{place}: make {goal}"


TIME = re.compile(r"\b\d+ (min|h) \d\d (s|min)\b|\b\d+(\.\d+)? s\b")


def lines(text: str) -> list[str]:
    """Lines without trailing blanks, with times as T and gaps, which follow the widths of times, as one blank."""
    found = [TIME.sub("T", line).rstrip() for line in text.splitlines()]
    return [re.sub(r"-{3,}", "---", re.sub(r" {2,}", "  ", line)) for line in found]


def agrees(expected: list[str], printed: list[str]) -> bool:
    """Whether the lines are those printed; a line `...` stands for any number of lines, at a line's end for its rest."""
    expected = [line.rstrip() for line in expected]
    while expected and not expected[-1]:
        expected.pop()
    place, anywhere = 0, False
    for line in expected:
        if line == "...":
            anywhere = True
            continue
        rest = printed[place:] if anywhere else printed[place : place + 1]
        stem = line[:-3] if line.endswith("...") else None
        hits = [k for k, other in enumerate(rest) if (other.startswith(stem) if stem is not None else other == line)]
        if not hits:
            return False
        place, anywhere = place + hits[0] + 1, False
    return anywhere or not any(printed[place:])


@cache
def census_table() -> str:
    return census().to_csv(index=False)


class Desk:
    """A reader's folder, in which the blocks of a page are saved or run in their order."""

    def __init__(self, folder: Path, page: Path) -> None:
        self.folder, self.page, self.names = folder, page, {"__name__": "page"}
        if page.name == "tutorial.md":  # it begins in an empty folder
            return
        for name in ("configs", "research", "docs"):
            (folder / name).symlink_to(ROOT / name)
        (folder / "mine.yaml").write_text(MINE)
        (folder / "census.csv").write_text(census_table())
        rows = [
            f"{20 + 7 * k % 60},{('clerk', 'cook', 'nurse')[k % 3]},{('low', 'high')[k % 5 == 0]}" for k in range(600)
        ]
        for name in ("people.csv", "new_people.csv"):
            (folder / name).write_text("\n".join(["age,job,income", *rows, ""]))
        for block in all_blocks("yaml"):
            if named := re.match(r"experiment: *(\w+)\n", block.text):
                place = folder / f"{named[1]}.yaml"
                place.write_text(place.read_text() if place.exists() else block.text + "\n")

    def go_through(self) -> None:
        self.run(BEFORE.get(self.page.name, ""))
        for block in blocks(self.page):
            if block.file:
                (self.folder / block.file).parent.mkdir(exist_ok=True)
                (self.folder / block.file).write_text(block.text + "\n")
                os.utime(self.folder / block.file, (0, 0))  # before the command began: it keeps what it compiles
            if block.language == "text" and "ranges:" in block.text:  # what a reader fills in
                (self.folder / "census.yaml").write_text(block.text)
            lacks = "from distributed" in block.text and not (AT_LENGTH and importlib.util.find_spec("distributed"))
            if block.language == "python" and not lacks and "PLUGIN = " not in block.text:
                exec(compile(block.text, str(block), "exec"), self.names)
            for example in examples(block) if block.language in ("sh", "console") else []:
                self.check(example)

    def check(self, example: Example) -> None:
        if example.command.startswith(tuple(NOT_RUN)):
            return
        printed, shows = self.run(example.command, any(example.output)), "\n".join(example.output)
        if example.command not in AT_TOY_SIZE and any(example.output):
            assert agrees(lines(shows), lines(printed)), f"{example.block}\n$ {example.command}\n{printed}"

    def run(self, command: str, shown: bool = False) -> str:
        """What a line prints; one whose output is `shown` may fail, which the output then says."""
        printed = ""
        for words in commands(AT_TOY_SIZE.get(command.split("#")[0].strip(), command)):
            assert words[0].removeprefix(".venv/bin/") == "dpexp", words
            if words[1] == "init" and "--out" in words:  # the reader's folder has no such file yet
                (self.folder / words[words.index("--out") + 1]).unlink(missing_ok=True)
            done = call(*self._globbed(words[1:]), cwd=self.folder, code=None)
            right = (0, 1, 2, 3) if shown else (0, 1, 3) if words[1] == "claims" else (0,)  # a verdict may be stale
            assert done.returncode in right, f"{command}\n{done.stdout}{done.stderr}"
            printed += done.stdout or done.stderr
        return printed

    def _globbed(self, words: list[str]) -> list[str]:
        """As a shell hands paths over."""
        found = []
        for word in words:
            matches = sorted(self.folder.glob(word)) if "*" in word and "/" in word else []
            found += [str(path.relative_to(self.folder)) for path in matches] or [word]
        return found


def runs(page: Path) -> bool:
    """Whether a page has blocks to run; all commands of the page for evaluations compute at full size."""
    shown = any(block.language in ("sh", "console", "python") for block in blocks(page))
    return shown and page.name != "artifact.md" and "shelf" not in page.parts


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=at_length) if p.name == "figures.md" else p for p in PAGES if runs(p)],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_a_page_runs_from_its_first_block_to_its_last(page, tmp_path, monkeypatch, few_problems):
    monkeypatch.chdir(tmp_path)
    Desk(tmp_path, page).go_through()


@pytest.mark.parametrize("block", all_blocks("yaml"), ids=str)
def test_configs_are_valid(block, tmp_path, monkeypatch):
    Desk(tmp_path, block.page if block.page.name != "tutorial.md" else ROOT / "README.md")
    monkeypatch.chdir(tmp_path)
    text = block.text
    if text.startswith("card:"):
        (tmp_path / "card.yaml").write_text(text)
        assert read_card(tmp_path / "card.yaml", {}).phases
        return
    if not re.search(r"^experiment:", text, re.MULTILINE):  # some sections alone
        text = f"experiment: shown\n{text}\nrun: {{replicates: 2, seed: 1}}\n"
    for plugin in (b for b in blocks(block.page) if b.file and "PLUGIN = " in b.text):
        (tmp_path / plugin.file).parent.mkdir(exist_ok=True)
        (tmp_path / plugin.file).write_text(plugin.text)
    with using():
        assert read_experiment(text, block.file or "shown.yaml").cells


@pytest.mark.parametrize("file", sorted((ROOT / "docs/plugins").glob("*.py")), ids=lambda file: file.stem)
def test_examples_of_plugins_load_and_conform(file):
    with using(file):
        assert f"({file.parent.name}/{file.name})" in (ROOT / "docs/extending.md").read_text()
    if AT_LENGTH:
        call("check", file)


def test_names_are_explained_on_the_page_that_owns_them():
    """What a config, `--mechanism`, `--analysis` or `--metric` takes."""
    ones = dict.fromkeys(("noise_std", "lipschitz", "diameter", "smoothness"), 1.0)
    walk = NoisySgd(n=100, step_size=0.1, steps=10, batch_size=10, sampling="fixed-size", **ones)
    analyses = [found.name for found in (*walk.upper_bounds(), *walk.lower_bounds())]
    owned = {
        "config": [*PROBLEMS, *ALGORITHMS, *SCHEDULES],
        "privacy": [*MECHANISMS, *analyses],
        "file-formats": [metric for algorithm in ALGORITHMS.values() for metric in algorithm.metrics],
    }
    for page, names in owned.items():
        words = set(re.findall(r"`([^`]+)`", prose(ROOT / f"docs/{page}.md")))
        families = tuple(word for word in words if word.endswith("_"))
        for name in names:
            assert name in words or name.startswith(families), f"{page}: {name}"
