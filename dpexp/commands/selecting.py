"""What `dpexp plot` and `dpexp table` share: whether a name is a shipped figure or table, an experiment or a folder.

The rule: a word with a slash is a folder of results, or `PAPER/NAME`, a shipped figure or table. Any other word is the
shipped figure or table of that name, where there is one, else the experiment of that name in the results folder, else a
folder of results that lies here. Where a word is both shipped and an experiment, the shipped one is meant, and a line
says how the other is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from dpexp.config.messages import listed
from dpexp.config.shipped import shipped as shipped_configs
from dpexp.core.errors import DpexpError, ResultsMissing, UsageError
from dpexp.core.files import Damaged, at_home
from dpexp.core.terminal import note
from dpexp.core.text import counted, guess
from dpexp.reporting.results.gather import Source
from dpexp.reporting.worker_processes import in_processes, outcomes
from dpexp.store import Folder
from dpexp.store.files import read_document
from dpexp.store.folder import experiments_in, holds_results

T = TypeVar("T")
Work = str | tuple[Source, ...]
"""one figure or table: a shipped one by its name, or that of some results together"""


class Chosen(NamedTuple):
    """What was named: shipped figures or tables, and results, each tuple of which makes one."""

    shipped: list[str]
    results: list[tuple[Source, ...]]

    @property
    def work(self) -> list[Work]:
        """Everything that is to be made."""
        return [*self.shipped, *self.results]

    @property
    def titles(self) -> list[str]:
        """What progress calls it."""
        return [*self.shipped, *(" and ".join(source.name for source in some) for some in self.results)]


class Shows(Protocol):
    """A shipped figure or table, as far as it is chosen here."""

    @property
    def needs(self) -> tuple[str, ...]: ...

    @property
    def paper(self) -> str: ...


@dataclass(frozen=True)
class Selection:
    """Among what is chosen."""

    what: str
    """figure or table"""
    known: Mapping[str, Shows]
    """those that are shipped, by name"""
    results: Path
    given: Sequence[str]
    """options on the command line that are for results alone"""

    @property
    def command(self) -> str:
        return f"dpexp {self.what.replace('figure', 'plot')}"

    def made(
        self, function: Callable[..., T], names: Sequence[str], whole: Sequence[str], arguments: tuple[Any, ...]
    ) -> list[T]:
        """The function, with these arguments, of everything that is named, and of shipped ones that are wanted whole.

        Where neither is given: of what the stored results allow, with a line for each that could not be made.
        """
        if not names and not whole:
            if self.given:
                raise UsageError(f"{self.given[0]} is for results", f"name them: {self.command} NAME, or its folder")
            chosen = self.at_hand()
            found = outcomes(function, [(one, *arguments) for one in chosen.work], self.what, chosen.titles)
            return self.those_made(list(zip(chosen.titles, found, strict=True)))
        chosen = self.select(names, whole)
        long = {name for name in chosen.shipped if not self.known[name].needs}  # they compute all that they show
        return in_processes(function, [(one, *arguments) for one in chosen.work], self.what, chosen.titles, long=long)

    def only_one(self, names: Sequence[str]) -> Work:
        """The one that is named. Raises UsageError where there are several."""
        work = self.select(names).work
        if len(work) != 1:
            hint = f"several results make one {self.what}; a shipped {self.what} is made alone"
            raise UsageError(f"one {self.what} at a time", hint)
        return work[0]

    def at_hand(self) -> Chosen:
        """What the results of a folder allow: shipped figures or tables, and each result that none of these shows.

        What shows other results as well is named in a line, and all that shows none of these in one.
        """
        names, needs = set(experiments_in(self.results)), {name: set(one.needs) for name, one in self.known.items()}
        # Only what all stored results allow, and nothing of theory alone.
        shipped = [name for name, own in needs.items() if own and own <= names]
        partly = {name: own - names for name, own in needs.items() if own & names}
        for name, lacking in partly.items():
            if lacking:
                also = f"it shows {listed(sorted(lacking))} too, and {self.results} does not hold it"
                note(f"{name}: not made, because {also}")
        if names and (others := len(self.known) - len(partly)):
            note(f"{counted(others, self.what)} of the papers for other experiments: dpexp run @NAME computes one")
        # A result that a shipped figure shows needs none of its own.
        seen = {need for name in shipped for need in needs[name]}
        return Chosen(shipped, [(Source(self.results, name),) for name in sorted(names - seen)])

    def those_made(self, found: Sequence[tuple[str, T | DpexpError]]) -> list[T]:
        """What could be made of what is at hand. Raises ResultsMissing if nothing could."""
        refused = [(name, one) for name, one in found if isinstance(one, DpexpError)]
        if len(refused) == len(found):
            nothing = ResultsMissing(f"{self.results}: there are no results in it", "run: dpexp run @linear_d5")
            # Where nothing could be made, the first refusal says what to run.
            first = refused[0][1] if refused else nothing
            raise ResultsMissing(first.message, first.hint)
        for name, error in refused:
            note(f"{name}: not made, because {error.message}" + (f" ({error.hint})" if error.hint else ""))
        return [one for _, one in found if not isinstance(one, DpexpError)]

    def select(self, names: Sequence[str], whole: Sequence[str] = ()) -> Chosen:
        """What is meant, each once. Raises UsageError for an unknown name, and for options that a shipped one lacks."""
        shipped, sources = [*whole], []
        # `ldp-sgd/figure2` is that figure, whatever else is called figure2
        by_paper = {f"{one.paper}/{name}": name for name, one in self.known.items() if one.paper}
        for name in dict.fromkeys(names):
            if name in by_paper and not holds_results(Path(name)):
                shipped.append(by_paper[name])
            elif is_path(name):
                sources.append(_folder(name, self.what))
            elif name in self.known:
                shipped.append(name)
                # Two things of one name: the one that is not meant is named too.
                if holds_results(self.results / name):
                    other = f"the experiment of that name: {self.command} {self.results / name}"
                    note(f"'{name}' is the shipped {self.what}; {other}")
            elif holds_results(self.results / name) or name in _configs() or name in shipped_configs():
                sources.append(Source(self.results, name))
            elif holds_results(Path(name)):
                sources.append(_folder(name, self.what))
            else:
                raise self.unknown(name)
        if shipped and self.given:
            needs = " ".join(str(self.results / name) for name in self.known[shipped[0]].needs)
            hint = f"name its experiment: {self.command} {needs}" if needs else ""
            raise UsageError(f"{self.given[0]} is for results, and '{shipped[0]}' is a shipped {self.what}", hint)
        return Chosen(list(dict.fromkeys(shipped)), [tuple(dict.fromkeys(sources))] if sources else [])

    def unknown(self, name: str) -> UsageError:
        """The error that lists what there is."""
        experiments = sorted({*_configs(), *experiments_in(self.results)})
        hint = f"{guess(name, [*self.known, *experiments, *shipped_configs()])}{self.what}s: {listed(self.known)}"
        hint += f"; experiments: {', '.join(experiments)}" if experiments else f"; no experiments in {self.results}"
        return UsageError(f"no {self.what} and no experiment '{name}'", f"{hint}; a plug-in's needs --plugin FILE.py")


def is_path(name: str) -> bool:
    """Whether a word can only be meant as a folder."""
    return os.sep in name or name in (".", "..") or name.startswith("~")


def _folder(name: str, what: str) -> Source:
    path = at_home(Path(name))
    path = path if path.name not in ("", "..") else path.resolve()
    if not holds_results(path):
        raise UsageError(
            f"{path} holds no results",
            f"{guess(path.name, experiments_in(path.parent))}give a folder such as results/linear_d5",
        )
    renamed = False
    with suppress(Damaged, OSError, KeyError):
        # A copy keeps the name that it had in its manifest.
        renamed = read_document(Folder(path.parent, path.name).manifest)["experiment"] != path.name
    return Source(path.parent, path.name, renamed)


def _configs() -> list[str]:
    """Experiments that have a config here, by the names of the files."""
    return sorted(path.stem for path in Path("configs").glob("*.yaml"))
