"""The claims of `dp-sgld`: privacy and utility by exact laws and moments, tables from stored runs."""

from dpexp.papers.dp_sgld.claims import decreasing, diffusion, privacy, regression, tables, tuned, utility

CLAIMS = (
    *diffusion.CLAIMS,
    *privacy.CLAIMS,
    *utility.CLAIMS,
    *decreasing.CLAIMS,
    *regression.CLAIMS,
    *tables.CLAIMS,
    *tuned.CLAIMS,
)
