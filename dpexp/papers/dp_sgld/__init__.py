"""`dp-sgld`: Renyi privacy of stochastic gradient Langevin dynamics."""

from pathlib import Path

from dpexp.papers.dp_sgld import langevin_figures
from dpexp.papers.dp_sgld.claims import langevin_privacy, table_claims, tuned, utility_claims
from dpexp.papers.dp_sgld.langevin_tables import CHOSEN, SGLD_TUNED, TUNED
from dpexp.reporting.paper import Paper, declared_paper

CHECKS = {**langevin_privacy.CHECKS, **table_claims.CHECKS, **tuned.CHECKS, **utility_claims.CHECKS}
PAPER = Paper(
    id="dp-sgld",
    title="Differential privacy guarantees for stochastic gradient Langevin dynamics",
    authors="Théo Ryffel, Francis Bach, David Pointcheval",
    tables=(SGLD_TUNED,),
    configs=("dp_sgld_table1", "dp_sgld_table2", "dp_sgld_table3", *TUNED, CHOSEN),
    **declared_paper(Path(__file__).with_name("paper.yaml"), "dp-sgld", CHECKS, langevin_figures.FIGURES),
)
