"""What a paper is: the claims, figures and tables of one reproduction behind a single value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.reporting.figure import Drawing, Figure

if TYPE_CHECKING:
    from dpexp.reporting.claim import Check, Claim, Verdict
    from dpexp.reporting.of_results.lines import Theory
    from dpexp.reporting.table import Table


class NotClaimed(NamedTuple):
    """A numbered statement, figure, table or emphasised sentence of a paper that no claim settles."""

    place: str
    what: str
    because: str


class ToKnow(NamedTuple):
    """A sentence for a reader who will use the paper. Its numbers are those of the rows on which it rests."""

    says: str
    rests_on: Mapping[str, Verdict]
    """the claims of the paper that carry it, by id, each with the verdict that the sentence presumes"""


@dataclass(frozen=True)
class Paper:
    """One reproduction. Ours are of this shape, and so are those of plug-ins."""

    id: str
    """its name everywhere: in claims, figures, tables and on the command line"""
    title: str
    authors: str
    claims: tuple[Claim, ...] = ()
    """in the order of the paper"""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    configs: tuple[str, ...] = ()
    """experiments that reproduce it: the names of their configs"""
    not_claimed: tuple[NotClaimed, ...] = ()
    """with the claims, every numbered statement, figure, table and emphasised sentence of the paper and its abstract"""
    overlays: Mapping[str, Figure] = field(default_factory=dict)
    """figures that can also be drawn with theory laid over them (`dpexp plot --theory`), by the plain figure's name"""
    bibliography: Mapping[str, str] = field(default_factory=dict)
    """what else is known of where it appeared, by BibTeX's names: eprint, year, note"""
    theory: Theory | None = None
    """what it predicts of cells of any experiment, for reference slopes and `dpexp plot RESULT --theory`"""
    headlines: Mapping[str, str] = field(default_factory=dict)
    """the claims that a reader should see first, by their ids, each with what it found in one sentence"""
    what_to_know: tuple[ToKnow, ...] = ()
    """five sentences that a page begins with"""


def in_words(module: str) -> dict[str, Any]:
    """What a paper says to its readers, for `Paper`: `in_words.yaml` beside the file of the module."""
    return words_of(data_of(Path(module).with_name("in_words.yaml")))


def words_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """Headlines, what to know, and what no claim settles, for `Paper`."""
    return {
        "headlines": found.get("headlines", {}),
        "what_to_know": tuple(ToKnow(**entry) for entry in found.get("what_to_know", ())),
        "not_claimed": tuple(NotClaimed(**entry) for entry in found.get("not_claimed", ())),
    }


def in_rows(module: str, checks: Mapping[str, Check]) -> tuple[Claim, ...]:
    """The claims of a paper, for `Paper`: their words are rows of `claims.yaml` beside the file of the module."""
    return claims_of(data_of(Path(module).with_name("claims.yaml")), checks, module)


def claims_of(rows: Mapping[str, Any], checks: Mapping[str, Check], origin: str) -> tuple[Claim, ...]:
    """Claims from their words and their checks, by id, in the order of the rows.

    Raises ValueError for a row without a check, or a check without a row.
    """
    if alone := sorted(rows.keys() ^ checks.keys()):
        raise ValueError(f"{origin}: a row without a check, or a check without a row: {', '.join(alone)}")
    return tuple(checks[name].claim(name, **words) for name, words in rows.items())


Drawn = tuple[Callable[[Path], Drawing], tuple[str, ...]]
"""what draws a figure, and the experiments whose stored results it shows"""


def in_captions(module: str, paper: str, drawn: Mapping[str, Drawn]) -> tuple[Figure, ...]:
    """The figures of a paper, for `Paper`, with the captions of `in_words.yaml` beside the file of the module."""
    return figures_of(data_of(Path(module).with_name("in_words.yaml"))["figures"], paper, drawn)


def figures_of(captions: Mapping[str, Any], paper: str, drawn: Mapping[str, Drawn]) -> tuple[Figure, ...]:
    """Figures from their captions and what draws them, in the order of the captions. KeyError: nothing draws one."""
    return tuple(
        Figure(name, said["caption"], paper, said["place"], needs, draw)
        for name, said in captions.items()
        for draw, needs in [drawn[name]]
    )


@cache
def data_of(path: Path) -> Any:
    """What a YAML file of a paper says."""
    import yaml

    # the loader in Python takes ten times as long
    return yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
