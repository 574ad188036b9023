"""The checks of `ldp-sgd`, by the ids of the claims in `claims.yaml`."""

from dpexp.papers.ldp_sgd.claims import convex, figures, levels, privacy, rates, remarks, strong

CHECKS = convex.CHECKS | figures.CHECKS | levels.CHECKS | privacy.CHECKS | rates.CHECKS | remarks.CHECKS | strong.CHECKS
