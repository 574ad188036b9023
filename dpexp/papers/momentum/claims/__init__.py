"""What decides the claims of `momentum`: privacy by exact sensitivities, identities by force, bounds and rates by runs."""

from dpexp.papers.momentum.claims import lemmas, privacy, runs

CHECKS = lemmas.CHECKS | privacy.CHECKS | runs.CHECKS
