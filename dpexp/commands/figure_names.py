"""Names of `dpexp plot` and `dpexp table`: a folder of results, a shipped figure or table, else an experiment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dpexp.config.error_messages import listed
from dpexp.config.shipped import shipped as shipped_configs
from dpexp.core.errors import DpexpError, ResultsMissing, UsageError
from dpexp.core.terminal import each, note
from dpexp.core.text import guess
from dpexp.store.folder import experiments_in, holds_results

if TYPE_CHECKING:
    from dpexp.reporting.figure import Figure
    from dpexp.reporting.text_table import Table

T = TypeVar("T")
Work = str | tuple[Path, ...]
"""one figure or table: a shipped one by its name, or that of some results together"""


@dataclass(frozen=True)
class Selection:
    """Where names are looked up."""

    kind: str
    """figure or table"""
    known: Mapping[str, Figure] | Mapping[str, Table]
    """those that are shipped, by name"""
    results: Path
    for_results: bool = False
    """whether an option is used that shipped ones do not take"""

    def apply(
        self, make: Callable[..., T], names: Sequence[str], all_of: Sequence[str], options: Sequence[Any]
    ) -> list[T]:
        """Make everything that is named, and all of some shipped ones; with neither, what the stored results allow."""
        if self.for_results and not (names or all_of):
            command = f"dpexp {self.kind.replace('figure', 'plot')}"
            raise UsageError("--metric and the like need a name", f"{command} NAME, or its folder")
        named = bool(names or all_of)
        work = [*all_of, *self.select(names)]
        if not named:  # shipped ones whose results are all in the folder, and each result that none of these shows
            here = experiments_in(self.results)
            work = [name for name, item in self.known.items() if item.needs and {*item.needs} <= {*here}]
            in_shipped = {need for name in work for need in self.known[str(name)].needs}
            work += [(self.results / name,) for name in here if name not in in_shipped]
        titles = [item if isinstance(item, str) else " and ".join(folder.name for folder in item) for item in work]
        made, errors = list[T](), dict[str, DpexpError]()
        for title, item in each(list(zip(titles, work, strict=True)), self.kind, lambda pair: pair[0]):
            try:
                made.append(make(item, *options))
            except DpexpError as error:
                if named:
                    raise
                errors[title] = error
        if not made:  # the first error has the command to run
            nothing = ResultsMissing(f"{self.results}: there are no results in it", "run: dpexp run @linear_d5")
            raise next(iter(errors.values()), nothing)
        for title, why in errors.items():
            note(f"{title}: not made, because {why.message}" + (f" ({why.hint})" if why.hint else ""))
        return made

    def single(self, names: Sequence[str]) -> Work:
        """What is named. Raises UsageError where it is not one figure or table."""
        work = self.select(names)
        if len(work) != 1:
            hint = f"several results make one {self.kind}; a shipped {self.kind} is made alone"
            raise UsageError(f"one {self.kind} at a time", hint)
        return work[0]

    def select(self, names: Sequence[str]) -> list[Work]:
        """What is meant, each once. Raises UsageError for an unknown name, and for options that a shipped one lacks."""
        work = [self._lookup(name) for name in dict.fromkeys(names)]
        shipped = [item for item in work if isinstance(item, str)]
        folders = tuple(dict.fromkeys(item for item in work if isinstance(item, Path)))
        if shipped and self.for_results:
            needs = " ".join(str(self.results / name) for name in self.known[shipped[0]].needs)
            message = f"--metric and the like are for results, and '{shipped[0]}' is a shipped {self.kind}"
            raise UsageError(message, f"name its results: {needs}" if needs else "")
        return [*shipped, *([folders] if folders else [])]

    def _lookup(self, name: str) -> str | Path:
        if is_path(name):
            return result_folder(Path(name).expanduser())
        if name in self.known:
            return name
        configs = [path.stem for path in Path("configs").glob("*.yaml")]
        experiments = sorted({*configs, *experiments_in(self.results)})
        if name in experiments or name in shipped_configs():
            return self.results / name
        hint = f"{guess(name, [*self.known, *experiments, *shipped_configs()])}{self.kind}s: {listed(self.known)}"
        hint += f"; experiments: {', '.join(experiments)}" if experiments else f"; no experiments in {self.results}"
        raise UsageError(f"no {self.kind} and no experiment '{name}'", f"{hint}; a plug-in's needs --plugin FILE.py")


def is_path(name: str) -> bool:
    """Whether a word can only be meant as a folder."""
    return os.sep in name or name in (".", "..") or name.startswith("~")


def result_folder(path: Path, results: Path | None = None) -> Path:
    """A folder with a name that holds results; of one word also the experiment of that name in `results`.

    Raises UsageError.
    """
    if results and not path.exists() and len(path.parts) == 1 and holds_results(results / path):
        return results / path
    path = path if path.name not in ("", "..") else path.resolve()
    if not holds_results(path):
        near = guess(str(path), [str(path.parent / name) for name in experiments_in(path.parent)])
        raise UsageError(f"{path} holds no results", f"{near}give a folder such as results/linear_d5")
    return path
