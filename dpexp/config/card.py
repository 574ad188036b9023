"""The run card of a training program that is not dpexp: what `dpexp receipt` asks of it, and how it is read.

A card is YAML or JSON. What it leaves out is assumed, and the receipt lists every such field. The history of an Opacus
accountant or an event tree of dp_accounting becomes a card as well. Both record what was accounted, not what ran: the
sampler stays unknown. They are read as JSON, and neither library is needed. An accountant writes its history by
`json.dump(engine.accountant.state_dict(), file)`, and an event its tree by `json.dump(event.to_named_tuple(), file)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError, model_validator

from dpexp.accounting.events import NotAccounted, is_event, kinds_of
from dpexp.config.error_messages import explain, suggest
from dpexp.config.yamlfile import ConfigError, Issue, Keys, Located, Position, all_at, config_error, parse, read_bytes
from dpexp.core.parameters import Count, Parameters, RecordCount, Share
from dpexp.privacy.samplings import share_and_steps

Sampler = Literal[
    "poisson", "truncated-poisson", "fixed-size", "k-of-t", "balls-in-bins", "shuffled", "reshuffled", "cyclic",
    "cyclic-poisson", "full-batch", "unknown",
]  # fmt: skip
CardRelation = Literal["add-remove", "replace-one", "zero-out"]
NEEDS: Mapping[str, Sequence[str]] = {
    "truncated-poisson": ("cap", "records"), "k-of-t": ("selected", "steps_per_epoch"), "cyclic-poisson": ("groups",),
}  # fmt: skip
"""fields without which a sampler is not known"""
SYNONYMS: Mapping[str, str] = {"n": "records", "sampling": "sampler", "neighboring_relation": "relation"}
"""names of `dpexp privacy` -> fields of a card"""
ONE_PHASE = ("noise_multiplier", "sampling_probability", "steps")
CENTRAL_LIMIT = "the accountant `gdp` approximates by the central limit theorem, and can state less than is true"
Delta = Annotated[float, Field(gt=0, lt=1)]


class Phase(Parameters):
    """Steps in a row with the same noise and the same batches."""

    noise_multiplier: Annotated[float, Field(ge=1e-9, le=1e6)]
    sampling_probability: Share
    steps: Count


class StatedGuarantee(Parameters):
    """What a page or a paper says of the run: (eps, delta), or mu of Gaussian differential privacy."""

    eps: Annotated[float, Field(ge=0)] | None = None
    delta: Delta | None = None
    mu: Annotated[float, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _complete(self) -> StatedGuarantee:
        if (self.mu is None) == (self.eps is None) or (self.eps is None) != (self.delta is None):
            raise ValueError("state eps with delta, or mu")
        return self


class Card(Parameters):
    """A training program by what its privacy depends on."""

    card: Literal[1] = 1
    records: RecordCount | None = None  # n, the number of training records
    records_public: bool | None = None  # whether n may be known to everybody; with replace-one it always is
    relation: CardRelation = "add-remove"
    sampler: Sampler = "unknown"  # what the code did, not what was accounted
    accounted_as: Sampler | None = None
    phases: tuple[Phase, ...]
    batch_size: RecordCount | None = None
    epochs: RecordCount | None = None  # in place of steps: a short last batch of an epoch is one more
    steps_per_epoch: RecordCount | None = None  # of k-of-t
    selected: RecordCount | None = None  # of k-of-t: steps of an epoch in which a record is
    cap: RecordCount | None = None  # of truncated-poisson: largest batch
    groups: RecordCount | None = None  # of cyclic-poisson: public groups that are used in turn
    clip: Annotated[float, Field(gt=0)] | None = None
    clipping: Literal["flat", "per-layer", "microbatch", "none"] = "flat"
    microbatch_size: RecordCount = 1
    normaliser: Literal["public", "expected", "drawn", "drawn-visible"] = "public"
    """what the noisy sum is divided by: a public number, q n, or the size of the batch that was drawn"""
    dimension: RecordCount | None = None  # trainable parameters
    releases: Literal["last", "all", "average", "best-of-k"] = "all"
    batch_sizes_logged: bool = False
    tuning_runs: Annotated[int, Field(ge=0, le=10_000)] = 0  # runs on the private data besides the one that is released
    group: Annotated[int, Field(ge=1, le=1000)] = 1  # records that are protected together, as those of one person are
    stated: tuple[StatedGuarantee, ...] = ()
    delta: tuple[Delta, ...] = (1e-5,)

    @model_validator(mode="after")
    def _fits(self) -> Card:
        for field, sampler in (("sampler", self.sampler), ("accounted_as", self.accounted_as or "unknown")):
            if absent := [name for name in NEEDS.get(sampler, ()) if getattr(self, name) is None]:
                raise ValueError(f"{field} {sampler} needs {' and '.join(absent)}")
        microbatches = self.clipping == "microbatch"
        if microbatches != (self.microbatch_size > 1):
            sizes = f"clipping: {self.clipping} with microbatch_size: {self.microbatch_size}"
            need = "records that are clipped as one need clipping: microbatch and a microbatch_size above 1"
            raise ValueError(f"{sizes}; {need}")
        if self.group > 1 and microbatches:
            raise ValueError("a group of records is covered where every record is clipped alone, not in microbatches")
        if self.sampler == "full-batch" and any(phase.sampling_probability < 1 for phase in self.phases):
            raise ValueError("sampler full-batch uses all records: sampling_probability is 1, or left out")
        # a field of another sampler would be ignored; the accountant may have been told of it
        for name, owner in (("cap", "truncated-poisson"), ("selected", "k-of-t"), ("groups", "cyclic-poisson")):
            if getattr(self, name) is not None and not {owner, "unknown"} & {self.sampler, self.accounted_as}:
                raise ValueError(f"{name} is a field of sampler {owner}, not of {self.sampler}")
        return self

    def as_accounted(self) -> dict[str, Any]:
        """The sampler that was accounted, and the phases with its probabilities, which may be within a group."""
        own, other = (groups_of(name, None, self.groups) for name in (self.sampler, self.accounted_as))
        phases = [
            phase.model_copy(update={"sampling_probability": min(1.0, phase.sampling_probability * other / own)})
            for phase in self.phases
        ]
        return {"sampler": self.accounted_as, "phases": tuple(phases)}

    @property
    def assumed(self) -> list[str]:
        """Fields that the card leaves out, with what is taken for them."""
        names = (
            "records", "records_public", "relation", "sampler", "clipping", "normaliser", "releases",
            "batch_sizes_logged", "tuning_runs",
        )  # fmt: skip
        defaults = {name: getattr(self, name) for name in names if name not in self.model_fields_set}
        words = {name: str(value).lower() if isinstance(value, bool) else value for name, value in defaults.items()}
        assumed = [f"{name}: {'not known' if word is None else word}" for name, word in words.items()]
        if self.epochs is not None:
            assumed.append(f"steps: {sum(phase.steps for phase in self.phases):,}, with a short last batch of an epoch")
        return assumed


class CardRead(NamedTuple):
    """A card, and what its importer says of it."""

    card: Card
    notes: tuple[str, ...] = ()


def read_card(path: Path | None, words: Mapping[str, Any], tree: Any = None) -> CardRead:
    """The card of a file or of an event tree, with further values.

    Raises ConfigError with everything that is wrong.
    """
    root = all_at({} if tree is None else tree, Position("arguments"))
    root = parse(read_bytes(path), str(path)) if path else root
    source, notes = "an accountant's history", list[str]()
    if isinstance(root.value, dict) and isinstance(root.value.get("events"), tuple):
        # the state of `dpexp.accounting.Accountant`
        own = {key: value for key, value in root.value.items() if key not in ("events", "history", "mechanism")}
        tree_of_all = ("dp_accounting.dp_event", "ComposedDpEvent", root.value["events"])
        composed = Located(tree_of_all, root.marks, root.paths)
        root, source = all_at(_history_of_event(composed) | own, root.at()), "an event"
    if is_event(root.value):
        root, source = all_at(_history_of_event(root), root.at()), "an event"
    if not isinstance(root.value, dict):
        raise config_error(root.at(), "a card is a mapping of fields", "`dpexp init --card` prints one to fill in")
    for key, value in words.items():
        # What is typed replaces what the file says, and messages name it by its word.
        root = root.put((key,), value, Position(f"{key}="))
    if "history" in root.value:
        unknown = "" if {"sampler", "sampling"} & words.keys() else ": the sampler is not known from it"
        notes = [f"{source} records what was accounted, not what ran{unknown}"]
        notes += [CENTRAL_LIMIT] if root.value.get("mechanism") == "gdp" else []
        root = _of_history(root)
    return CardRead(card_of(root), tuple(notes))


def card_of(root: Located) -> Card:
    """The card that a mapping is. Raises ConfigError with everything that is wrong, each at its place."""
    issues: list[Issue] = []
    fields, paths = dict(root.value), dict(root.paths)
    for synonym, name in SYNONYMS.items():
        if synonym in fields and name in fields:
            issues.append(Issue(root.key(synonym), f"{synonym} and {name} are one field", "give it once"))
        elif synonym in fields:
            fields[name], paths[(name,)] = fields.pop(synonym), (synonym,)
    names = [*Card.model_fields, *ONE_PHASE, "eps", "mu", *SYNONYMS]
    issues += [Issue(root.key(k), f"unknown field '{k}'", suggest(k, names)) for k in fields if k not in names]
    values = {key: value for key, value in fields.items() if key in Card.model_fields}
    # What `eps` or `mu` beside the other fields states, at the first delta of the card or the usual one.
    claims = [{key: fields[key]} for key in ("mu", "eps") if key in fields]
    paths |= {("stated", k, key): (key,) for k, claim in enumerate(claims) for key in claim}
    if "eps" in fields:
        deltas = fields.get("delta", 1e-5)
        claims[-1]["delta"] = deltas[0] if isinstance(deltas, tuple) and deltas else deltas
        paths["stated", len(claims) - 1, "delta"] = ("delta", 0) if isinstance(deltas, tuple) else ("delta",)
    values |= {"stated": tuple(claims)} if claims else {}
    # One value may stand for a list of one.
    alone = [name for name in ("delta", "stated") if not isinstance(values.get(name, ()), tuple)]
    values |= {name: (values[name],) for name in alone}
    paths |= {(name, 0): (name,) for name in alone}
    try:
        values["phases"], places = _phases(root, fields)
    except ConfigError as error:
        issues += error.issues
    if issues:
        raise ConfigError(issues)
    try:
        return Card(**values)
    except ValidationError as error:
        hint = "`dpexp init --card` explains every field"
        raise ConfigError(explain(error, "", Located(values, root.marks, paths | places), hint)) from None


def _phases(root: Located, fields: Mapping[str, Any]) -> tuple[Any, dict[Keys, Keys]]:
    """The phases of a list, or of lists of one length that replace its fields; and where each of those is."""
    rows = fields.get("phases", ())
    own = {name: fields[name] for name in ONE_PHASE if name in fields}
    if not isinstance(rows, tuple) or not all(isinstance(row, dict) for row in rows):
        return rows, {}
    lists = {name: value if isinstance(value, tuple) else (value,) for name, value in own.items()}
    length = max(1, len(rows), *map(len, lists.values()))
    if any(len(column) not in (1, length) for column in (rows or (0,), *lists.values())):
        raise config_error(root.at(), "phases are lists of one length")
    alone: list[dict[str, Any]] = list(rows) or [{}]
    each = [alone[k % len(alone)] | {n: column[k % len(column)] for n, column in lists.items()} for k in range(length)]
    names = ("n", "batch_size", "epochs", "sampling", "selected", "steps_per_epoch")
    others = {name: fields[key] for name in names if fields.get(key := SYNONYMS.get(name, name)) is not None}
    groups = groups_of(fields.get("sampler", "unknown"), fields.get("accounted_as"), fields.get("groups"))
    try:
        each = [row | share_and_steps(row | others, groups) for row in each]
    except ValueError as error:
        raise config_error(root.key("epochs"), str(error)) from None
    # of phases that are listed every field is checked, at its place
    if not rows and (absent := [name for name in ONE_PHASE if not all(name in row for row in each)]):
        hint = "or phases: [{noise_multiplier: 1.0, sampling_probability: 0.01, steps: 1000}]"
        raise config_error(root.at(), f"a card needs {', '.join(absent)}", hint)
    paths: dict[Keys, Keys] = {}
    for name, value in own.items():
        paths |= {("phases", k, name): (name, k) if isinstance(value, tuple) else (name,) for k in range(length)}
    return tuple(each), paths


def groups_of(sampler: object, accounted_as: object, groups: object) -> int:
    """From how many groups batches are drawn in turn: 1 but for cyclic-poisson, whose probability is within a group."""
    cyclic = "cyclic-poisson" in ((accounted_as,) if sampler == "unknown" else (sampler,))
    return groups if cyclic and isinstance(groups, int) and groups > 0 else 1


def _of_history(root: Located) -> Located:
    """The fields of `{"history": [[sigma, q, steps], ...], "mechanism": "rdp"}`, with its other fields."""
    history, shape = root.value["history"], "a history is [[sigma, sample_rate, steps], ...]"
    if not isinstance(history, tuple) or not history:
        problem = "is empty: no step was accounted" if history == () else f"is {history!r}"
        raise config_error(root.at("history"), f"the history {problem}", shape)
    for k, row in enumerate(history):
        if not isinstance(row, tuple) or len(row) != len(ONE_PHASE):
            raise config_error(root.at("history", k), f"row {k + 1} of the history is {row!r}", shape)
    phases, paths = list[dict[str, Any]](), dict[Keys, Keys]({(): (), ("phases",): ("history",)})
    for _, same in groupby(enumerate(history), key=lambda row: row[1][:2]):
        rows = list(same)
        # Equal rows in a row are one with all their steps: there may be one for every step.
        if all(type(row[2]) is int and row[2] > 0 for _, row in rows):
            rows = [(rows[0][0], (*rows[0][1][:2], sum(row[2] for _, row in rows)))]
        for k, row in rows:
            paths |= {("phases", len(phases), name): ("history", k, j) for j, name in enumerate(ONE_PHASE)}
            phases.append(dict(zip(ONE_PHASE, row, strict=True)))
    # Fields may be given beside a history, which says little.
    own = {key: value for key, value in root.value.items() if key not in ("history", "mechanism")}
    return Located({"accounted_as": "poisson", "phases": tuple(phases), **own}, root.marks, paths)


def _history_of_event(root: Located) -> dict[str, Any]:
    """The history, and the fields, of the tree of an event of dp_accounting, as nested lists."""
    hint = "nothing of a tree is left out: account it elsewhere"
    try:
        kinds = kinds_of(root.value)
    except NotAccounted as error:
        raise config_error(root.at(), f"cannot account {error}", hint) from None
    # A batch of all records is no draw, whatever its event is called, unless it is cut.
    samplers = sorted({kind.sampler for kind in kinds if kind.sampling_probability < 1 or kind.cap} or {"full-batch"})
    if len(samplers) > 1:
        raise config_error(root.at(), f"cannot account batches of several kinds ({', '.join(samplers)})", hint)
    fields: dict[str, Any] = {"accounted_as": samplers[0]}
    for name in ("records", "cap"):
        values = sorted({getattr(kind, name) for kind in kinds} - {None})
        if len(values) > 1:
            raise config_error(root.at(), f"cannot account several {name} ({', '.join(map(str, values))})", hint)
        fields |= {name: values[0]} if values else {}
    # Batches of a fixed size are accounted for records that are replaced.
    fields |= {"relation": "replace-one"} if samplers == ["fixed-size"] else {}
    return fields | {"history": [[getattr(kind, name) for name in ONE_PHASE] for kind in kinds]}
