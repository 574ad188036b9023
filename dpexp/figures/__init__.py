"""FIGURES: the registry of figures, one file a figure or family."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpexp.figures.figure import Figure, write
from dpexp.figures.figure1 import FIGURE1
from dpexp.figures.trajectories import figures as trajectory_figures

FIGURES: dict[str, Figure] = {"figure1": FIGURE1, **trajectory_figures()}


def draw_figure(name: str, results: Path, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draw a figure from stored results; the files written. Raises ResultsMissing with the command to run."""
    return write(FIGURES[name], results, out, formats)
