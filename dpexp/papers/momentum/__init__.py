"""`momentum`: private non-convex empirical risk minimisation with normalised momentum and noise from binary trees."""

from pathlib import Path

from dpexp.papers.momentum.claims import lemmas, momentum_privacy, run_claims
from dpexp.papers.momentum.momentum_runs import GRIDS
from dpexp.papers.momentum.shown import FIGURES, MOMENTUM_TABLES
from dpexp.reporting.paper import Paper, declared_paper

CHECKS = {**lemmas.CHECKS, **momentum_privacy.CHECKS, **run_claims.CHECKS}
PAPER = Paper(
    id="momentum",
    title="Momentum aggregation for private non-convex ERM",
    authors="Hoang Tran, Ashok Cutkosky",
    tables=MOMENTUM_TABLES,
    configs=(
        *("momentum_prescribed", "momentum_epochs", "momentum_adult"),
        *("momentum_tuned", "momentum_tuned_eps", "momentum_tuned_d"),
        *GRIDS,
    ),
    **declared_paper(Path(__file__).with_name("paper.yaml"), "momentum", CHECKS, FIGURES),
)
