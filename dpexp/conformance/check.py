"""What a check is: a function that tries one promise of one thing, and says what it tried or what is wrong.

It has toy results, which are computed once each when they are asked for.
"""

from __future__ import annotations

import inspect
import re
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from dpexp.config.shipped import config_folders
from dpexp.core.digests import digest
from dpexp.core.errors import DpexpError
from dpexp.core.files import MOST_OF_DOCUMENT, read_ordinary
from dpexp.core.text import counted

T = TypeVar("T")
Outcome = Literal["ok", "failed", "not tried"]


class Failed(Exception):
    """A promise that is not kept, in words; `at` is the function or class whose lines are to be looked at."""

    def __init__(self, message: str, at: object = None) -> None:
        super().__init__(message)
        self.at = at


class NotTried(Exception):
    """Why a check says nothing here."""


class ToyExperiments:
    """Experiments at the size of `--profile smoke`, in one folder that several processes may share."""

    def __init__(self, root: Path, configs: Sequence[Path] = (Path("configs"),), figures: Path | None = None) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.figures = figures
        """where the numbers of figures are kept for others; None draws each anew"""
        self.configs = tuple(configs)
        """folders of config files, looked through in this order"""

    def config_of(self, experiment: str) -> Path | None:
        """The config file of an experiment, in the first folder that has one, the file of its name before others."""
        # read as text: none of these files need be a config, and parsing them all would take long
        named = re.compile(rf"""^experiment:\s*["']?{re.escape(experiment)}["']?\s*(#.*)?$""", re.MULTILINE)
        for folder in self.configs:
            for path in (folder / f"{experiment}.yaml", *sorted(folder.glob("*.yaml"))):
                with suppress(OSError, UnicodeDecodeError):
                    if named.search(read_ordinary(path, MOST_OF_DOCUMENT).decode("utf-8-sig")):
                        return path
        return None

    def results(self, experiments: Sequence[str]) -> Path:
        """A results folder that holds exactly these experiments. Raises Failed for one that has no config."""
        from filelock import FileLock

        wanted = sorted(set(experiments))
        folder = self.root / "views" / digest(wanted, 12) / "results"
        with FileLock(self.root / "views.lock"):
            folder.mkdir(parents=True, exist_ok=True)
        for experiment in wanted:
            # Every experiment is computed once, and lies in one place.
            computed = self._computed(experiment)
            link = folder / experiment
            with FileLock(self.root / "views.lock"):
                if not link.is_symlink():
                    # Links to some of them: whoever reads another experiment than it has asked for finds nothing there.
                    link.symlink_to(computed.resolve(), target_is_directory=True)
        return folder

    def _computed(self, experiment: str) -> Path:
        from filelock import FileLock

        from dpexp.config.experiment_file import load_experiment
        from dpexp.config.resources import require_room
        from dpexp.config.yamlfile import ConfigError
        from dpexp.store.run import Options, run

        config = self.config_of(experiment)
        if config is None:
            places = ", ".join("the shipped ones" if one in config_folders() else str(one) for one in self.configs)
            raise Failed(f"needs the experiment '{experiment}', of which there is no config in {places}")
        done = self.root / f"{experiment}.done"
        # Several processes may ask at once: the first computes, and the others wait for it.
        with FileLock(self.root / f"{experiment}.lock"):
            if not done.exists():
                toy = load_experiment(config, profile="smoke")
                try:
                    require_room(toy)
                except ConfigError as error:
                    raise NotTried(f"the experiment '{experiment}': {error.issues[0].message}") from None
                report = run(toy, Options(self.root / "all" / "results", quiet=True))
                if report.failed:
                    raise Failed(f"{counted(report.failed, 'cell')} of the experiment '{experiment}' ({config}) failed")
                # Written last, so that a run which was killed is gone on with.
                done.touch()
        return self.root / "all" / "results" / experiment


@dataclass(frozen=True)
class Subject(Generic[T]):
    """One thing to be checked: an entry of a registry."""

    kind: str
    """algorithm, problem, figure, ..."""
    name: str
    value: T


@dataclass(frozen=True)
class Check(Generic[T]):
    """One promise. `run` returns what it tried; it raises Failed, or NotTried where there is nothing to try."""

    name: str
    tries: str
    """one sentence"""
    run: Callable[[Subject[T], ToyExperiments], str]


@dataclass(frozen=True)
class Result:
    """What came of one check of one subject."""

    kind: str
    what: str
    check: str
    tries: str
    outcome: Outcome
    detail: str
    where: str
    """file:line of what is wrong, where it is known; empty for what is right"""
    seconds: float

    def document(self) -> dict[str, Any]:
        """The result with the keys of `dpexp check --json`: its fields, with `result` for the outcome."""
        told = {"result" if name == "outcome" else name: value for name, value in vars(self).items()}
        return {**told, "seconds": round(self.seconds, 3)}


def carry_out(check: Check[T], subject: Subject[T], toys: ToyExperiments) -> Result:
    """The result of a check; whatever else the subject raises is a failure of its own, at the line that raised it."""
    begin = time.perf_counter()
    outcome: Outcome = "ok"
    where = ""
    try:
        detail = check.run(subject, toys)
    except NotTried as reason:
        outcome, detail = "not tried", str(reason)
    except Failed as error:
        outcome, detail = "failed", str(error)
        where = place_in_file_of(error.at, subject.value)
    except DpexpError as error:
        outcome, detail = "failed", "; ".join(filter(None, (error.message, error.hint)))
        # A message that begins with a line of a plug-in has its place already, which is then not said twice.
        located = re.match(r"(\S+\.py:\d+): ", detail)
        where = located[1] if located else place_of_error(error, subject.value)
        detail = detail.removeprefix(f"{where}: ")
    except Exception as error:  # a subject may raise anything at all: that is what is being found out
        outcome, detail = "failed", f"{type(error).__name__}: {error}"
        where = place_of_error(error, subject.value)
    seconds = time.perf_counter() - begin
    return Result(
        subject.kind, subject.name, check.name, check.tries, outcome, " ".join(detail.split()), where, seconds
    )


def place_of(value: object) -> str:
    """file:line of a class or function, of the function behind a partial, or of one that a value holds."""
    written = _written(value)
    if written is None:
        return ""
    try:
        file = inspect.getsourcefile(written)
        _, line = inspect.getsourcelines(written)
    except (OSError, TypeError):
        return ""
    return f"{_short(file)}:{max(line, 1)}" if file else ""


def place_in_file_of(part: object, value: object) -> str:
    """Where a part is written, if that is the value's own file; else, as for what is inherited, the value's place."""
    own, inner = place_of(value), place_of(part)
    return inner if inner.rpartition(":")[0] == own.rpartition(":")[0] or not own else own


def place_of_error(error: BaseException, value: object) -> str:
    """The innermost line of the file in which the value is written that led to the error; else where it is written."""
    own = place_of(value)
    file = own.rpartition(":")[0]
    # What a library raises is told at the line of the subject that called it.
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if file and _short(frame.filename) == file:
            return f"{file}:{frame.lineno}"
    return own


def _written(value: Any) -> Any:
    # A partial has no lines of its own.
    while isinstance(value, partial):
        value = value.func
    if inspect.isclass(value) or inspect.isfunction(value) or inspect.ismethod(value):
        return inspect.unwrap(value)
    if isinstance(value, tuple):
        return next(filter(None, map(_written, value)), None)
    if is_dataclass(value) and not isinstance(value, type):  # a figure, claim or paper: by the functions that it holds
        return next(filter(None, (_written(getattr(value, each.name)) for each in fields(value))), None)
    return None


def _short(file: str | None) -> str:
    """The path as it is seen from here, where that is shorter."""
    if not file:
        return ""
    path = Path(file).resolve()
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
