"""`shelf`: epsilons that widely read pages print, recomputed, and beside what the program that ran gives away."""

from pathlib import Path

from dpexp.papers.shelf.claims import CLAIMS, entries, found, verdict
from dpexp.reporting.paper import Paper, in_words
from dpexp.reporting.table import Column, Content, Table, by_column

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
    columns: dict[str, Column] = {
        "of": "{of}",
        "batches": "{batches}",
        "printed": "{printed:.4g}",
        "recomputed": "{recomputed:.4g}",
        "certified": "{accounted:.4g}",
        "attained": "{attained:.4g}",
        "attained, replaced": "{replaced:.4g}",
        "verdict": "{verdict}",
    }
    return by_column(columns, records, NOTE)


PAPER = Paper(
    id="shelf",
    title="Published epsilons of DP-SGD",
    authors="TensorFlow Privacy, Opacus",
    bibliography={"note": "pages of two libraries, read at the commits that each row names"},
    claims=CLAIMS,
    tables=(Table("shelf", "Published epsilons beside what holds and what is attained", "shelf", (), build),),
    **in_words(__file__),
)
