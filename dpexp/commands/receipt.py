"""`dpexp receipt`: what holds for a training program that is not dpexp, by its run card."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dpexp.commands.mechanism_arguments import values_of
from dpexp.config.card import read_card
from dpexp.core.errors import UsageError
from dpexp.reporting.receipt import Receipt

FORMATS = ("text", "md", "tex")
BLANK = """# A training program, for `dpexp receipt`. Delete what is not known: the receipt lists what it assumed.
card: 1
records: 60000            # n, the training records
records_public: true      # may everybody know n? (with replace-one it is public)
relation: add-remove      # add-remove, replace-one or zero-out
sampler: poisson          # what the code does: poisson, truncated-poisson (cap), fixed-size, k-of-t (selected,
                          # steps_per_epoch), balls-in-bins, shuffled, reshuffled, cyclic, cyclic-poisson (groups),
                          # full-batch, unknown
accounted_as: poisson     # the accountant's setting
phases: [{noise_multiplier: 1.0, sampling_probability: 0.01, steps: 1000}]
                          # or noise_multiplier, batch_size and epochs
clipping: flat            # flat, per-layer (noise over the norm of all layers), microbatch (microbatch_size), none
normaliser: public        # the sum is divided by a public number, by q n (expected), or by the batch's size (drawn)
releases: all             # all, last, average, best-of-k; what is left out is taken as all
batch_sizes_logged: false # progress bars and loggers release them too
tuning_runs: 0            # runs on the private data besides this one
stated: [{eps: 1.83, delta: 1.0e-5}]
delta: [1.0e-5]
"""


def command(arguments: Sequence[str], form: str) -> tuple[Any, ...]:
    """Document, text and exit code, as the command line has it."""
    if form not in (*FORMATS, "json"):
        raise UsageError(f"no format '{form}'", f"formats: {', '.join(FORMATS)}")
    found = of_arguments(arguments)
    return found.document, found.text if form in ("text", "json") else partial(found.appendix, form), found.exit_code


def of_arguments(arguments: Sequence[str]) -> Receipt:
    """The receipt of a file, of key=value pairs, or of a file with pairs that add to it or replace its fields."""
    # A word with = in it is a pair, even where a file of that name is there.
    files = [word for word in arguments if "=" not in word]
    if len(files) > 1 or not arguments:
        hint = "dpexp receipt card.yaml, or dpexp receipt noise_multiplier=1 sampling_probability=0.01 steps=1000"
        raise UsageError("receipt takes one card, key=value pairs, or both", hint)
    return of_card(Path(files[0]) if files else None, values_of([word for word in arguments if "=" in word]))


def of_card(path: Path | None, given: Mapping[str, Any], tree: Any = None) -> Receipt:
    """The receipt of a card file or of an event tree with further fields; eps=... or mu=... is what is stated."""
    return Receipt(read_card(path, given, tree))


def of_anything(card: object, fields: Mapping[str, Any]) -> Receipt:
    """The receipt of a path, of a mapping of fields, or of an event that can say its tree."""
    if card is None:
        return of_card(None, fields)
    if isinstance(card, Mapping):
        return of_card(None, {**card, **fields})
    if isinstance(card, str | os.PathLike):
        return of_card(Path(card), fields)
    tree = getattr(card, "to_named_tuple", None)
    if tree is None:
        raise UsageError(f"a {type(card).__name__} is no card", "give a path, a mapping, or an event of dp_accounting")
    return of_card(None, fields, tree())
