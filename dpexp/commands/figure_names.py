"""Names of `dpexp plot` and `dpexp table`: shipped figures or tables, and results.

A word with a slash is a folder of results, or `PAPER/NAME`, a shipped figure or table. Any other word is the shipped
figure or table of that name, else the experiment of that name in the results folder, else a folder of results here.
Where a word is both shipped and an experiment, the shipped one is meant, and a line gives the name of the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dpexp.config.error_messages import listed
from dpexp.config.shipped import shipped as shipped_configs
from dpexp.core.errors import DpexpError, ResultsMissing, UsageError
from dpexp.core.files import Damaged
from dpexp.core.terminal import note
from dpexp.core.text import counted, guess
from dpexp.reporting.results.gather import Source
from dpexp.reporting.worker_processes import in_processes, outcomes
from dpexp.store import Folder
from dpexp.store.documents import read_document
from dpexp.store.folder import experiments_in, holds_results

T = TypeVar("T")
Work = str | tuple[Source, ...]
"""one figure or table: a shipped one by its name, or that of some results together"""


class Shipped(Protocol):
    """A shipped figure or table, as far as it is selected here."""

    @property
    def needs(self) -> tuple[str, ...]: ...

    @property
    def paper(self) -> str: ...


@dataclass(frozen=True)
class Selection:
    """Among what names are looked up."""

    kind: str
    """figure or table"""
    known: Mapping[str, Shipped]
    """those that are shipped, by name"""
    results: Path
    options: Mapping[str, object]
    """values of the options that are for results alone"""

    @property
    def command(self) -> str:
        return f"dpexp {self.kind.replace('figure', 'plot')}"

    @property
    def option(self) -> str:
        """The first option that is for results alone; empty where there is none."""
        return next((f"--{name} is for results" for name, value in self.options.items() if value), "")

    def apply(
        self, make: Callable[..., T], names: Sequence[str], all_of: Sequence[str], options: Sequence[Any]
    ) -> list[T]:
        """Make everything that is named, and all of some shipped ones; with neither, what the stored results allow."""
        if not (names or all_of) and self.option:
            raise UsageError(self.option, f"name them: {self.command} NAME, or its folder")
        work = self.select(names, all_of) if names or all_of else self.at_hand()
        titles = [item if isinstance(item, str) else " and ".join(source.name for source in item) for item in work]
        tasks = [(item, *options) for item in work]
        if names or all_of:
            return in_processes(make, tasks, self.kind, titles)
        made = outcomes(make, tasks, self.kind, titles)
        errors = [(title, e) for title, e in zip(titles, made, strict=True) if isinstance(e, DpexpError)]
        if len(errors) == len(made):
            nothing = ResultsMissing(f"{self.results}: there are no results in it", "run: dpexp run @linear_d5")
            # Where nothing could be made, the first error has the command to run.
            first = errors[0][1] if errors else nothing
            raise ResultsMissing(first.message, first.hint)
        for title, error in errors:
            note(f"{title}: not made, because {error.message}" + (f" ({error.hint})" if error.hint else ""))
        return [result for result in made if not isinstance(result, DpexpError)]

    def single(self, names: Sequence[str]) -> Work:
        """What is named. Raises UsageError where it is not one figure or table."""
        work = self.select(names)
        if len(work) != 1:
            hint = f"several results make one {self.kind}; a shipped {self.kind} is made alone"
            raise UsageError(f"one {self.kind} at a time", hint)
        return work[0]

    def at_hand(self) -> list[Work]:
        """What the results of a folder allow: shipped ones, and each result that none of these shows.

        What shows other results as well is named in a line, and all that shows none of these in one.
        """
        here = set(experiments_in(self.results))
        needs = {name: set(item.needs) for name, item in self.known.items() if set(item.needs) & here}
        for name, own in needs.items():
            if absent := own - here:
                also = f"it shows {listed(sorted(absent))} too, and {self.results} does not hold it"
                note(f"{name}: not made, because {also}")
        if here and (others := len(self.known) - len(needs)):
            note(f"{counted(others, self.kind)} of the papers for other experiments: dpexp run @NAME computes one")
        shipped = [name for name, own in needs.items() if own <= here]
        alone = sorted(here.difference(*(needs[name] for name in shipped)))
        return [*shipped, *((Source(self.results, name),) for name in alone)]

    def select(self, names: Sequence[str], all_of: Sequence[str] = ()) -> list[Work]:
        """What is meant, each once. Raises UsageError for an unknown name, and for options that a shipped one lacks."""
        work = [*all_of, *(self._lookup(name) for name in dict.fromkeys(names))]
        shipped = list(dict.fromkeys(item for item in work if isinstance(item, str)))
        sources = tuple(dict.fromkeys(item for item in work if isinstance(item, Source)))
        if shipped and self.option:
            needs = " ".join(str(self.results / name) for name in self.known[shipped[0]].needs)
            hint = f"name its experiment: {self.command} {needs}" if needs else ""
            raise UsageError(f"{self.option}, and '{shipped[0]}' is a shipped {self.kind}", hint)
        return [*shipped, *([sources] if sources else [])]

    def _lookup(self, name: str) -> str | Source:
        by_paper = {f"{item.paper}/{own}": own for own, item in self.known.items() if item.paper}
        if name in by_paper and not holds_results(Path(name)):
            return by_paper[name]
        if is_path(name):
            return _source_at(name)
        if name in self.known:
            if holds_results(self.results / name):
                other = f"the experiment of that name: {self.command} {self.results / name}"
                note(f"'{name}' is the shipped {self.kind}; {other}")
            return name
        configs = [path.stem for path in Path("configs").glob("*.yaml")]
        if holds_results(self.results / name) or name in configs or name in shipped_configs():
            return Source(self.results, name)
        if holds_results(Path(name)):
            return _source_at(name)
        experiments = sorted({*configs, *experiments_in(self.results)})
        hint = f"{guess(name, [*self.known, *experiments, *shipped_configs()])}{self.kind}s: {listed(self.known)}"
        hint += f"; experiments: {', '.join(experiments)}" if experiments else f"; no experiments in {self.results}"
        raise UsageError(f"no {self.kind} and no experiment '{name}'", f"{hint}; a plug-in's needs --plugin FILE.py")


def is_path(name: str) -> bool:
    """Whether a word can only be meant as a folder."""
    return os.sep in name or name in (".", "..") or name.startswith("~")


def _source_at(name: str) -> Source:
    path = result_folder(Path(name).expanduser())
    renamed = False
    with suppress(Damaged, OSError, KeyError):
        # A copy keeps the name that it had in its manifest.
        renamed = read_document(Folder(path.parent, path.name).manifest)["experiment"] != path.name
    return Source(path.parent, path.name, renamed)


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
