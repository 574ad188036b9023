"""The run card of a training program that is not dpexp, as `dpexp receipt` reads it.

A card is YAML or JSON; the history of an Opacus accountant, an event tree of dp_accounting and the state of
`dpexp.accounting.Accountant` become cards too. These record what was accounted, not what ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from dpexp.accounting.events import NotAccounted, is_event, kinds_of
from dpexp.accounting.gaussian import eps_of
from dpexp.config.error_messages import validated
from dpexp.config.yamlfile import Position, Section, config_error, parse, read_bytes, with_place
from dpexp.core.parameters import Count, Parameters, RecordCount, Share
from dpexp.privacy.samplings import share_and_steps

Sampler = Literal[
    "poisson", "truncated-poisson", "fixed-size", "k-of-t", "balls-in-bins", "shuffled", "reshuffled", "cyclic",
    "cyclic-poisson", "full-batch", "unknown",
]  # fmt: skip
NEEDS = {
    "truncated-poisson": ("cap", "records"), "k-of-t": ("selected", "steps_per_epoch"), "cyclic-poisson": ("groups",),
}  # fmt: skip
"""fields that a sampler needs; the first is a field of that sampler alone"""
SYNONYMS = {"n": "records", "sampling": "sampler", "neighboring_relation": "relation"}
"""names of `dpexp privacy` -> fields of a card"""
TRIPLE = ("noise_multiplier", "sampling_probability", "steps")
ASSUMED = ("records", "records_public", "relation", "sampler", "clipping", "normaliser", "releases",
           "batch_sizes_logged", "tuning_runs")  # fmt: skip
"""fields that a receipt lists where the card leaves them out"""
MU_LEVELS = tuple(10.0**-k for k in range(2, 11))
"""deltas at which a stated mu is compared with lower bounds"""
ONE_CHANGE = ("full-batch", "fixed-size", "cyclic", "shuffled", "reshuffled")
"""samplers with which a replaced record changes one vector of a sum, its own or that of its microbatch"""
DRAWN = ("drawn", "drawn-visible")
"""divisors that are the size of the batch"""
CENTRAL_LIMIT = "the accountant `gdp` approximates by the central limit theorem, and can state less than is true"
Noise = Annotated[float, Field(ge=1e-9, le=1e6)]
Delta = Annotated[float, Field(gt=0, lt=1)]
AtLeastZero = Annotated[float, Field(ge=0)]
OneOrMore = BeforeValidator(lambda value: value if isinstance(value, tuple) else (value,))
"""of a list: a value is a list of one"""
Written = Field(exclude=True)
"""of a field that becomes phases or statements"""


class Phase(Parameters):
    """Steps in a row with the same noise and the same batches. What is left out follows from the sizes of batches."""

    noise_multiplier: Noise = 1.0
    sampling_probability: Share = 1.0
    steps: Count = 1


class StatedGuarantee(Parameters):
    """What a page or a paper says of the run: (eps, delta), or mu of Gaussian differential privacy."""

    eps: AtLeastZero | None = None
    delta: Delta | None = None
    mu: AtLeastZero | None = None

    @model_validator(mode="after")
    def _complete(self) -> StatedGuarantee:
        if (self.mu is None) == (self.eps is None) or (self.eps is None) != (self.delta is None):
            raise ValueError("state eps with delta, or mu")
        return self

    @property
    def curve(self) -> list[tuple[float, float]]:
        """Pairs (delta, epsilon) that are stated; of a mu those at some deltas."""
        if self.delta is not None and self.eps is not None:
            return [(self.delta, self.eps)]
        return [(delta, eps_of(self.mu or 0.0, delta)) for delta in MU_LEVELS]

    def __str__(self) -> str:
        return f"mu = {self.mu:g}" if self.mu is not None else f"eps {self.eps:g} at delta {self.delta:g}"


class Card(Parameters):
    """A training program by what its privacy depends on; all phases and statements are in `phases` and `stated`."""

    card: Literal[1] = 1
    records: RecordCount | None = None  # n, the number of training records
    records_public: bool | None = None  # whether n may be known to everybody; with replace-one it always is
    relation: Literal["add-remove", "replace-one", "zero-out"] = "add-remove"
    sampler: Sampler = "unknown"  # what the code did, not what was accounted
    accounted_as: Sampler | None = None
    phases: tuple[Phase, ...] = ()
    noise_multiplier: Annotated[tuple[Noise, ...], OneOrMore, Written] = ()  # these three of all phases, or of each
    sampling_probability: Annotated[tuple[Share, ...], OneOrMore, Written] = ()
    steps: Annotated[tuple[Count, ...], OneOrMore, Written] = ()
    history: Annotated[tuple[tuple[Noise, Share, Count], ...] | None, Field(min_length=1), Written] = None
    """rows of noise_multiplier, sampling_probability and steps, as an Opacus accountant keeps them"""
    mechanism: Annotated[str | None, Written] = None  # which accountant keeps the history
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
    stated: Annotated[tuple[StatedGuarantee, ...], OneOrMore] = ()
    eps: Annotated[AtLeastZero | None, Written] = None  # stated at the first delta
    mu: Annotated[AtLeastZero | None, Written] = None  # stated
    delta: Annotated[tuple[Delta, ...], OneOrMore, Field(min_length=1)] = (1e-5,)

    @model_validator(mode="after")
    def _complete(self) -> Card:
        guarantees = [StatedGuarantee(mu=self.mu)] if self.mu is not None else []
        guarantees += [StatedGuarantee(eps=self.eps, delta=self.delta[0])] if self.eps is not None else []
        phases, accounted_as = self._all_phases(), self.accounted_as or ("poisson" if self.history else None)
        samplers = {"sampler": self.sampler, "accounted_as": accounted_as}
        for field, sampler in samplers.items():
            if absent := [name for name in NEEDS.get(str(sampler), ()) if getattr(self, name) is None]:
                raise ValueError(f"{field} {sampler} needs {' and '.join(absent)}")
        microbatches = self.clipping == "microbatch"
        if microbatches != (self.microbatch_size > 1):
            sizes = f"clipping: {self.clipping} with microbatch_size: {self.microbatch_size}"
            need = "records that are clipped as one need clipping: microbatch and a microbatch_size above 1"
            raise ValueError(f"{sizes}; {need}")
        if self.group > 1 and microbatches:
            raise ValueError("a group of records is covered where every record is clipped alone, not in microbatches")
        if self.sampler == "full-batch" and any(phase.sampling_probability < 1 for phase in phases):
            raise ValueError("sampler full-batch uses all records: sampling_probability is 1, or left out")
        # a field of another sampler would be ignored; the accountant may have been told of it
        for owner, (name, *_) in NEEDS.items():
            if getattr(self, name) is not None and not {owner, "unknown"} & {*samplers.values()}:
                raise ValueError(f"{name} is a field of sampler {owner}, not of {self.sampler}")
        changes = {"phases": phases, "stated": tuple(guarantees) or self.stated, "accounted_as": accounted_as}
        return self.model_copy(update=changes)

    def _all_phases(self) -> tuple[Phase, ...]:
        """The phases of a history or a list, or of lists of one length, with what follows from other fields."""
        rows = [phase.model_dump(exclude_unset=True) for phase in self.phases] or [{}]
        if self.history:
            # Equal rows in a row are one with all their steps: there may be one for every step.
            same = groupby(self.history, key=lambda row: row[:2])
            rows = [dict(zip(TRIPLE, (*pair, sum(row[2] for row in own)), strict=True)) for pair, own in same]
        columns = {name: values for name in TRIPLE if (values := getattr(self, name))}
        lengths = {len(column) for column in (rows, *columns.values())}
        if len(lengths - {1}) > 1:
            raise ValueError("phases are lists of one length")
        sizes = {name: getattr(self, name) for name in ("batch_size", "epochs", "selected", "steps_per_epoch")}
        sizes |= {"n": self.records, "sampling": self.sampler}
        groups = self._groups(self.accounted_as if self.sampler == "unknown" else self.sampler)
        phases = list[Phase]()
        for k in range(max(lengths)):
            row = rows[k % len(rows)] | {name: column[k % len(column)] for name, column in columns.items()}
            row |= share_and_steps(sizes | row, groups)
            if absent := [name for name in TRIPLE if name not in row]:
                example = "phases: [{noise_multiplier: 1.0, sampling_probability: 0.01, steps: 1000}]"
                raise ValueError(f"a card needs {', '.join(absent)}, for instance {example}")
            phases.append(Phase.model_validate(row))
        return tuple(phases)

    def _groups(self, sampler: str | None) -> int:
        """Public groups from which batches are drawn in turn; a probability of cyclic-poisson is within one."""
        return (self.groups or 1) if sampler == "cyclic-poisson" else 1

    def as_accounted(self) -> dict[str, Any]:
        """The sampler that was accounted, and the phases with its probabilities, which may be within a group."""
        ratio = self._groups(self.accounted_as) / self._groups(self.sampler)
        rates = ({"sampling_probability": min(1.0, phase.sampling_probability * ratio)} for phase in self.phases)
        phases = (phase.model_copy(update=rate) for phase, rate in zip(self.phases, rates, strict=True))
        return {"sampler": self.accounted_as, "phases": tuple(phases)}

    @property
    def all_steps(self) -> int:
        """Steps of one run."""
        return sum(phase.steps for phase in self.phases)

    @property
    def shows_sizes(self) -> bool:
        """Whether the sizes of batches are known."""
        return self.batch_sizes_logged or self.normaliser in DRAWN

    @property
    def turns(self) -> bool:
        """Whether a record can turn the vector of its microbatch around, in sums that else move by one norm."""
        replaces = self.relation == "replace-one" and self.sampler in ONE_CHANGE
        return self.clipping == "microbatch" and not self.shows_sizes and not replaces

    @property
    def notes(self) -> list[str]:
        """What a history leaves open."""
        unknown = ": the sampler is not known from it" * (self.sampler == "unknown")
        notes = [f"a history records what was accounted, not what ran{unknown}"] if self.history else []
        return notes + [CENTRAL_LIMIT] * (self.mechanism == "gdp")

    @property
    def assumed(self) -> list[str]:
        """Fields that the card leaves out, with what is taken for them."""
        defaults = {name: getattr(self, name) for name in ASSUMED if name not in self.model_fields_set}
        words = {name: str(value).lower() if isinstance(value, bool) else value for name, value in defaults.items()}
        assumed = [f"{name}: {'not known' if word is None else word}" for name, word in words.items()]
        if self.epochs is not None:
            assumed.append(f"steps: {self.all_steps:,}, with a short last batch of an epoch")
        return assumed


def read_card(path: Path | None, words: Mapping[str, Any], tree: Any = None) -> Card:
    """The card of a file or of an event tree, with further values.

    Raises ConfigError with everything that is wrong, each at its place.
    """
    where = Position(str(path), 1, 1) if path else Position("arguments")
    root = parse(read_bytes(path), str(path)) if path else with_place({} if tree is None else tree, where)
    # the state of `dpexp.accounting.Accountant` has events
    state = isinstance(root, Section) and isinstance(root.get("events"), tuple)
    if state or is_event(root):
        event = ("dp_accounting.dp_event", "ComposedDpEvent", root["events"]) if state else root
        own = root.without(["events", "history", "mechanism"]) if state else Section({}, where)
        root = with_place(_fields_of_event(event, where), where).over(own.entries)
    if not isinstance(root, Section):
        raise config_error(where, "a card is a mapping of fields", "`dpexp init --card` prints one to fill in")
    for key, value in words.items():
        # What is typed replaces what the file says, and messages name it by its word.
        where = Position(f"{key}=")
        root = root.put([key], with_place(value, where), where)
    for synonym in (key for key in root if SYNONYMS.get(key) in root):
        raise config_error(root.mark(synonym).key, f"{synonym} and {SYNONYMS[synonym]} are one field", "give it once")
    names = {SYNONYMS.get(key, key): key for key in root}
    marks = {name: root.marks[key] for name, key in names.items()}
    return validated(Card, Section({name: root[key] for name, key in names.items()}, root.start, marks))


def _fields_of_event(tree: Any, where: Position) -> dict[str, Any]:
    """The history, and the fields, of the tree of an event of dp_accounting, as nested lists."""
    hint = "nothing of a tree is left out: account it elsewhere"
    try:
        kinds = kinds_of(tree)
    except NotAccounted as error:
        raise config_error(where, f"cannot account {error}", hint) from None
    # A batch of all records is no draw, whatever its event is called, unless it is cut.
    samplers = {kind.sampler for kind in kinds if kind.sampling_probability < 1 or kind.cap} or {"full-batch"}
    # Batches of a fixed size are accounted for records that are replaced.
    fields: dict[str, Any] = {"relation": "replace-one"} if samplers == {"fixed-size"} else {}
    values = {name: {getattr(kind, name) for kind in kinds} - {None} for name in ("records", "cap")}
    for name, own in {"accounted_as": samplers, **values}.items():
        if len(own) > 1:
            raise config_error(where, f"cannot account several {name} ({', '.join(map(str, sorted(own)))})", hint)
        fields |= dict.fromkeys([name] * len(own), next(iter(own), None))
    return fields | {"history": [[getattr(kind, name) for name in TRIPLE] for kind in kinds]}
