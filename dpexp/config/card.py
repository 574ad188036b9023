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
from dpexp.config.yamlfile import ConfigError, Issue, Position, Tree, all_at, read
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
ACCOUNTED = "{} records what was accounted, not what ran: the sampler is not known from it"
CENTRAL_LIMIT = "the accountant `gdp` approximates by the central limit theorem, and can state less than is true"
Delta = Annotated[float, Field(gt=0, lt=1)]


class Phase(Parameters):
    """Steps in a row with the same noise and the same batches."""

    noise_multiplier: Annotated[float, Field(ge=1e-9, le=1e6)]
    sampling_probability: Share
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
    """in place of steps: a short last batch of an epoch is one more"""
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
    """runs on the private data besides the one that is released"""
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
        given = {name: getattr(self, name) for name in names if name not in self.model_fields_set}
        words = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
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
    root = read(path) if path else all_at({} if tree is None else tree, Position("arguments"))
    notes: tuple[str, ...] = ()
    if is_event(root.value):
        root, notes = _of_event(root), (ACCOUNTED.format("an event"),)
    if not isinstance(root.value, dict):
        raise _wrong(root, "a card is a mapping of fields", "`dpexp init --card` prints one to fill in")
    for key, value in words.items():
        # What is typed replaces what the file says, and messages name it by its word.
        root = root.put((key,), value, Position(f"{key}="))
    if "history" in root:
        notes = (ACCOUNTED.format("an accountant's history"),)
        notes += (CENTRAL_LIMIT,) if root.value.get("mechanism") == "gdp" else ()
        root = _of_history(root)
    return CardRead(card_of(root), notes)


def card_of(root: Tree) -> Card:
    """The card that a mapping is. Raises ConfigError with everything that is wrong, each at its place."""
    issues: list[Issue] = []
    fields = root.parts()
    for synonym, name in SYNONYMS.items():
        if synonym in fields and name in fields:
            issues.append(Issue(root.key(synonym), f"{synonym} and {name} are one field", "give it once"))
        elif synonym in fields:
            fields[name] = fields.pop(synonym)
    names = [*Card.model_fields, *ONE_PHASE, "eps", "mu", *SYNONYMS]
    issues += [Issue(root.key(k), f"unknown field '{k}'", suggest(k, names)) for k in fields if k not in names]
    values = {key: value for key, value in fields.items() if key in Card.model_fields}
    # What `eps` or `mu` beside the other fields states, at the first delta of the card or the usual one.
    claims = [root.joined({"mu": fields["mu"]})] if "mu" in fields else []
    if "eps" in fields:
        deltas = fields.get("delta", root.holding(1e-5))
        claims.append(root.joined({"eps": fields["eps"], "delta": [*deltas.items(), deltas][0]}))
    if claims:
        values["stated"] = root.joined(claims)
    for name in ("delta", "stated"):
        # One value may stand for a list of one.
        if name in values:
            values[name] = values[name].joined(values[name].items())
    try:
        values["phases"] = _phases(root, fields)
    except ConfigError as error:
        issues += error.issues
    if issues:
        raise ConfigError(issues)
    card = root.joined(values)
    try:
        return Card(**card.value)
    except ValidationError as error:
        raise ConfigError(explain(error, "", card, "`dpexp init --card` says what each field means")) from None


def _phases(root: Tree, fields: Mapping[str, Tree]) -> Tree:
    """Phases from a list of them, or from lists of one length; single fields of the card replace theirs."""
    own = {name: fields[name] for name in ONE_PHASE if name in fields}
    rows = fields["phases"].items() if "phases" in fields else []
    if rows and not (own or "epochs" in fields):
        return fields["phases"].joined(rows)
    columns = {name: [row.part(name) for row in rows if name in row] for name in ONE_PHASE}
    columns |= {name: tree.items() for name, tree in own.items()}
    single = {name: column[0].value for name, column in columns.items() if len({str(c.value) for c in column}) == 1}
    others = {name: fields.get(SYNONYMS.get(name, name)) for name in ("n", "batch_size", "epochs", "sampling")}
    try:
        known = share_and_steps(single | {name: tree.value for name, tree in others.items() if tree is not None})
    except ValueError as error:
        raise ConfigError([Issue(root.key("epochs"), str(error))]) from None
    columns |= {n: [root.holding(value)] for n, value in known.items() if n == "steps" or not columns[n]}
    if absent := [name for name in ONE_PHASE if not columns[name]]:
        hint = "or phases: [{noise_multiplier: 1.0, sampling_probability: 0.01, steps: 1000}]"
        raise _wrong(root, f"a card needs {', '.join(absent)}", hint)
    length = max(map(len, columns.values()))
    if any(len(column) not in (1, length) for column in columns.values()):
        raise _wrong(root, "phases are lists of one length")
    each = ({name: column[k % len(column)] for name, column in columns.items()} for k in range(length))
    return root.joined([root.joined(row) for row in each])


def _merged(rows: Sequence[Tree]) -> list[Tree]:
    """Phases of rows (noise multiplier, share, steps); a history, or an event, may hold equal ones for every step."""
    phases = []
    for _, same in groupby(rows, key=lambda row: row.value[:2]):
        run = list(same)
        if all(type(row.value[2]) is int and row.value[2] > 0 for row in run):
            steps = run[0].part(2).holding(sum(row.value[2] for row in run))
            run = [run[0].joined([*run[0].items()[:2], steps])]
        phases += [row.joined(dict(zip(ONE_PHASE, row.items(), strict=True))) for row in run]
    return phases


def _wrong(tree: Tree, message: str, hint: str = "") -> ConfigError:
    return ConfigError([Issue(tree.at(), message, hint)])


def _of_history(root: Tree) -> Tree:
    """The fields of `{"history": [[sigma, q, steps], ...], "mechanism": "rdp"}`, with its other fields."""
    history, shape = root.part("history"), "a history is [[sigma, sample_rate, steps], ...]"
    if not isinstance(history.value, tuple) or not history.value:
        problem = "is empty: no step was accounted" if history.value == () else f"is {history.value!r}"
        raise _wrong(history, f"the history {problem}", shape)
    for k, row in enumerate(history.items(), 1):
        if not isinstance(row.value, tuple) or len(row.value) != len(ONE_PHASE):
            raise _wrong(row, f"row {k} of the history is {row.value!r}", shape)
    # Fields may be given beside a history, which says little.
    own = {key: part for key, part in root.parts().items() if key not in ("history", "mechanism")}
    return root.joined(
        {"accounted_as": root.holding("poisson"), "phases": history.joined(_merged(history.items())), **own}
    )


def _of_event(root: Tree) -> Tree:
    """The fields of the tree of an event of dp_accounting, as nested lists."""
    hint = "nothing of a tree is left out: account it elsewhere"
    try:
        kinds = kinds_of(root.value)
    except NotAccounted as error:
        raise _wrong(root, f"cannot account {error}", hint) from None
    # A batch of all records is no draw, whatever its event is called.
    samplers = {kind.sampler for kind in kinds if kind.sampling_probability < 1} or {"full-batch"}
    if len(samplers) > 1:
        raise _wrong(root, f"cannot account batches of several kinds ({', '.join(sorted(samplers))})", hint)
    (sampler,) = samplers
    fields: dict[str, Any] = {"accounted_as": sampler}
    for kind in kinds:
        fields |= {name: value for name in ("records", "cap") if (value := getattr(kind, name)) is not None}
    # Batches of a fixed size are accounted for records that are replaced.
    if sampler == "fixed-size":
        fields["relation"] = "replace-one"
    rows = [all_at([getattr(kind, name) for name in ONE_PHASE], root.at()) for kind in kinds]
    return root.joined({**all_at(fields, root.at()).parts(), "phases": root.joined(_merged(rows))})
