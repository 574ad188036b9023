"""Which claims a command line asks for: by id, by the beginning of one, by a pattern, by paper and by verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.reporting.ledger.judgement import Judgement
from dpexp.reporting.verdict import VERDICTS

_PATTERN = frozenset("*?[")


def chosen(ids: Sequence[str], asked: Sequence[str], paper: str | None, papers: Iterable[str]) -> list[str]:
    """The ids that are asked for, in their order; all where nothing is. Raises UsageError for a name that fits none."""
    known = list(papers)
    if paper is not None and paper not in known:
        raise UsageError(
            f"no claims of a paper '{paper}'",
            f"{guess(paper, known)}papers: {', '.join(known)}; a plug-in's needs --plugin FILE.py",
        )
    mine = [one for one in ids if paper is None or one.split("/")[0] == paper]
    if not asked:
        return mine
    wanted = {one for word in asked for one in _fitting(word, mine, paper)}
    return [one for one in mine if one in wanted]


def _fitting(word: str, ids: Sequence[str], paper: str | None) -> list[str]:
    """An id itself with what lies below it, else ids that match a pattern, else those that begin like this.

    The paper may be left out: theorem-3 is that of every paper.
    """
    clean = word.strip("/")
    for fits in (_below, _matches, str.startswith):
        if found := [one for one in ids if fits(one, clean) or fits(one.partition("/")[2], clean)]:
            return found
    of = f" of the paper '{paper}'" if paper else ""
    names = [*ids, *(one.partition("/")[2] for one in ids)]
    raise UsageError(
        f"no claim{of} is called '{word}'", f"{guess(clean, names)}`dpexp claims --format table` lists them"
    )


def _below(one: str, word: str) -> bool:
    return one == word or one.startswith(f"{word}/")


def _matches(one: str, word: str) -> bool:
    return bool(_PATTERN & set(word)) and fnmatchcase(one, word)


def known_verdicts(words: Sequence[str]) -> Sequence[str]:
    """Verdicts that are asked for. Raises UsageError where one is none."""
    for word in words:
        if word not in VERDICTS:
            raise UsageError(
                f"--verdict '{word}' is no verdict", f"{guess(word, VERDICTS)}verdicts: {', '.join(VERDICTS)}"
            )
    return words


def with_verdicts(judgements: Sequence[Judgement], verdicts: Sequence[str]) -> list[Judgement]:
    """Those with one of these verdicts, stale ones by the verdict that they had; all where none is asked for."""
    return [one for one in judgements if not verdicts or one.found.get("verdict") in verdicts]
