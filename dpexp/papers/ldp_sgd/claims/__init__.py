"""The checks of `ldp-sgd`, by the ids of the claims in `claims.yaml`."""

from dpexp.papers.ldp_sgd.claims import figures, levels, privacy, rates, remarks, theorems

CHECKS = figures.CHECKS | levels.CHECKS | privacy.CHECKS | rates.CHECKS | remarks.CHECKS | theorems.CHECKS
