"""What `dpexp plot` and `dpexp table` share: whether a name is a shipped figure or table, an experiment or a folder.

The rule: a word with a slash is a folder of results. Any other word is the shipped figure or table of that name, where
there is one, else the experiment of that name in the results folder, else a folder of results that lies here. Where a
word is both shipped and an experiment, the shipped one is meant, and a line says how the other is written.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dpexp.config.shipped import shipped as shipped_configs
from dpexp.config.words import listed
from dpexp.core.errors import UsageError
from dpexp.core.files import Damaged
from dpexp.core.terminal import note
from dpexp.core.text import guess
from dpexp.reporting.of_results.gather import Source
from dpexp.store import Folder
from dpexp.store.files import read_document
from dpexp.store.folder import experiments_in, holds_results


class Chosen(NamedTuple):
    """What was named: shipped figures or tables, and results."""

    shipped: list[str]
    sources: list[Source]


def select(names: Sequence[str], every: bool, known: Collection[str], what: str, results: Path) -> Chosen:
    """What is meant, each once, or all that is shipped. Raises UsageError for an unknown name, or for none.

    `what` is "figure" or "table".
    """
    if every:
        return Chosen(list(known), [])
    if not names:
        raise UsageError(f"which {what}? or --all", f"an experiment or its folder, or one of: {listed(known)}")
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
