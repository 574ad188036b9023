"""The claims of `dp-sgld`: privacy and utility by exact laws and moments, tables from stored runs."""

from dpexp.claims.dp_sgld import privacy, tables, utility

CLAIMS = (*privacy.CLAIMS, *utility.CLAIMS, *tables.CLAIMS)
