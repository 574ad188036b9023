"""Mutants of code: one line is changed in a copy of the tree, and the tests say whether they notice.

Mutants are drawn by seed, a fixed number from each part of the code (`PARTS`). Tests run in order of how likely they are to
notice: first the fast tests of the module's home (`homes_of_modules.py`), then all other fast tests that execute the changed line
(`lines_of_tests.py`), then the slow tests of its home, and where it is asked for all other fast tests. Each mutant is one line of the file of outcomes, so that a campaign can be stopped and resumed.

Tests run in a process that is forked from this one, in which numpy, scipy and numba are already there but dpexp is not.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.campaigns.equivalent_mutants import EQUIVALENT
from tests.campaigns.homes_of_modules import home
from tests.campaigns.lines_of_tests import Chosen, Watch, lines_of
from tests.campaigns.places_of_mutants import Place, is_program, module_name, places
from tests.conftest import LONGEST

ROOT = Path(__file__).parent.parent.parent
PARTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "engine": (40, ("dpexp/engine",)),
    "problems": (28, ("dpexp/problems",)),
    "algorithms": (28, ("dpexp/algorithms",)),
    "stats": (12, ("dpexp/store/stats.py", "dpexp/store/summaries.py")),
    "slopes": (14, ("dpexp/reporting/slopes.py",)),
    "checks": (18, ("dpexp/reporting/checks.py",)),
    "theory": (30, ("dpexp/theory", "dpexp/papers/ldp_sgd/predictions.py")),
    "privacy": (30, ("dpexp/privacy",)),
}
"""part of the code -> how many of 200 mutants, and where"""
Log = Callable[[str], object]
STAGES = ("near", "fast", "slow", "rest")
LIMIT_S = {"near": 150, "fast": 420, "slow": 420, "rest": 420}
"""wall clock of a file's tests; a mutant that never ends is noticed"""


class Mutant(NamedTuple):
    part: str
    path: str
    place: Place
    was: str
    """the line before the change"""

    @property
    def id(self) -> str:
        """The same as long as the line, its number of equals above it and the change stay."""
        return hashlib.sha256(
            repr((self.path, self.was, self.place.kind, self.place.new, self.place.line)).encode()
        ).hexdigest()[:10]

    def becomes(self, root: Path) -> str:
        """The line after the change."""
        return self.place.applied((root / self.path).read_bytes()).splitlines()[self.place.line - 1].decode().strip()


def files_of(part: str, root: Path = ROOT) -> list[Path]:
    wanted = [root / name for name in PARTS[part][1]]
    return sorted(p for w in wanted for p in (w.rglob("*.py") if w.is_dir() else [w]))


def drawn(count: int = 200, seed: int = 0, root: Path = ROOT) -> list[Mutant]:
    """Mutants of every part, in an order in which any first few are spread over the parts as all are.

    A module is drawn by the root of the number of its places: large ones often, small ones not never.
    """
    ranked = []
    total = sum(wanted for wanted, _ in PARTS.values())
    for part, (share, _) in PARTS.items():
        draws = random.Random(f"{seed} {part}")
        sources = {path: path.read_bytes() for path in files_of(part, root)}
        left = {path: draws.sample(found, len(found)) for path, text in sources.items() if (found := places(text))}
        wanted = max(1, round(share * count / total))
        mutants: list[Mutant] = []
        while left and len(mutants) < wanted:
            path = draws.choices(list(left), [len(found) ** 0.5 for found in left.values()])[0]
            place = left[path].pop()
            if not left[path]:
                del left[path]
            was = sources[path].splitlines()[place.line - 1].decode().strip()
            mutant = Mutant(part, path.relative_to(root).as_posix(), place, was)
            new = (mutant.path, place.line) not in {(m.path, m.place.line) for m in mutants}
            if new and is_program(place.applied(sources[path])):
                mutants.append(mutant)
        ranked += [((k + 0.5) / len(mutants), part, mutant) for k, mutant in enumerate(mutants)]
    return [mutant for _, _, mutant in sorted(ranked, key=lambda entry: entry[:2])]


# --- which tests concern a module -------------------------------------------------------------------------------


def imports(path: Path) -> set[str]:
    """Modules, or names of modules, that a file imports, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


class Tests:
    """Test files of a copy, how far each is from a module, and which of their fast tests execute which line."""

    def __init__(self, copy: Path, mutants: Sequence[Mutant], known: Path, log: Log) -> None:
        self.copy, self._known, self._log = copy, known, log
        self.files = sorted(p.relative_to(copy).as_posix() for p in (copy / "tests").glob("test_*.py"))
        everything = [*(copy / "dpexp").rglob("*.py"), *(copy / "tests").rglob("*.py")]
        names = {module_name(path, copy) for path in everything}
        self._imports = {module_name(path, copy): imports(path) & names for path in everything}
        self._statements = {
            (m.path, m.place.line): lines_of((copy / m.path).read_bytes(), m.place.line) for m in mutants
        }
        wanted: dict[str, set[int]] = {}
        for (path, _), (first, last, _) in self._statements.items():
            wanted.setdefault(path, set()).update(range(first, last + 1))
        self._wanted = wanted
        self._kept: dict[str, Any] = json.loads(known.read_text()) if known.exists() else {}
        self._asked = digest(repr(sorted((path, sorted(lines), digest(copy / path)) for path, lines in wanted.items())))

    def distance(self, test: str, module: str) -> int:
        """Imports between a test file and a module; 99 where there is no path."""
        start = test[:-3].replace("/", ".")
        seen, queue = {start}, deque([(start, 0)])
        while queue:
            name, far = queue.popleft()
            if name == module:
                return far
            for other in self._imports[name] - seen:
                seen.add(other)
                queue.append((other, far + 1))
        return 99

    def seconds(self, names: Sequence[str]) -> float:
        return sum(self._seen(name.split("::")[0])["tests"][name]["s"] for name in names)

    def around(self, module: str) -> list[str]:
        """All files, nearest first: those that import the module, that bear rare words of its name, that take long last."""
        words = {word for part in module.split(".")[1:] for word in part.split("_")}
        rare = {word: 1 / max(1, sum(word in t for t in self.files)) for word in words}

        def place(test: str) -> tuple[Any, ...]:
            far, alike = self.distance(test, module), sum(rare[word] for word in words if word in test)
            return Path(test).name in LONGEST, far > 1 and not alike, -alike, far, test

        return sorted(self.files, key=place)

    def near(self, mutant: Mutant) -> Iterator[list[str]]:
        """Fast tests of the module's home, one file at a time: the whole file, or what executes the line if that is known.

        A file in which nothing was seen to execute it is run whole: what numba compiles anew in every process is not seen.
        """
        for test in home(mutant.path):
            if test in self.files:
                yield (self.that_execute(mutant, test) if self._key(test) in self._kept else []) or [test]

    def that_execute(self, mutant: Mutant, test: str) -> list[str]:
        """Tests of a file that execute the line, those that are soon done first.

        Of a line outside of functions, tests that call a function of its module; of a line that numba compiles, all tests
        where the file uses a kernel with it.
        """
        first, last, inside = self._statements[mutant.path, mutant.place.line]
        lines = {f"{mutant.path}:{line}" for line in range(first, last + 1)} if inside else {f"{mutant.path}:0"}
        seen = self._seen(test)
        compiled = not lines.isdisjoint(seen["compiled"])
        hit = [name for name, one in seen["tests"].items() if compiled or not lines.isdisjoint(one["lines"])]
        return sorted(hit, key=lambda name: self.seconds([name]))

    def others(self, mutant: Mutant) -> Iterator[list[str]]:
        """All other fast tests that execute the line, file by file, nearest files first."""
        for test in self.around(module_name(Path(mutant.path), Path())):
            if test not in home(mutant.path):
                yield self.that_execute(mutant, test)

    def rest(self, mutant: Mutant) -> Iterator[list[str]]:
        """The fast tests that were not seen to execute the line: what they start in other processes may do."""
        away = [test for test in self.files if test not in home(mutant.path)]
        yield [n for t in away for n in self._seen(t)["tests"] if n not in set(self.that_execute(mutant, t))]

    def slow(self, mutant: Mutant) -> Iterator[list[str]]:
        """The slow tests of the module's home, and of the files that import it."""
        module = module_name(Path(mutant.path), Path())
        yield list(dict.fromkeys([*home(mutant.path), *(t for t in self.files if self.distance(t, module) <= 1)]))

    def _key(self, test: str) -> str:
        return f"{test} {digest(self.copy / test)} {self._asked}"

    def _seen(self, test: str) -> dict[str, Any]:
        """What the fast tests of a file execute. Those that fail without any mutant are left out.

        Every module that may be mutated has one more line that does nothing: a test that fails only because the text has
        changed would notice every mutant, and nothing would be learnt from it.
        """
        key = self._key(test)
        if key not in self._kept:
            touched = {path: path.read_bytes() for part in PARTS for path in files_of(part, self.copy)}
            for path, text in touched.items():
                path.write_bytes(text + b"\n_LINE_WITHOUT_EFFECT = None\n")
            try:
                self._kept[key] = watched(self.copy, test, self._wanted)
            finally:
                for path, text in touched.items():
                    path.write_bytes(text)
            for name in self._kept[key]["failed"]:
                self._log(f"{name} fails without any mutant and is left out")
            self._known.write_text(json.dumps(self._kept))
        return self._kept[key]


def digest(text: Path | str) -> str:
    """Of a text, or of a file's."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text.read_bytes()).hexdigest()[:8]


# --- running tests in a copy ------------------------------------------------------------------------------------


def copied(root: Path, target: Path) -> None:
    """What git knows of the tree and what is new in it, as it is now; results are a link."""
    known = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True
    )
    names = [name for name in known.stdout.splitlines() if not name.startswith("results/")]
    for name in [name for name in names if (root / name).is_symlink()]:  # `dpexp/configs`, a link to a folder
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if not (target / name).is_symlink():
            (target / name).symlink_to((root / name).readlink())
    names = [name for name in names if (root / name).is_file() and not (root / name).is_symlink()]
    for old in [*target.glob("dpexp/**/*.py"), *target.glob("tests/**/*.py")]:
        if old.relative_to(target).as_posix() not in names:
            old.unlink()
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if not (target / name).exists() or (target / name).read_bytes() != (root / name).read_bytes():
            shutil.copy(root / name, target / name)
    if not (target / "results").exists():
        (target / "results").symlink_to(root / "results")
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)


def preload() -> None:
    """What every test process needs and no mutant changes."""
    import dp_accounting  # noqa: F401
    import joblib  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import mpmath  # noqa: F401
    import numba  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import pydantic  # noqa: F401
    import pytest  # noqa: F401
    import scipy.special
    import scipy.stats  # noqa: F401


def ran(
    copy: Path,
    arguments: Sequence[str],
    limit_s: float,
    plugins: Sequence[object] = (),
    after: Callable[[], None] = int,
) -> tuple[str, str, float]:
    """("passed", "failed" or "never ends", by which test, CPU seconds) of pytest in a copy of the tree.

    `after` is called in the process of the tests when they have run.
    """
    import pytest

    log = copy / ".mutant.log"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(copy)
        for name in [n for n in sys.modules if n.split(".")[0] in ("tests", "dpexp")]:
            del sys.modules[name]
        sys.path[:] = [str(copy), *(p for p in sys.path if Path(p or ".").resolve() != ROOT.resolve())]
        sys.dont_write_bytecode = True
        os.environ |= {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        code = 99
        try:
            code = pytest.main(
                ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", *arguments], list(plugins)
            )
            after()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(int(code))
    end, state = time.monotonic() + limit_s, None
    while state is None:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            state = os.waitstatus_to_exitcode(status)
        elif time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            state = -99
        else:
            time.sleep(0.05)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = log.read_text(errors="replace").splitlines()
    by = next((line for line in said if line.startswith(("FAILED ", "ERROR "))), said[-1] if said else "")
    verdict = "passed" if state in (0, 5) else "never ends" if state == -99 else "failed"  # 5: no test was selected
    return verdict, by[:200], round(used, 1)


def watched(copy: Path, test: str, wanted: dict[str, set[int]]) -> dict[str, Any]:
    """Which of the wanted lines the fast tests of a file execute."""
    watch, kept = Watch(copy, wanted), copy / ".mutant.json"
    kept.write_text(json.dumps({"tests": {}, "compiled": [], "failed": [f"{test}: did not end"]}))
    ran(copy, ["-m", "not slow", test], 1200, [watch], lambda: kept.write_text(json.dumps(watch.found())) and None)
    return json.loads(kept.read_text())


def outcome(mutant: Mutant, copy: Path, tests: Tests, stages: Sequence[str]) -> dict[str, Any]:
    """What notices a mutant: the stage, the test, and CPU seconds of the stages that were tried."""
    path = copy / mutant.path
    original = path.read_bytes()
    becomes = mutant.becomes(copy)

    def parts(stage: str) -> Iterator[list[str]]:
        """Which tests run together. A file is looked into with the module as it was."""
        mutated = path.read_bytes()
        source = {"near": tests.near, "fast": tests.others, "slow": tests.slow, "rest": tests.rest}[stage](mutant)
        while True:
            path.write_bytes(original)
            names = next(source, None)
            path.write_bytes(mutated)
            if names is None:
                return
            if names:
                yield names

    cpu, noticed, by, tried = 0.0, "nothing", "", 0
    path.write_bytes(mutant.place.applied(original))
    try:
        for stage, names in ((one, names) for one in stages for names in parts(one)):
            slow = stage == "slow"
            tried += len(names)
            only = [Chosen(names)] if any("::" in name for name in names) else []
            files = list(dict.fromkeys(name.split("::")[0] for name in names))
            limit = LIMIT_S[stage] if slow else LIMIT_S[stage] + 8 * (tests.seconds(names) if only else 30)
            verdict, test, used = ran(copy, ["-x", "-m", "slow" if slow else "not slow", *files], limit, only)
            cpu += used
            if verdict == "never ends" and slow:
                by = "slow tests took too long to tell"
            elif verdict != "passed":
                noticed, by = stage, verdict if verdict == "never ends" else test
                break
    finally:
        path.write_bytes(original)
    return {
        "id": mutant.id, "part": mutant.part, "path": mutant.path, "line": mutant.place.line, "kind": mutant.place.kind,
        "was": mutant.was, "becomes": becomes, "noticed": noticed, "by": by, "tried": list(stages), "cpu_s": round(cpu, 1),
        "tests": tried,
    }  # fmt: skip


def campaign(
    mutants: Sequence[Mutant], folder: Path, cpu_minutes: float, stages: Sequence[str], again: bool, log: Log
) -> list[dict[str, Any]]:
    """Outcomes of all mutants that were tried, now or before. Those that are known are not tried again.

    A mutant that was not noticed goes on with the stages that it has not been through. `again`: it begins anew, as it
    should where tests have been added.
    """
    preload()
    copy = (
        Path(tempfile.gettempdir())
        / f"dpexp-mutants-{os.getuid()}-{hashlib.sha256(os.fsencode(ROOT)).hexdigest()[:12]}"
    )
    os.environ["DPEXP_CACHE"] = str(copy / ".kernels")
    copied(ROOT, copy)
    (copy / ".kernels").mkdir(mode=0o700, exist_ok=True)
    watched_for = list(dict.fromkeys([*drawn(200), *mutants]))  # so that a few of them ask for the same lines
    tests = Tests(copy, watched_for, folder / "lines.json", log)
    outcomes = folder / "code.jsonl"
    known = {}
    if outcomes.exists():
        known = {found["id"]: found for found in map(json.loads, outcomes.read_text().splitlines())}
    spent = 0.0
    for mutant in mutants:
        before = known.get(mutant.id)
        wanted = list(stages)
        if before is not None:
            unnoticed = before["noticed"] == "nothing"
            wanted = [s for s in stages if again or s not in before["tried"]] if unnoticed else []
            if again and before["noticed"] == "slow":
                wanted = [s for s in stages if s != "slow"]
        if not wanted:
            continue
        if spent > 60 * cpu_minutes:
            log(f"stopped after {spent / 60:.1f} CPU minutes; the same command goes on from here")
            break
        found = outcome(mutant, copy, tests, wanted)
        spent += found["cpu_s"]
        if before is not None:
            found["tried"] = list(dict.fromkeys([*before["tried"], *wanted]))
            found["cpu_s"] = round(found["cpu_s"] + before["cpu_s"], 1)
            if found["noticed"] == "nothing":
                found |= {"noticed": before["noticed"], "by": before["by"]}
        known[mutant.id] = found
        with outcomes.open("a") as file:
            file.write(json.dumps(found) + "\n")
        log(
            f"{found['noticed']:8} {found['cpu_s']:6.1f} s  {found['path']}:{found['line']}  {found['was']}  ->  {found['becomes']}   {found['by'][:110]}"
        )
    ids = {mutant.id for mutant in mutants}
    return [found for id, found in known.items() if id in ids]


def table(found: Sequence[dict[str, Any]], column: str) -> str:
    """Counts by part of the code or kind of change, and what noticed."""
    counts = Counter((f[column], f["noticed"]) for f in found)
    rows = [f"{column:12} mutants  near  fast  slow  rest  nothing"]
    for name in [*dict.fromkeys(f[column] for f in found), "all"]:
        mine = [sum(n for (a, b), n in counts.items() if name in (a, "all") and b == s) for s in (*STAGES, "nothing")]
        rows.append(f"{name:12} {sum(mine):7}  {mine[0]:4}  {mine[1]:4}  {mine[2]:4}  {mine[3]:4}  {mine[4]:7}")
    return "\n".join(rows)


def explained(found: dict[str, Any]) -> str:
    """Why nothing can notice a mutant, where that is known."""
    return EQUIVALENT.get((found["path"], found["was"], found["becomes"]), "")
