"""`dpexp receipt`: what holds for a training program that is not dpexp, by its run card."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpexp.commands.mechanism_arguments import values_of
from dpexp.core.errors import UsageError
from dpexp.reporting.receipt_answer import ReceiptAnswer
from dpexp.reporting.run_card import read_card


def receipt(*words: object, **fields: Any) -> ReceiptAnswer:
    """What holds for a training program that is not dpexp: by a card's path, its fields, or an event of dp_accounting.

    Fields are keywords, a mapping or texts key=value, and replace those of the card. `.exit_code` is 0 where all that
    is stated holds, 1 where it is refuted, 3 else.
    """
    # A word with = in it is a pair, even where a file of that name is there.
    pairs = [word for word in words if isinstance(word, str) and "=" in word]
    cards = [word for word in words if word not in pairs]
    if len(cards) > 1 or not (words or fields):
        hint = "dpexp receipt card.yaml, or dpexp receipt noise_multiplier=1 sampling_probability=0.01 steps=1000"
        raise UsageError("receipt takes one card, key=value pairs, or both", hint)
    card, fields = cards[0] if cards else None, values_of(pairs) | fields
    if isinstance(card, Mapping):
        tree = dict(card) if "events" in card else None  # the state of an accountant
        return ReceiptAnswer(read_card(None, fields if tree else {**card, **fields}, tree))
    if card is None or isinstance(card, str | os.PathLike):
        return ReceiptAnswer(read_card(None if card is None else Path(card), fields, None))
    tree = getattr(card, "to_named_tuple", None)
    if tree is None:
        raise UsageError(f"a {type(card).__name__} is no card", "give a path, a mapping, or an event of dp_accounting")
    return ReceiptAnswer(read_card(None, fields, tree()))
