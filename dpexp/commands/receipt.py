"""`dpexp receipt`: what holds for a training program that is not dpexp, by its run card."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpexp.commands.mechanism_arguments import values_of
from dpexp.config.card import read_card
from dpexp.core.errors import UsageError
from dpexp.reporting.receipt_answer import Receipt


def command(arguments: Sequence[str]) -> tuple[Any, ...]:
    """Document, text and exit code, as the command line has it."""
    receipt = of_arguments(arguments)
    return receipt.document, receipt.text, receipt.exit_code


def of_arguments(arguments: Sequence[str]) -> Receipt:
    """The receipt of a file, of key=value pairs, or of a file with pairs that add to it or replace its fields."""
    # A word with = in it is a pair, even where a file of that name is there.
    files = [word for word in arguments if "=" not in word]
    if len(files) > 1 or not arguments:
        hint = "dpexp receipt card.yaml, or dpexp receipt noise_multiplier=1 sampling_probability=0.01 steps=1000"
        raise UsageError("receipt takes one card, key=value pairs, or both", hint)
    given = values_of([word for word in arguments if "=" in word])
    return Receipt(read_card(Path(files[0]) if files else None, given, None))


def of_anything(card: object, fields: Mapping[str, Any]) -> Receipt:
    """The receipt of a path, of a mapping of fields, or of an event that can say its tree."""
    if card is None:
        return Receipt(read_card(None, fields, None))
    if isinstance(card, Mapping):
        return Receipt(read_card(None, {**card, **fields}, None))
    if isinstance(card, str | os.PathLike):
        return Receipt(read_card(Path(card), fields, None))
    tree = getattr(card, "to_named_tuple", None)
    if tree is None:
        raise UsageError(f"a {type(card).__name__} is no card", "give a path, a mapping, or an event of dp_accounting")
    return Receipt(read_card(None, fields, tree()))
