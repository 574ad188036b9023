"""`dpexp schema`: the JSON schema of config files."""

from __future__ import annotations

from typing import Any

from dpexp.config.schema import json_schema


def schema() -> dict[str, Any]:
    """The schema of what can be named today."""
    return json_schema()
