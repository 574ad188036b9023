"""`momentum`: private non-convex empirical risk minimisation with normalised momentum and noise from binary trees."""

from dpexp.papers.momentum.claims import CHECKS
from dpexp.papers.momentum.rows import GRIDS
from dpexp.papers.momentum.shown import FIGURES, MOMENTUM_TABLES
from dpexp.reporting.paper import Paper, in_captions, in_rows, in_words

PAPER = Paper(
    id="momentum",
    title="Momentum aggregation for private non-convex ERM",
    authors="Hoang Tran, Ashok Cutkosky",
    claims=in_rows(__file__, CHECKS),
    figures=in_captions(__file__, "momentum", FIGURES),
    tables=MOMENTUM_TABLES,
    configs=(
        *("momentum_prescribed", "momentum_epochs", "momentum_adult"),
        *("momentum_tuned", "momentum_tuned_eps", "momentum_tuned_d"),
        *GRIDS,
    ),
    **in_words(__file__),
)
