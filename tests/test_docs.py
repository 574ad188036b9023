"""The pages say what is so: their commands parse, their examples give what is printed, their names and links exist."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.commands.cli import app
from dpexp.config.card import card_of
from dpexp.config.experiment_file import read_experiment
from dpexp.config.shipped import config_folders
from dpexp.config.yamlfile import parse
from dpexp.data.adult import census
from dpexp.papers import figures, our_papers, overlays, tables
from dpexp.plugins import loading as plugins
from dpexp.privacy.mechanisms import MECHANISMS, NoisySgd
from dpexp.problems import PROBLEMS
from tests.conftest import ROOT, call
from tests.plugin_lab import using
from tests.test_layout import LEVELS

FRONT = ("README.md", "NOTATION.md", "CONTRIBUTING.md", "research/README.md")
PAGES = [ROOT / name for name in FRONT] + sorted((ROOT / "docs").glob("*.md")) + sorted((ROOT / "shelf").rglob("*.md"))
TEXTS = [
    *sorted((ROOT / "docs/gallery").glob("*.py")),
    *sorted((ROOT / "results").glob("**/*.md")),
    *sorted((ROOT / "results/figures").glob("*.txt")),
]
"""other texts that name commands: sources of the gallery, the ledger, tables and captions"""
IN_ORDER = ROOT / "docs/tutorial.md"
"""its commands and its Python follow from one another: `test_docs_in_order.py` runs it"""
"""sh is for commands alone, console for commands with what they print, text for what is no code"""
SHELL = {"python3"}
"""programs besides dpexp, make and the tools of the environment"""

DEAR = re.compile(r"dpexp (advise|calibrate|judge|receipt|privacy --mechanism)\b")
"""examples with output that are run with the slow tests: laws are computed, inverted or simulated in seconds"""
NOT_RUN = {
    "dpexp plot": "needs stored results that are current, or minutes of exact laws",
}
"""examples with output that are not run as they are: `test_docs_in_order.py` runs them at toy size, or says why not"""

MINE = """experiment: mine
problem:   {name: huber-linear, d: 5, sgima: 2.0}
schedule:  {alpha: 1/2}
privacy:   {mu: 0}
run: {n: 1000, seed: 1}
"""


def people() -> str:
    """A small table with the columns that the pages speak of."""
    rows = [f"{20 + 7 * k % 60},{('clerk', 'cook', 'nurse')[k % 3]},{('low', 'high')[k % 5 == 0]}" for k in range(600)]
    return "\n".join(["age,job,income", *rows, ""])


@cache
def census_table() -> str:
    """The shipped census as a table."""
    return census().to_csv(index=False)


def public_inputs() -> str:
    """The public inputs that the page on regression shows."""
    return next(b.text for b in blocks(ROOT / "docs/regression.md") if b.language == "text" and "ranges:" in b.text)


class Block(NamedTuple):
    """A fenced block of a page."""

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

    @property
    def of_the_package(self) -> bool:
        """Whether it shows a file of the package, and not one that a reader writes."""
        return self.file.startswith("dpexp/")


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


def begins(command: str, listed: dict[str, str]) -> str:
    return next((why for start, why in listed.items() if command.startswith(start)), "")


@cache
def parser():
    return get_command(app)


def apart(words: list[str]) -> tuple[list[str], list[str]]:
    """The options --plugin of a command, which `dpexp` itself takes wherever they stand; and the other words."""
    named = [k for k, word in enumerate(words) if word == "--plugin"]
    taken = {k + j for k in named for j in (0, 1)}
    return [words[k] for k in sorted(taken)], [word for k, word in enumerate(words) if k not in taken]


@cache
def experiments() -> set[str]:
    """Experiments that are shipped, or whose config a page shows."""
    shown = re.findall(r"^experiment: *(\S+)", "\n".join(b.text for b in all_blocks("yaml")), re.MULTILINE)
    folders = (*config_folders(), *ROOT.glob("shelf/*"))
    return {path.stem for folder in folders for path in folder.glob("*.yaml")} | set(shown)


def check_dpexp(words: list[str], strict: bool) -> None:
    """Parse a dpexp command without running it, and look up what it names. Where not `strict`, arguments may lack."""
    if words and ({"--help", "--help-all"} & {*words} or words[0] == "--version"):
        return
    with_plugins, words = apart(words)
    name, arguments = words[0], words[1:]
    assert name in parser().commands, f"no command {name}"
    try:
        given = parser().commands[name].make_context(name, list(arguments)).params
    except Exception as error:  # the parser's own classes move from version to version
        if strict or type(error).__name__ != "MissingParameter":
            raise AssertionError(f"{name}: {error}") from error
        return
    known = {} if with_plugins else {"plot": {**figures(), **overlays()}, "table": tables()}.get(name, {})
    # with --mechanism the words are parameters
    for word in given.get("names") or [] if known and not given.get("mechanism") else []:
        experiment = Path(word).name in experiments()
        assert word in known or experiment or Path(word).stem.isupper(), (
            f"no {name} and no experiment of the name {word}"
        )
    assert with_plugins or given.get("paper") in (None, "ID", *our_papers())
    claims = [claim.id for paper in our_papers().values() for claim in paper.claims]
    for word in given.get("asked") or [] if name == "claims" and not with_plugins else []:
        known_claim = any(fnmatch(claim, f"{word}*") or fnmatch(claim, f"*/{word}*") for claim in claims)
        assert known_claim or word.isupper() or word.startswith(("shelf/", "answers/")), f"no claim {word}"
    named = given.get("mechanism")
    if named and named != "NAME":
        keys = [word.split("=")[0] for word in arguments if "=" in word and not word.startswith("-")]
        targets = {"order", "mu", "rho", "rdp", "eps"}
        allowed = {*MECHANISMS[named].model_fields, "delta", "alphas", "key", *targets}
        assert set(keys) <= allowed, f"{named} has no {set(keys) - allowed}"
    for word in (w for w in arguments if w.startswith("configs/")):
        assert list(ROOT.glob(word)), f"no {word}"


def check_command(words: list[str], strict: bool = True) -> None:
    """A line of a shell: the program is known, and what it names exists."""
    program = words[0].removeprefix(".venv/bin/")
    while re.fullmatch(r"\w+=\S*", program):
        words = words[1:]
        program = words[0].removeprefix(".venv/bin/")
    if program == "dpexp":
        check_dpexp(words[1:], strict)
    elif program == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), words
    elif program == "python" and words[1] == "-m":
        assert importlib.util.find_spec(words[2]), words[2]
        for word in words[3:]:
            assert not word.startswith("tests/") or (ROOT / word).exists(), word
    else:
        assert program in {*SHELL, "pip"}, program


@pytest.mark.parametrize("block", all_blocks("sh", "console"), ids=str)
def test_commands_and_options_exist(block):
    assert examples(block), "a block of commands has none"
    for example in examples(block):
        for words in commands(example.command):
            check_command(words)


def within(page: Path) -> list[list[str]]:
    """Commands within the text of a page."""
    texts = re.findall(r"`((?:dpexp|make) [^`]+)`", prose(page))
    found = [words for text in texts for words in commands(text.replace("\\|", "|").replace("\n", " "))]
    return [words for words in found if words[0] in ("dpexp", "make")]


@pytest.mark.parametrize("page", [*PAGES, *TEXTS], ids=lambda page: page.name)
def test_commands_within_the_text_exist(page):
    for words in within(page):
        check_command(words, strict=False)


def is_whole(words: list[str]) -> bool:
    """Whether a command within a text can be run as it is: it takes seconds, writes nothing and has no placeholder."""
    reads = words[0] == "dpexp" and words[1] in ("calibrate", "init", "list", "privacy", "receipt", "table", "validate")
    named = (words[1] == "table" and words[-1] in tables()) or {"--schema", "--card", "--plugin"} & {*words}
    given = any("=" in word or word.startswith("configs/") for word in words)
    return bool(reads and (given or named)) and not re.search(r"\.\.\.|[A-Z]{2}|\||@|--tradeoff", " ".join(words))


WHOLE = {" ".join(words): words for page in (*PAGES, *TEXTS) for words in within(page) if is_whole(words)}


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(WHOLE))
def test_whole_commands_within_the_text_run(command, desk):
    done = call(*WHOLE[command][1:], cwd=desk, code=None)
    assert done.returncode in (0, 1, 3), done.stderr  # stored results may be stale


def sentences(module: Path) -> Iterator[str]:
    """What a file of the package may print: its texts, with X for what is filled in."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_what_is_printed_names_no_file_that_a_wheel_lacks():
    for module in sorted((ROOT / "dpexp").rglob("*.py")):
        tree = ast.parse(module.read_text())
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        said = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, documented)}
        for sentence in sentences(module):
            assert sentence in said or not re.search(r"\bdocs/[\w-]+\.md", sentence), f"{module}: {sentence}"
    for text in (path.read_text() for path in (ROOT / "dpexp/papers").rglob("*.yaml")):
        assert not re.search(r"\bdocs/[\w-]+\.md", text)


def test_commands_of_hints_exist_with_their_options():
    known, seen = parser().commands, set()
    for module in sorted((ROOT / "dpexp").rglob("*.py")):
        for sentence in sentences(module):
            for name, rest in re.findall(r"\bdpexp ([a-z]+)\b([^`.;,:)\n]*)", sentence):
                named = re.findall(r"(?<!\S)--[a-z][a-z-]*", rest)
                if name in known:
                    options = {word for one in known[name].params for word in (*one.opts, *one.secondary_opts)}
                    assert {*named} <= options | {"--plugin", "--debug", "--help"}, f"{module}: {sentence}"
                    seen.add(name)
    assert len(seen) > 10


def test_a_wrong_command_is_noticed():
    for wrong in (
        "dpexp ran configs/linear_d5.yaml",
        "dpexp run --profil smoke configs/linear_d5.yaml",
        "dpexp plot figure22",
        "dpexp claims --paper ldp",
        "dpexp run configs/linear_d6.yaml",
        "dpexp privacy --mechanism noisy-sgd batchsize=3",
        "make reproduction",
        ".venv/bin/python -m dpexp.runner",
    ):
        with pytest.raises(AssertionError):
            check_command(shlex.split(wrong))


def outputs(slow: bool) -> list[Example]:
    """The examples whose output is printed and that are run."""
    found = [example for block in all_blocks("console") for example in examples(block) if any(example.output)]
    found = [example for example in found if example.block.page != IN_ORDER]
    return [e for e in found if not begins(e.command, NOT_RUN) and bool(DEAR.match(e.command)) == slow]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with the files that the pages speak of."""
    (tmp_path / "mine.yaml").write_text(MINE)
    (tmp_path / "people.csv").write_text(people())
    (tmp_path / "census.csv").write_text(census_table())
    (tmp_path / "census.yaml").write_text(public_inputs())
    for page in PAGES:
        for block in blocks(page):
            if block.language in ("python", "yaml") and block.file and not block.of_the_package:
                (tmp_path / block.file).parent.mkdir(exist_ok=True)
                (tmp_path / block.file).write_text(block.text + "\n")
    for folder in ("configs", "docs", "research", "results"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    with using():  # whatever a test loads is forgotten
        yield tmp_path


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


def invoked(words: list[str]):
    """What a command of dpexp does, run in this process."""
    with_plugins, rest = apart(words[1:])
    return CliRunner().invoke(app, [*with_plugins, *rest], catch_exceptions=False)


@pytest.mark.parametrize(
    "example",
    [*outputs(slow=False), *(pytest.param(one, marks=pytest.mark.slow) for one in outputs(slow=True))],
    ids=lambda one: f"{one.block} {one.command[:40]}",
)
def test_examples_print_what_the_page_shows(example, desk):
    (words,) = commands(example.command)
    printed = [line.rstrip() for line in invoked(words).output.splitlines()]
    assert agrees(example.output, printed), "\n".join(printed)


def test_a_wrong_output_is_noticed():
    assert agrees(["a", "...", "c 1..."], ["a", "b", "c 123"])
    assert not agrees(["a", "c"], ["a", "b", "c"])
    assert not agrees(["a", "..."], ["b"])
    assert not agrees(["a"], ["a", "b"])


def completed(text: str) -> str:
    """A config made of the sections that a page shows."""
    if not re.search(r"^experiment:", text, re.MULTILINE):
        text = f"experiment: shown\n{text}"
    if not re.search(r"^run:", text, re.MULTILINE):
        text += "\nrun: {replicates: 2, seed: 1}\n"
    return text


@pytest.mark.parametrize("block", all_blocks("yaml"), ids=str)
def test_configs_are_valid(block, desk):
    if block.text.startswith("card:"):
        assert card_of(parse(block.text, block.file)).phases
        return
    assert read_experiment(completed(block.text), block.file or "shown.yaml").cells


ABSENT = {
    'features="network"': "torch", "import dp_accounting": "dp_accounting", "from distributed": "distributed",
    "from dask_jobqueue": "dask_jobqueue", "from dask_kubernetes": "dask_kubernetes",
}  # fmt: skip
"""what a python block needs that is not always installed, by what is in it"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if p != IN_ORDER and any(b.language == "python" for b in blocks(p))],
    ids=lambda p: p.name,
)
def test_python_blocks_run(page, desk):
    """The blocks of a page in their order, which share their names."""
    names: dict = {"__name__": "page"}
    for block in blocks(page):
        if block.language != "python":
            continue
        if block.of_the_package:
            assert block.text.strip() in (ROOT / block.file).read_text(), f"{block}: {block.file} has changed"
            continue
        code = compile(block.text, str(block), "exec")
        if re.search(r"^PLUGIN = ", block.text, re.MULTILINE):
            plugins.use(block.file)
            continue
        needs = next((package for mark, package in ABSENT.items() if mark in block.text), "")
        if needs in ("torch", "dask_jobqueue", "dask_kubernetes"):  # images, or machines, which a user has
            continue
        if needs and importlib.util.find_spec(needs) is None:
            continue
        exec(code, names)


def of_plugins() -> list[str]:
    """The commands by which the page tries its own plug-ins, in their order."""
    shown = [e.command for b in blocks(ROOT / "docs/extending.md") if b.language == "sh" for e in examples(b)]
    return [command for command in shown if "lab/" in command or "docs/plugins/" in command]


@pytest.mark.parametrize("file", sorted((ROOT / "docs/plugins").glob("*.py")), ids=lambda file: file.stem)
def test_examples_of_plugins_load(file):
    with using(file):
        assert f"({file.parent.name}/{file.name})" in (ROOT / "docs/extending.md").read_text()


@pytest.mark.slow
def test_plugins_of_the_page_do_what_it_says(desk, few_problems):
    """The commands in their order, on a results folder of their own: every one succeeds."""
    (desk / "results").unlink()
    assert len(of_plugins()) >= 6
    printed = {}
    for command in of_plugins():
        with using():  # a command of its own: it knows what it names, and no more
            result = invoked(shlex.split(command))
        assert result.exit_code == 0, f"{command}\n{result.output}"
        printed[command] = result.output
    (ledger,) = (text for command, text in printed.items() if command.startswith("dpexp claims"))
    assert re.search(r"directions/figure-1\b.*\breproduced\b", ledger, flags=re.DOTALL), ledger
    assert (desk / "results/figures/directions.csv").exists()


def slug(title: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower().replace("`", "")).strip().replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", prose(file), re.MULTILINE)
            assert anchor in map(slug, titles), target


PATH = re.compile(r"(?<![\w/.-])((?:dpexp|tests|configs|results|benchmarks|docs)/[\w./*<>-]*)")
STORED = re.compile(
    r"results/[^/]+/(trajectories|partial|orphaned|provenance)|results/stamps|\.csv$|results/figures|report\.html|\.published"
)


def test_paths_exist():
    shown = {found[1] for b in all_blocks("yaml") if (found := re.match(r"experiment: (\w+)", b.text)) and b.file}
    for page in PAGES:
        for path in PATH.findall(page.read_text()):
            path = path.rstrip(".")
            if "<" in path or re.search(r"[A-Z]{3,}(?!S\.md)", path) or STORED.search(path):
                continue
            if path.removeprefix("results/").split("/")[0] in shown:  # of a config that the reader writes
                continue
            assert list(ROOT.glob(path.rstrip("/"))), f"{page.name}: {path}"


def resolve(name: str) -> object:
    """The module, or the attribute of one, that a dotted name means."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        module = ".".join(parts[:count])
        try:
            found: object = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_dotted_names_exist(page):
    for name in re.findall(r"`(dpexp(?:\.\w+)+)`", prose(page)):
        if name != "dpexp.plugins":  # a group of entry points
            assert resolve(name) is not None, name


"""the files that others import or start"""


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


@pytest.mark.slow
def test_names_in_the_notation_are_those_of_the_code():
    package = "\n".join(path.read_text() for path in sorted((ROOT / "dpexp").rglob("*.py")))
    for row in re.findall(r"^\|.*", (ROOT / "NOTATION.md").read_text(), re.MULTILINE):
        for code in re.findall(r"`([^`]+)`", re.split(r"(?<!\\)\|", row)[2]):
            for word in re.findall(r"[A-Za-z_]\w*", code):
                assert re.search(rf"\b{word}\b", package), f"{word}: {row}"


def test_the_picture_has_every_room_on_its_floor():
    picture = next(block.text for block in blocks(ROOT / "docs/architecture.md") if block.language == "text")
    floors = re.split(r"^ (?:roof|floor +\d+|ground)", picture, flags=re.MULTILINE)[:0:-1]
    drawn = [set(re.findall(r"(\w+)/ ", floor)) for floor in floors]
    assert drawn == [level - {"roof"} for level in LEVELS]
