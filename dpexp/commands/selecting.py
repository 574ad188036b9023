"""What `dpexp plot` and `dpexp table` share: whether a name is a shipped figure or table, an experiment or a folder.

The rule: a word with a slash is a folder of results. Any other word is the shipped figure or table of that name, where
there is one, else the experiment of that name in the results folder, else a folder of results that lies here. Where a
word is both shipped and an experiment, the shipped one is meant, and a line says how the other is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from dpexp.config.messages import listed
from dpexp.config.shipped import shipped as shipped_configs
from dpexp.core.errors import DpexpError, ResultsMissing, UsageError
from dpexp.core.files import Damaged
from dpexp.core.terminal import note
from dpexp.core.text import counted, guess
from dpexp.reporting.of_results.gather import Source
from dpexp.store import Folder
from dpexp.store.files import read_document
from dpexp.store.folder import experiments_in, holds_results

T = TypeVar("T")


class Chosen(NamedTuple):
    """What was named: shipped figures or tables, and results."""

    shipped: list[str]
    sources: list[Source]


class Shows(Protocol):
    """A shipped figure or table, as far as it is chosen here."""

    @property
    def needs(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Refused:
    """A figure or table that today's results do not allow, and why."""

    name: str
    why: str
    hint: str


def unless_refused(function: Callable[..., T], what: str | Source, *arguments: object) -> T | Refused:
    """What the function makes of a shipped name or a result, or why it cannot."""
    try:
        return function(what, *arguments)
    except DpexpError as error:
        return Refused(what.name if isinstance(what, Source) else what, error.message, error.hint)


def at_hand(known: Mapping[str, Shows], what: str, results: Path) -> Chosen:
    """What the results of a folder allow: shipped figures or tables, and each result that none of these shows.

    What shows other results as well is named in a line, and all that shows none of these in one.
    """
    names = set(experiments_in(results))
    shipped = [name for name, one in known.items() if one.needs and set(one.needs) <= names]
    partly = {name: set(one.needs) - names for name, one in known.items() if set(one.needs) & names}
    for name, lacking in partly.items():
        if lacking:
            note(f"{name}: not made, because it shows {listed(sorted(lacking))} too, and {results} does not hold it")
    if names and (others := len(known) - len(partly)):
        note(f"{counted(others, what)} of the papers for other experiments: dpexp run @NAME computes one")
    seen = {need for name in shipped for need in known[name].needs}
    return Chosen(shipped, [Source(results, name) for name in sorted(names - seen)])


def those_made(outcomes: Iterable[T | Refused], results: Path) -> list[T]:
    """What could be made of what is at hand, a line for each that could not. Raises ResultsMissing if nothing could."""
    made: list[T] = []
    refused: list[Refused] = []
    for outcome in outcomes:
        if isinstance(outcome, Refused):
            refused.append(outcome)
        else:
            made.append(outcome)
    if not made:
        first = refused[0] if refused else Refused("", "there are no results in it", "run: dpexp run @linear_d5")
        raise ResultsMissing(first.why if refused else f"{results}: {first.why}", first.hint)
    for one in refused:
        note(f"{one.name}: not made, because {one.why}" + (f" ({one.hint})" if one.hint else ""))
    return made


def select(names: Sequence[str], every: bool, known: Collection[str], what: str, results: Path) -> Chosen:
    """What is meant, each once, or all that is shipped. Raises UsageError for an unknown name.

    `what` is "figure" or "table".
    """
    if every:
        return Chosen(list(known), [])
    shipped, sources = [], []
    for name in dict.fromkeys(names):
        if is_path(name):
            sources.append(_folder(name, what))
        elif name in known:
            shipped.append(name)
            if holds_results(results / name):
                other = f"dpexp {what.replace('figure', 'plot')} {results / name}"
                note(f"'{name}' is the shipped {what}; the experiment of that name: {other}")
        elif holds_results(results / name) or name in _configs() or name in shipped_configs():
            sources.append(Source(results, name))
        elif holds_results(Path(name)):
            sources.append(_folder(name, what))
        else:
            raise unknown(name, known, what, results)
    return Chosen(shipped, list(dict.fromkeys(sources)))


def unknown(name: str, known: Collection[str], what: str, results: Path) -> UsageError:
    """The error that lists what there is."""
    experiments = sorted({*_configs(), *experiments_in(results)})
    hint = f"{guess(name, [*known, *experiments, *shipped_configs()])}{what}s: {listed(known)}"
    hint += f"; experiments: {', '.join(experiments)}" if experiments else f"; no experiments in {results}"
    return UsageError(f"no {what} and no experiment '{name}'", f"{hint}; a plug-in's needs --plugin FILE.py")


def is_path(name: str) -> bool:
    """Whether a word can only be meant as a folder."""
    return os.sep in name or name in (".", "..") or name.startswith("~")


def _folder(name: str, what: str) -> Source:
    path = Path(name).expanduser()
    path = path if path.name not in ("", "..") else path.resolve()
    if not holds_results(path):
        raise UsageError(
            f"{path} holds no results",
            f"{guess(path.name, experiments_in(path.parent))}give a folder such as results/linear_d5",
        )
    renamed = False
    with suppress(Damaged, OSError, KeyError):
        renamed = read_document(Folder(path.parent, path.name).manifest)["experiment"] != path.name
    return Source(path.parent, path.name, renamed)


def _configs() -> list[str]:
    """Experiments that have a config here, by the names of the files."""
    return sorted(path.stem for path in Path("configs").glob("*.yaml"))


def stem(sources: Sequence[Source], taken: Collection[str], marks: Iterable[str]) -> str:
    """The name of the files of results: theirs, with what was asked for; never that of a shipped figure or table."""
    name = "_and_".join(dict.fromkeys(source.name for source in sources))
    name = "_".join([name[:80], *(mark for mark in marks if mark)])
    return f"{name}_result" if name in taken else name
