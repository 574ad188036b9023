"""Questions of `dpexp privacy` about an attacker: eps=1, fpr=0.01, prior=0.1, group=3, advantage, and --tradeoff."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpexp.commands.mechanism_arguments import number, values_of
from dpexp.core.errors import UsageError

if TYPE_CHECKING:
    from dpexp.reporting.tradeoff import Questions

KEYS = ("eps", "fpr", "prior", "group")
WORD = "advantage"
MOST_IN_GROUP = 1000
LEAST_RATE = 1e-12
RATES = (1e-3, 1e-2, 1e-1)
"""false positive rates of --tradeoff where none are named"""


def split(words: Sequence[str], tradeoff: bool) -> tuple[list[str], Questions | None]:
    """What else is given, and the questions; None where nothing is asked."""
    mine = [word for word in words if word == WORD or word.partition("=")[0] in KEYS]
    rest = [word for word in words if word not in mine]
    if not mine and not tradeoff:
        return rest, None
    from dpexp.reporting.tradeoff import Questions

    given = values_of([word for word in mine if word != WORD])
    group = _group(given.get("group", 1))
    eps = tuple(number("eps", value, 0, math.inf) for value in _listed(given, "eps"))
    fpr = tuple(_rate("fpr", value) for value in _listed(given, "fpr"))
    priors = tuple(_rate("prior", value) for value in _listed(given, "prior"))
    every = tradeoff or not (eps or fpr or priors or WORD in mine)  # a group alone asks for everything
    return rest, Questions(
        eps,
        fpr or (RATES if every else ()),
        priors or ((0.5,) if every else ()),
        every or WORD in mine,
        group,
        tradeoff,
    )


def _listed(given: dict[str, Any], key: str) -> list[Any]:
    value = given.get(key, [])
    return value if isinstance(value, list) else [value]


def _rate(key: str, value: Any) -> float:
    rate = number(key, value, 0, 1)
    if not LEAST_RATE <= rate <= 1 - LEAST_RATE:
        raise UsageError(f"{key} is a number from {LEAST_RATE:g} to 1 - {LEAST_RATE:g}, not {rate:g}")
    return rate


def _group(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_IN_GROUP:
        raise UsageError(f"group is a whole number from 1 to {MOST_IN_GROUP}, not {value!r}")
    return value
