"""The reproductions; and all claims, figures and tables by name, those of loaded plug-ins among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TypeVar

from dpexp.core.errors import UsageError
from dpexp.core.parameters import BUILT_IN, Registry
from dpexp.plugins import Plugin
from dpexp.plugins.loaded import LOADED, Loaded
from dpexp.plugins.shape import place_of
from dpexp.reporting.claim import Claim
from dpexp.reporting.figure import Figure
from dpexp.reporting.paper import Paper, ToKnow
from dpexp.reporting.results.gather import Theory
from dpexp.reporting.text_table import Table

T = TypeVar("T")


@cache
def our_papers() -> Registry[Paper]:
    """The reproductions that dpexp itself brings, by their ids."""
    # when they are first asked for: what uses the code of one paper alone would wait for all
    from dpexp.papers.dp_sgld import PAPER as DP_SGLD
    from dpexp.papers.hidden_state import PAPER as HIDDEN_STATE
    from dpexp.papers.inference import PAPER as INFERENCE
    from dpexp.papers.ldp_sgd import PAPER as LDP_SGD
    from dpexp.papers.momentum import PAPER as MOMENTUM
    from dpexp.papers.noisy_sgd import PAPER as NOISY_SGD

    ours = (LDP_SGD, NOISY_SGD, HIDDEN_STATE, DP_SGLD, MOMENTUM, INFERENCE)
    return Registry("paper", {paper.id: paper for paper in ours})


def papers() -> Registry[Paper]:
    """Every paper by its id, those of plug-ins too. Raises UsageError where two share an id."""
    registry: Registry[Paper] = Registry("paper", our_papers())
    for loaded in LOADED.values():
        for paper in _each(loaded.plugin.papers, Paper, loaded):
            list(_each(paper.what_to_know, ToKnow, loaded))
            registry.add(paper.id, paper, place_of(paper.id, loaded))
    return registry


def claims() -> dict[str, tuple[Claim, ...]]:
    """The claims of every paper, by its id; a plug-in may add claims to a paper of ours."""
    all_claims = _every(Claim, lambda holder: holder.claims, lambda claim: claim.id).values()
    ids = dict.fromkeys([*papers(), *(claim.paper for claim in all_claims)])
    return {paper: tuple(claim for claim in all_claims if claim.paper == paper) for paper in ids}


def figures() -> Registry[Figure]:
    """Every figure by its name."""
    return _every(Figure, lambda holder: holder.figures, lambda figure: figure.name)


def tables() -> Registry[Table]:
    """Every table by its name."""
    return _every(Table, lambda holder: holder.tables, lambda table: table.name)


def overlays() -> dict[str, Figure]:
    """The figures that can be drawn with theory laid over them, by the name of the plain figure."""
    return {name: figure for paper in papers().values() for name, figure in paper.overlays.items()}


def theories() -> tuple[Theory, ...]:
    """What papers predict of cells of any experiment, those of plug-ins too."""
    return tuple(paper.theory for paper in papers().values() if paper.theory is not None)


def _every(
    kind: type[T], entries_of: Callable[[Paper | Plugin], Sequence[object]], name_of: Callable[[T], str]
) -> Registry[T]:
    """What papers and plug-ins hold of one kind, ours first. Raises UsageError where two have one name."""
    registry: Registry[T] = Registry(kind.__name__.lower(), {})
    for paper in our_papers().values():
        for entry in entries_of(paper):
            if isinstance(entry, kind):
                registry.add(name_of(entry), entry, BUILT_IN)
    for loaded in LOADED.values():
        holders: list[Paper | Plugin] = [*_each(loaded.plugin.papers, Paper, loaded), loaded.plugin]
        for holder in holders:
            for entry in _each(entries_of(holder), kind, loaded):
                registry.add(name_of(entry), entry, place_of(name_of(entry), loaded))
    return registry


def _each(values: Iterable[object], kind: type[T], loaded: Loaded) -> Iterator[T]:
    """The values, all of this kind. Raises UsageError, since plug-ins are written by hand."""
    for value in values:
        if not isinstance(value, kind):
            description = value.__name__ if isinstance(value, type) else f"a value of type {type(value).__name__}"
            message = f"{description} is among the {kind.__name__.lower()}s"
            raise UsageError(f"{place_of('PLUGIN', loaded)}: {message}", f"each is a {kind.__module__}.{kind.__name__}")
        yield value
