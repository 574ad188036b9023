"""Statements far off the beaten path: no pair of neighbours attains more than a guarantee allows.

    python -m tests.campaigns.statements [--count N] [--seed S]

Mechanisms of every kind get random parameters, of ordinary and of absurd sizes, and are asked for their guarantees and
for what pairs of neighbours attain, at random deltas. Each is computed in its own way, so that a number which is wrong
on either side shows here sooner or later: where a guarantee is below what is attained, one of the two is false.
Besides, no number may be NaN or negative, and no line of a statement may contradict another: no epsilon rises with
delta, all iterates attain at least what the last one does, and text and JSON have the same numbers, whichever is asked
for first. The campaign prints the parameters of whatever is found, and fails if there is anything.
"""

from __future__ import annotations

import argparse
import functools
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
from pydantic import ValidationError

from dpexp.core.errors import DpexpError
from dpexp.privacy.analyses.analysis import ALL, LAST
from dpexp.privacy.lower_bounds import with_last_iterate
from dpexp.privacy.mechanisms import MECHANISMS, every_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.mechanisms.momentum import NoisyTreeMomentum
from dpexp.reporting.mechanism_statement import MechanismStatement
from tests.campaigns.documents import of_headline

SIZES = {
    "steps": (1, 1e8), "n": (1, 1e7), "batch_size": (1, 1e4), "batches": (1, 300), "epochs": (1, 50), "runs": (1, 40),
    "users": (1, 1e4), "unfinished": (1, 300), "sampling_probability": (1e-5, 1), "noise_multiplier": (0.05, 100),
    "noise_std": (0.05, 100), "sigma": (0.05, 100), "mu": (0.05, 10), "step_size": (1e-4, 10), "diameter": (1e-3, 1e3),
    "momentum": (1e-3, 1), "weight": (1e-3, 1), "gamma": (1e-3, 1), "lipschitz": (0.1, 10),
}  # fmt: skip
"""between which a parameter is drawn, evenly in its logarithm"""
OTHERS = (0.01, 20.0)
ORDINARY = {"steps": (1, 3e3), "sampling_probability": (0.01, 1), "noise_multiplier": (0.3, 5), "delta": (1e-7, 1e-4)}
MOST_STEPS = {"tree-momentum": 1e4, "reduced-momentum": 1e4, "gradient-recursion": 1e4}
"""of mechanisms that walk through their steps one by one"""
ROUNDING = 1e-9
"""of an epsilon: guarantees are rounded up and what is attained down, but for the last digits of a few closed forms"""


class Drawn(NamedTuple):
    """A mechanism and a delta."""

    name: str
    mechanism: Mechanism
    delta: float

    def __str__(self) -> str:
        return f"{self.name} {self.mechanism.model_dump()} at delta {self.delta!r}"


class Draw:
    """Random mechanisms."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def between(self, name: str, most: float = math.inf) -> float:
        low, high = SIZES.get(name, OTHERS)
        if name in ORDINARY and self.rng.random() < 0.5:
            low, high = ORDINARY[name]
        return float(np.exp(self.rng.uniform(math.log(low), math.log(min(high, most)))))

    def parameters(self, name: str) -> dict[str, Any]:
        """Of one kind of mechanism: names out of their lists, whole numbers, and others; defaults for some."""
        found: dict[str, Any] = {}
        for field, info in MECHANISMS[name].model_fields.items():
            if not info.is_required() and self.rng.random() < 0.3:
                continue
            choices = [choice for choice in get_args(info.annotation) if isinstance(choice, str)]
            number = self.between(field, MOST_STEPS.get(name, math.inf) if field == "steps" else math.inf)
            if choices:
                found[field] = choices[self.rng.integers(len(choices))]
            elif info.annotation is int or int in get_args(info.annotation):
                found[field] = round(number)
            else:
                found[field] = [number, 0.5, 1.0][self.rng.choice(3, p=(0.8, 0.1, 0.1))]
        if found.get("batch_size", 0) > found.get("n", math.inf):
            found["batch_size"] = max(1, found["n"] // int(self.rng.integers(1, 10)))
        return found

    def drawn(self) -> Drawn:
        """One that its class accepts: most that are refused combine a sampling with sizes that do not go with it."""
        name = list(MECHANISMS)[self.rng.integers(len(MECHANISMS))]
        while True:
            try:
                mechanism = MECHANISMS[name](**self.parameters(name))
            except ValidationError:
                continue
            usual = self.rng.random() < 0.5
            low, high = ORDINARY["delta"] if usual else (1e-20, 0.5)
            return Drawn(name, mechanism, float(np.exp(self.rng.uniform(math.log(low), math.log(high)))))


def faults(drawn: Drawn) -> Iterator[str]:
    """What cannot be right in the statement of a mechanism, in words."""
    yield from false(drawn.mechanism, drawn.delta)
    yield from of_one_table(drawn, (drawn.delta, drawn.delta / 10))


def false(mechanism: Mechanism, delta: float) -> Iterator[str]:
    """Guarantees below what is attained, and numbers that are none: of the analyses, before a statement refuses any."""
    valid = [analysis for analysis in every_analysis(mechanism) if analysis.valid]
    stated = [(analysis, analysis.eps(delta)) for analysis in valid]
    for analysis, eps in stated:
        if not eps >= 0:
            yield f"{analysis.name} states {eps!r}"
    shown = [(bound.name, bound.released, bound.eps(delta)) for bound in with_last_iterate(mechanism.lower_bounds())]
    if isinstance(mechanism, NoisyTreeMomentum) and mechanism.order == "fixed":
        # one order and gradients that stay where they are: nothing of these sensitivities is a bound
        shown += [(a.name, a.released, eps) for a, eps in stated if a.name == "exact-sensitivities"]
    for name, released, attained in shown:
        if not attained >= 0:
            yield f"{name} attains {attained!r}"
        for analysis, eps in stated:
            # who sees every iterate sees the last one too, and not the other way round
            covers = analysis.released == ALL or analysis.released == released
            if covers and attained > eps * (1 + ROUNDING) + 1e-12:
                yield f"{name} attains {attained!r}, and {analysis.name} guarantees {eps!r}"


def of_one_table(drawn: Drawn, deltas: Sequence[float]) -> Iterator[str]:
    """Lines that contradict each other: by delta, by what is released, or by whether text or JSON was asked for first."""
    document, text = asked(drawn, deltas)
    for row in [*(row for row in document["statements"] if row["valid"]), *document["lower"]]:
        (larger, eps), (smaller, beyond) = row["eps"]
        if beyond < eps * (1 - ROUNDING):
            yield f"{row['analysis']} states {eps!r} at {larger:g}, and {beyond!r} at {smaller:g}"
    for k, delta in enumerate(deltas):
        every, last = (
            max((row["eps"][k][1] for row in document["lower"] if row["released"] == kind), default=math.nan)
            for kind in (ALL, LAST)
        )
        if every < last:
            yield f"at {delta:g} all iterates attain {every!r}, and the last one {last!r}"
    yield from of_headline(document, text)
    later, sooner = reversed(asked(drawn, deltas, text_first=True))
    if document != later or text != sooner:
        yield "text and document say other numbers when they are asked for in the other order"


def asked(drawn: Drawn, deltas: Sequence[float], text_first: bool = False) -> tuple[Any, Any]:
    """What one statement answers to both questions, in the order in which they are asked; nothing is remembered."""
    for module in [module for name, module in list(sys.modules.items()) if name.startswith("dpexp.")]:
        for kept in list(vars(module).values()):
            if isinstance(kept, functools._lru_cache_wrapper):
                kept.cache_clear()
    statement = MechanismStatement(drawn.name, MECHANISMS[drawn.name](**drawn.mechanism.model_dump()), deltas)
    questions = [statement.document, statement.text]
    first, second = (question() for question in (questions[::-1] if text_first else questions))
    return first, second


def main() -> None:
    """Draw statements, and print what is wrong with any of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw, seen, wrong = Draw(arguments.seed), Counter[str](), 0
    for _ in range(arguments.count):
        drawn = draw.drawn()
        seen[drawn.name] += 1
        try:
            found = list(faults(drawn))
        except DpexpError:
            seen["refused with a word"] += 1
            continue
        for fault in found:
            wrong += 1
            print(f"{drawn}: {fault}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in seen.most_common()))
    print(f"{wrong} faults in {arguments.count} statements")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
