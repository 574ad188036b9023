"""What decides the claims of `dp-sgld`: privacy and utility by exact laws and moments, tables from stored runs."""

from dpexp.papers.dp_sgld.claims import privacy, tables, tuned, utility

CHECKS = privacy.CHECKS | tables.CHECKS | tuned.CHECKS | utility.CHECKS
