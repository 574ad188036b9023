"""What the tables of `dp-sgld` print, and the settings of its DP-SGLD runs, to be shown with our numbers."""

from __future__ import annotations

from typing import NamedTuple

ACCURACIES = {
    1: (
        ("CIFAR-10, ResNet18", 70.3, 68.0, 70.7),
        ("CIFAR-10, AlexNet", 57.5, 56.4, 57.7),
        ("Pneumonia, ResNet18", 58.8, 58.8, 59.3),
    ),
    2: (
        ("CIFAR-10, ResNet18", 70.1, 68.1, 70.2),
        ("CIFAR-10, AlexNet", 57.3, 56.4, 57.6),
        ("Pneumonia, ResNet18", 58.8, 58.8, 59.3),
    ),
}
"""table -> data and model, then the accuracies of DP-SGLD, DP-SGD and no DP in percent; one run each, no error"""
CODE = "github.com/LaRiffle/langevin, USAGE.md of commit 826b915e"
"""the authors' public code: the command lines of tables 1 to 3; the paper refers to it for its settings"""


class PrintedRun(NamedTuple):
    """A DP-SGLD run of table 1: the settings are those of `CODE`, the paper has none of them."""

    eta: float
    strong_convexity: float
    clip: float
    sigma: float
    n: int
    batch_size: int
    epochs: int
    iterations: int


RUNS = {
    "CIFAR-10, ResNet18": PrintedRun(0.018, 0.001, 15.0, 0.0022, 50_000, 128, 30, 11_730),
    "CIFAR-10, AlexNet": PrintedRun(0.0038, 0.005, 15.0, 0.001, 50_000, 128, 30, 11_730),
    "Pneumonia, ResNet18": PrintedRun(0.0014, 0.005, 18.0, 0.0082, 5163, 128, 50, 2050),
}
DELTA = 1e-5  # of all rows, by the text of section 5.2; the command of the Pneumonia run has 1e-4


def beside(table: int) -> str:
    """The printed accuracies of a table in words."""
    rows = ", ".join(
        f"{ours:.1f} / {theirs:.1f} / {free:.1f} ({name})" for name, ours, theirs, free in ACCURACIES[table]
    )
    return f"printed, other data, DP-SGLD / DP-SGD / no DP: {rows}"
