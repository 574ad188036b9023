"""The claims of `momentum`: privacy by exact sensitivities, identities by force, bounds and rates by runs."""

from dpexp.papers.momentum.claims import lemmas, privacy, runs, trees
from dpexp.reporting.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *(*trees.CLAIMS, *privacy.THEOREM_4, *lemmas.CLAIMS, *privacy.THEOREM_8),
    *(*runs.CLAIMS, *lemmas.DIFFERENCES, *runs.IDEA),
)
