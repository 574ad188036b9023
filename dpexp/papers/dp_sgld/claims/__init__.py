"""The claims of `dp-sgld`: privacy and utility by exact laws and moments, tables from stored runs."""

from dpexp.papers.dp_sgld.claims import decreasing, lemmas, privacy, tables, tuned, utility

CLAIMS = (
    *lemmas.DIFFUSION,
    *privacy.CLAIMS,
    *utility.CLAIMS,
    *decreasing.CLAIMS,
    *lemmas.REGRESSION,
    *tables.CLAIMS,
    *tuned.CLAIMS,
)
