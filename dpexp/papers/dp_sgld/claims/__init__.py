"""What decides the claims of `dp-sgld`: privacy and utility by exact laws and moments, tables from stored runs."""

from dpexp.papers.dp_sgld.claims import langevin_privacy, table_claims, tuned, utility_claims

CHECKS = langevin_privacy.CHECKS | table_claims.CHECKS | tuned.CHECKS | utility_claims.CHECKS
