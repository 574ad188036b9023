"""Cards from what other programs keep: the history of an Opacus accountant, and the event trees of dp_accounting.

Both say what was accounted, not what ran: the sampler stays unknown. They are read as JSON, and neither library is
needed. An accountant writes its history by `json.dump(engine.accountant.state_dict(), file)`, and an event its tree by
`json.dump(event.to_named_tuple(), file)`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from dpexp.config.reader import ConfigError
from dpexp.config.yamlfile import Issue, Located, Position

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
    if isinstance(value, tuple) and len(value) >= 2 and _is_event(value):
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


def _is_event(value: tuple[Any, ...]) -> bool:
    return isinstance(value[0], str) and isinstance(value[1], str) and value[1].endswith("Event")


def _of_event(tree: tuple[Any, ...], at: Position) -> tuple[Located, tuple[str, ...]]:
    """A tree of `[module, class, fields...]`, the fields in the order of the class."""
    found: list[tuple[str, PhaseValues, dict[str, Any]]] = []
    _walk(tree, 1, found, at)
    samplers = {sampler for sampler, phase, _ in found if phase[1] < 1} or {"full-batch"}
    if len(samplers) > 1:
        raise _refused(f"batches of several kinds ({', '.join(sorted(samplers))})", at)
    ((sampler),) = samplers
    extra = next((more for _, _, more in found if more), {})
    root = Located({}, at)
    return _fields([phase for _, phase, _ in found], {"accounted_as": sampler, **extra}, {}, root), (TREE,)


def _walk(node: Any, times: int, found: list[tuple[str, PhaseValues, dict[str, Any]]], at: Position) -> None:
    """Step by step through a tree: what each event becomes, or why it is refused. Nothing is left out."""
    if not (isinstance(node, tuple) and len(node) >= 2 and _is_event(node)):
        raise _refused("something that is no event", at)
    name, fields = node[1], node[2:]
    if name == "NoOpDpEvent":
        return
    if name == "ComposedDpEvent":
        for part in fields[0]:
            _walk(part, times, found, at)
    elif name == "SelfComposedDpEvent":
        _walk(fields[0], times * int(fields[1]), found, at)
    elif name == "GaussianDpEvent":
        found.append(("full-batch", (float(fields[0]), 1.0, times), {}))
    elif name == "PoissonSampledDpEvent":
        found.append(("poisson", (_gaussian(fields[1], at), float(fields[0]), times), {}))
    elif name == "SampledWithoutReplacementDpEvent":
        size, batch = int(fields[0]), int(fields[1])
        more = {"records": size, "relation": "replace-one"}
        found.append(("fixed-size", (_gaussian(fields[2], at), batch / size, times), more))
    elif name == "TruncatedSubsampledGaussianDpEvent":
        size, q, cap, z = fields
        found.append(("truncated-poisson", (float(z), float(q), times), {"records": int(size), "cap": int(cap)}))
    else:
        raise _refused(name, at)


def _gaussian(node: Any, at: Position) -> float:
    """The noise multiplier of Gaussian releases on one draw of a batch: k looks at it are one of z / sqrt(k)."""
    looks: list[tuple[str, PhaseValues, dict[str, Any]]] = []
    _walk(node, 1, looks, at)
    if not looks or any(sampler != "full-batch" for sampler, _, _ in looks):
        raise _refused("a sampled event that is not of Gaussian ones", at)
    return 1 / math.sqrt(math.fsum(times / z**2 for _, (z, _, times), _ in looks))


def _refused(what: str, at: Position) -> ConfigError:
    return ConfigError([Issue(at, f"cannot account {what}", "nothing of a tree is left out: account it elsewhere")])
