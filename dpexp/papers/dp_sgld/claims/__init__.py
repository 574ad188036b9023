"""The claims of `dp-sgld`: privacy and utility by exact laws and moments, tables from stored runs."""

from dpexp.papers.dp_sgld.claims import privacy, tables, utility

CLAIMS = (*privacy.CLAIMS, *utility.CLAIMS, *tables.CLAIMS)
