"""What decides the claims of `momentum`: privacy by exact sensitivities, identities by force, bounds and rates by runs."""

from dpexp.papers.momentum.claims import lemmas, momentum_privacy, run_claims

CHECKS = lemmas.CHECKS | momentum_privacy.CHECKS | run_claims.CHECKS
