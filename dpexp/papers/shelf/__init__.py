"""`shelf`: epsilons that widely read pages print, recomputed, and beside what the program that ran gives away."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpexp.papers.shelf.claims import CLAIMS, entries, found, verdict
from dpexp.reporting.paper import Paper, in_words
from dpexp.reporting.table import Content, Table, by_column

NOTE = (
    "All are accounted as Poisson batches, a record added or removed. Recomputed: Renyi divergences with the conversion of "
    "2017. Certified: loss distributions, Poisson batches. Attained: by a pair, of the batches that the program draws."
)


def build(results: Path) -> Content:
    """A line for each printed epsilon."""
    records = [
        {
            "of": entry.id,
            "printed": entry.printed,
            "delta": entry.delta,
            "noise_multiplier": entry.noise_multiplier,
            "sampling_probability": entry.q,
            "steps": entry.steps,
            "batches": entry.sampler,
            **found(entry)._asdict(),
            "verdict": verdict(entry, entry.printed),
        }
        for entry in entries()
    ]
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "of": _text("of"),
        "batches": _text("batches"),
        "printed": _number("printed"),
        "recomputed": _number("recomputed"),
        "certified": _number("accounted"),
        "attained": _number("attained"),
        "attained, replaced": _number("replaced"),
        "verdict": _text("verdict"),
    }
    return by_column(columns, records, NOTE)


def _text(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda record: str(record[name])


def _number(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda record: f"{record[name]:.4g}"


PAPER = Paper(
    id="shelf",
    title="Published epsilons of DP-SGD",
    authors="TensorFlow Privacy, Opacus",
    bibliography={"note": "pages of two libraries, read at the commits that each row names"},
    claims=CLAIMS,
    tables=(Table("shelf", "Published epsilons beside what holds and what is attained", "shelf", (), build),),
    **in_words(__file__),
)
