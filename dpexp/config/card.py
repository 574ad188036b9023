"""The run card of a training program that is not dpexp: what `dpexp receipt` asks of it, and how it is read.

A card is YAML or JSON. What it leaves out is assumed, and the receipt lists every such field. The history of an Opacus
accountant or an event tree of dp_accounting becomes a card as well. Both say what was accounted, not what ran: the
sampler stays unknown. They are read as JSON, and neither library is needed. An accountant writes its history by
`json.dump(engine.accountant.state_dict(), file)`, and an event its tree by `json.dump(event.to_named_tuple(), file)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, ValidationError, model_validator

from dpexp.accounting.events import NotAccounted, is_event, kinds_of
from dpexp.config.messages import explain_fields, suggest
from dpexp.config.yamlfile import ConfigError, Issue, Located, Position, all_at, read
from dpexp.core.parameters import Count, Parameters, RecordCount
from dpexp.privacy.mechanisms.vocabulary import share_and_steps

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
Delta = Annotated[float, Field(gt=0, lt=1)]


def _ordinary(value: float) -> float:
    if value < 1e-9:
        raise ValueError(f"{value:g} is smaller than 1e-9")
    return value


NoiseMultiplier = Annotated[float, Field(gt=0, le=1e6), AfterValidator(_ordinary)]
Probability = Annotated[float, Field(gt=0, le=1), AfterValidator(_ordinary)]


class Phase(Parameters):
    """Steps in a row with the same noise and the same batches."""

    noise_multiplier: NoiseMultiplier
    sampling_probability: Probability
    steps: Count


class Stated(Parameters):
    """What a page or a paper says of the run: (eps, delta), or mu of Gaussian differential privacy."""

    eps: Annotated[float, Field(ge=0)] | None = None
    delta: Delta | None = None
    mu: Annotated[float, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Stated:
        if (self.mu is None) == (self.eps is None) or (self.eps is None) != (self.delta is None):
            raise ValueError("state eps with delta, or mu")
        return self


class Card(Parameters):
    """A training program by what its privacy depends on."""

    card: Literal[1] = 1
    records: RecordCount | None = None
    """n, the number of training records"""
    records_public: bool | None = None
    """whether n may be known to everybody; with replace-one it always is"""
    relation: CardRelation = "add-remove"
    sampler: Sampler = "unknown"
    """what the code did, not what was accounted"""
    accounted_as: Sampler | None = None
    phases: tuple[Phase, ...]
    batch_size: RecordCount | None = None
    epochs: RecordCount | None = None
    """stands for the steps: a short last batch of an epoch is one more"""
    steps_per_epoch: RecordCount | None = None
    """of k-of-t"""
    selected: RecordCount | None = None
    """of k-of-t: steps of an epoch in which a record is"""
    cap: RecordCount | None = None
    """of truncated-poisson: largest batch"""
    groups: RecordCount | None = None
    """of cyclic-poisson: public groups that are used in turn"""
    clip: Annotated[float, Field(gt=0)] | None = None
    clipping: Literal["flat", "per-layer", "microbatch", "none"] = "flat"
    microbatch_size: RecordCount = 1
    normaliser: Literal["public", "expected", "drawn", "drawn-visible"] = "public"
    """what the noisy sum is divided by: a public number, q n, or the size of the batch that was drawn"""
    dimension: RecordCount | None = None
    """trainable parameters"""
    releases: Literal["last", "all", "average", "best-of-k"] = "all"
    batch_sizes_logged: bool = False
    tuning_runs: Annotated[int, Field(ge=0, le=10_000)] = 0
    """runs on the private data beside the one that is released"""
    group: Annotated[int, Field(ge=1, le=1000)] = 1
    """records that are protected together, as those of one person are"""
    stated: tuple[Stated, ...] = ()
    delta: tuple[Delta, ...] = (1e-5,)

    @model_validator(mode="after")
    def _fits(self) -> Card:
        for name in NEEDS.get(self.sampler, ()):
            if getattr(self, name) is None:
                raise ValueError(f"sampler {self.sampler} needs {name}")
        if (self.clipping == "microbatch") != (self.microbatch_size > 1):
            raise ValueError(
                f"clipping: {self.clipping} with microbatch_size: {self.microbatch_size}; "
                "records that are clipped as one need clipping: microbatch and a microbatch_size above 1"
            )
        if self.group > 1 and self.clipping == "microbatch":
            raise ValueError("a group of records is covered where every record is clipped alone, not in microbatches")
        if self.sampler == "full-batch" and any(phase.sampling_probability < 1 for phase in self.phases):
            raise ValueError("sampler full-batch uses all records: sampling_probability is 1, or left out")
        # a field of another sampler would be ignored; the accountant may have been told of it
        for name in ("cap", "selected", "groups"):
            owner = next(sampler for sampler, needs in NEEDS.items() if name in needs)
            if getattr(self, name) is not None and not {owner, "unknown"} & {self.sampler, self.accounted_as}:
                raise ValueError(f"{name} is a field of sampler {owner}, not of {self.sampler}")
        for phase in self.phases:
            if self.batch_size is None or self.records is None:
                break
            expected = phase.sampling_probability * self.records
            # A batch size is rounded, by less than a record.
            if abs(expected - self.batch_size) > max(1.0, 1e-6 * expected):
                raise ValueError(
                    f"batch_size = {self.batch_size} is not sampling_probability times records = {expected:g}"
                )
        return self

    @property
    def assumed(self) -> list[str]:
        """Fields that the card leaves out, with what is taken for them."""
        names = (
            "records", "records_public", "relation", "sampler", "clipping", "normaliser", "releases",
            "batch_sizes_logged", "tuning_runs",
        )  # fmt: skip
        assumed = [f"{name}: {_word(getattr(self, name))}" for name in names if name not in self.model_fields_set]
        if self.epochs is not None:
            assumed.append(f"steps: {sum(phase.steps for phase in self.phases):,}, with a short last batch of an epoch")
        return assumed


class CardRead(NamedTuple):
    """A card, and what its importer says of it."""

    card: Card
    notes: tuple[str, ...] = ()


ONE_PHASE = ("noise_multiplier", "sampling_probability", "steps")
STATED = ("eps", "mu")


def read_card(path: Path | None, words: Mapping[str, Any], tree: Any = None) -> CardRead:
    """The card of a file or of an event tree, with the values given beside it.

    Raises ConfigError with everything that is wrong.
    """
    at = Position(str(path) if path else "arguments")
    root, notes = imported(read(path) if path else all_at({} if tree is None else tree, at))
    if not isinstance(root.value, dict):
        hint = "`dpexp init --card` prints one to fill in"
        raise ConfigError([Issue(root.where, "a card is a mapping of fields", hint)])
    values, keys = dict(root.value), dict(root.keys)
    for key, value in words.items():
        # What is typed replaces what the file says, and messages name it by its word.
        values[key], keys[key] = all_at(value, Position(f"{key}=")), Position(f"{key}=")
    return CardRead(card_of(Located(values, root.where, keys)), notes)


def card_of(root: Located) -> Card:
    """The card that a mapping is. Raises ConfigError with everything that is wrong, each at its place."""
    issues: list[Issue] = []
    root = _own_names(root, issues)
    names = [*Card.model_fields, *ONE_PHASE, *STATED, *SYNONYMS]
    issues += [
        Issue(root.keys.get(key, root.where), f"unknown field '{key}'", suggest(key, names))
        for key in root.value
        if key not in names
    ]
    values = {key: value for key, value in root.value.items() if key in Card.model_fields}
    if stated := _stated(root):
        values["stated"] = stated
    for name in ("delta", "stated"):
        # One value may stand for a list of one.
        if name in values and not isinstance(values[name].value, list):
            values[name] = replace(values[name], value=[values[name]])
    if phases := _phases(root, issues):
        values["phases"] = phases
    if issues:
        raise ConfigError(issues)
    located = replace(root, value=values)
    try:
        return Card(**located.plain())
    except ValidationError as error:
        hint = "`dpexp init --card` says what each field means"
        raise ConfigError(list(explain_fields(error, "card", located, hint))) from None


def _own_names(root: Located, issues: list[Issue]) -> Located:
    """The mapping with the names of a card's fields in place of their synonyms."""
    values, keys = dict(root.value), dict(root.keys)
    for synonym, name in SYNONYMS.items():
        if synonym in values and name in values:
            issues.append(Issue(keys.get(synonym, root.where), f"{synonym} and {name} are one field", "give it once"))
        elif synonym in values:
            values[name], keys[name] = values.pop(synonym), keys.pop(synonym, root.where)
    return replace(root, value=values, keys=keys)


def _stated(root: Located) -> Located | None:
    """What `eps` or `mu` beside the other fields states, at the first delta of the card or the usual one."""
    claims = [{"mu": root.value["mu"]}] if "mu" in root.value else []
    if "eps" in root.value:
        delta = root.value.get("delta", Located(1e-5, root.where))
        first = delta.value[0] if isinstance(delta.value, list) and delta.value else delta
        claims.append({"eps": root.value["eps"], "delta": first})
    return Located([Located(one, root.where) for one in claims], root.where) if claims else None


def _phases(root: Located, issues: list[Issue]) -> Located | None:
    """Phases from a list of them, or from lists of one length; what is given beside them replaces their fields."""
    own, given = {name: root.value[name] for name in ONE_PHASE if name in root.value}, root.value.get("phases")
    rows = [] if given is None else given.value if isinstance(given.value, list) else [given]
    if rows and not (own or "epochs" in root.value):
        return Located(rows, given.where)
    columns = {name: [row.value[name] for row in rows if row.is_mapping and name in row.value] for name in ONE_PHASE}
    columns |= {name: value.value if isinstance(value.value, list) else [value] for name, value in own.items()}
    single = {name: column[0].value for name, column in columns.items() if len({str(c.plain()) for c in column}) == 1}
    others = {name: root.value.get(SYNONYMS.get(name, name)) for name in ("n", "batch_size", "epochs", "sampling")}
    try:
        known = share_and_steps(single | {name: value.value for name, value in others.items() if value is not None})
    except ValueError as error:
        issues.append(Issue(root.keys.get("epochs", root.where), str(error)))
        return None
    columns |= {
        name: [Located(value, root.where)] for name, value in known.items() if name == "steps" or not columns[name]
    }
    absent = [name for name in ONE_PHASE if not columns[name]]
    if absent:
        hint = "or phases: [{noise_multiplier: 1.0, sampling_probability: 0.01, steps: 1000}]"
        issues.append(Issue(root.where, f"a card needs {', '.join(absent)}", hint))
        return None
    length = max(map(len, columns.values()))
    if any(len(column) not in (1, length) for column in columns.values()):
        issues.append(Issue(root.where, "phases are lists of one length", ""))
        return None
    each = ({name: column[k % len(column)] for name, column in columns.items()} for k in range(length))
    return Located([Located(row, root.where) for row in each], root.where)


def _word(value: object) -> str:
    return "not known" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


HISTORY = "an accountant's history says what was accounted, not what ran: the sampler is not known from it"
TREE = "an event says what was accounted, not what ran: the sampler is not known from it"
CENTRAL_LIMIT = "the accountant `gdp` approximates by the central limit theorem, and can state less than is true"
PhaseValues = tuple[float, float, int]
"""noise multiplier, sampling probability, steps"""


def imported(root: Located) -> tuple[Located, tuple[str, ...]]:
    """The fields of a card, and what has to be said, of a history or an event tree; what is neither as it stands."""
    if isinstance(root.value, dict) and "history" in root.value:
        return _of_history(root)
    value = root.plain()
    return _of_event(value, root.where) if is_event(value) else (root, ())


def _of_history(root: Located) -> tuple[Located, tuple[str, ...]]:
    """`{"history": [[sigma, q, steps], ...], "mechanism": "rdp"}`."""
    history, rows, issues = root.value["history"], [], []
    shape = "a history is [[sigma, sample_rate, steps], ...]"
    if not isinstance(history.value, list) or not history.value:
        problem = "is empty: no step was accounted" if history.value == [] else f"is {history.value!r}"
        raise ConfigError([Issue(history.where, f"the history {problem}", shape)])
    for k, entry in enumerate(history.value, 1):
        if not isinstance(entry.value, list) or len(entry.value) != len(ONE_PHASE):
            issues.append(Issue(entry.where, f"row {k} of the history is {entry.plain()!r}", shape))
            continue
        row = replace(entry, value=dict(zip(ONE_PHASE, entry.value, strict=True)))
        try:
            rows.append(Phase(**row.plain()))
        except ValidationError as error:
            place = f"row {k} of the history, {list(entry.plain())}"
            issues += [
                replace(issue, message=f"{place}: {issue.message}") for issue in explain_fields(error, "row", row)
            ]
    if issues:
        raise ConfigError(issues)
    # Fields may stand beside a history, which tells little.
    own = {key: value for key, value in root.value.items() if key not in ("history", "mechanism")}
    notes = [HISTORY]
    if "mechanism" in root.value and root.value["mechanism"].value == "gdp":
        notes.append(CENTRAL_LIMIT)
    entries = [(row.noise_multiplier, row.sampling_probability, row.steps) for row in rows]
    return _fields(entries, {"accounted_as": "poisson"}, own, root), tuple(notes)


def _fields(phases: Sequence[PhaseValues], more: dict[str, Any], own: dict[str, Located], root: Located) -> Located:
    """A card's fields from phases, of which equal neighbours become one."""
    # An event may hold a node for every step.
    merged = [(*kind, sum(p[2] for p in same)) for kind, same in groupby(phases, key=lambda p: (p[0], p[1]))]
    columns = dict(zip(ONE_PHASE, zip(*merged, strict=True), strict=True))
    return replace(root, value=all_at({**columns, **more}, root.where).value | own)


def _of_event(tree: tuple[Any, ...], at: Position) -> tuple[Located, tuple[str, ...]]:
    """The tree of an event of dp_accounting, as nested lists."""
    try:
        kinds = kinds_of(tree)
    except NotAccounted as error:
        raise _refused(str(error), at) from None
    # A batch of all records is no draw, whatever its event is called.
    samplers = {kind.sampler for kind in kinds if kind.sampling_probability < 1} or {"full-batch"}
    if len(samplers) > 1:
        raise _refused(f"batches of several kinds ({', '.join(sorted(samplers))})", at)
    (sampler,) = samplers
    more: dict[str, Any] = {"accounted_as": sampler}
    for kind in kinds:
        more |= {name: value for name in ("records", "cap") if (value := getattr(kind, name)) is not None}
    # Batches of a fixed size are accounted for records that are replaced.
    if sampler == "fixed-size":
        more["relation"] = "replace-one"
    phases = [(kind.noise_multiplier, kind.sampling_probability, kind.steps) for kind in kinds]
    return _fields(phases, more, {}, Located({}, at)), (TREE,)


def _refused(what: str, at: Position) -> ConfigError:
    return ConfigError([Issue(at, f"cannot account {what}", "nothing of a tree is left out: account it elsewhere")])
