"""`dpexp schema`: the JSON schema of config files, and of run cards."""

from __future__ import annotations

from typing import Any

from dpexp.config.schema import json_schema


def schema() -> dict[str, Any]:
    """The schema of what can be named today."""
    return json_schema()


def card_schema() -> dict[str, Any]:
    """The schema of a run card."""
    from dpexp.config.card import Card

    return Card.model_json_schema()
