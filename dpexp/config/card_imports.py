"""Cards from what other programs keep: the history of an Opacus accountant, and the event trees of dp_accounting.

Both say what was accounted, not what ran: the sampler stays unknown. They are read as JSON, and neither library is
needed. An accountant writes its history by `json.dump(engine.accountant.state_dict(), file)`, and an event its tree by
`json.dump(event.to_named_tuple(), file)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from dpexp.config.yamlfile import ConfigError, Issue, Located, Position
from dpexp.privacy.accounting.gaussian_events import NotAccounted, is_event, kinds_of

HISTORY = "an accountant's history says what was accounted, not what ran: the sampler is not known from it"
TREE = "an event says what was accounted, not what ran: the sampler is not known from it"
CENTRAL_LIMIT = "the accountant `gdp` approximates by the central limit theorem, and can state less than is true"
PhaseValues = tuple[float, float, int]
"""noise multiplier, sampling probability, steps"""


def imported(root: Located) -> tuple[Located, tuple[str, ...]] | None:
    """The fields of a card, and what has to be said, of a history or an event tree; None where it is neither."""
    if isinstance(root.value, dict) and "history" in root.value:
        return _of_history(root)
    value = root.plain()
    if is_event(value):
        return _of_event(value, root.where)
    return None


def _of_history(root: Located) -> tuple[Located, tuple[str, ...]]:
    """`{"history": [[sigma, q, steps], ...], "mechanism": "rdp"}`."""
    entries = root.value["history"].plain()
    good = isinstance(entries, tuple) and entries and all(isinstance(e, tuple) and len(e) == 3 for e in entries)
    if not good or not all(isinstance(x, int | float) for entry in entries for x in entry):
        raise ConfigError([Issue(root.value["history"].where, "a history is [[sigma, sample_rate, steps], ...]")])
    own = {key: value for key, value in root.value.items() if key not in ("history", "mechanism")}
    notes = [HISTORY]
    if "mechanism" in root.value and root.value["mechanism"].value == "gdp":
        notes.append(CENTRAL_LIMIT)
    return _fields(entries, {"accounted_as": "poisson"}, own, root), tuple(notes)


def _fields(phases: Sequence[PhaseValues], more: dict[str, Any], own: dict[str, Located], root: Located) -> Located:
    """A card's fields from phases, of which equal neighbours become one."""
    merged = [(*kind, sum(p[2] for p in same)) for kind, same in groupby(phases, key=lambda p: (p[0], p[1]))]
    columns = zip(("noise_multiplier", "sampling_probability", "steps"), zip(*merged, strict=True), strict=True)
    at = root.where
    values = {name: Located([Located(x, at) for x in column], at) for name, column in columns}
    values |= {name: Located(value, at) for name, value in more.items()}
    return Located(values | own, at, dict(root.keys))


def _of_event(tree: tuple[Any, ...], at: Position) -> tuple[Located, tuple[str, ...]]:
    """The tree of an event of dp_accounting, as nested lists."""
    try:
        kinds = kinds_of(tree)
    except NotAccounted as error:
        raise _refused(str(error), at) from None
    samplers = {kind.sampler for kind in kinds if kind.sampling_probability < 1} or {"full-batch"}
    if len(samplers) > 1:
        raise _refused(f"batches of several kinds ({', '.join(sorted(samplers))})", at)
    (sampler,) = samplers
    more: dict[str, Any] = {"accounted_as": sampler}
    for kind in kinds:
        more |= {name: value for name in ("records", "cap") if (value := getattr(kind, name)) is not None}
    if sampler == "fixed-size":
        more["relation"] = "replace-one"
    phases = [(kind.noise_multiplier, kind.sampling_probability, kind.steps) for kind in kinds]
    return _fields(phases, more, {}, Located({}, at)), (TREE,)


def _refused(what: str, at: Position) -> ConfigError:
    return ConfigError([Issue(at, f"cannot account {what}", "nothing of a tree is left out: account it elsewhere")])
