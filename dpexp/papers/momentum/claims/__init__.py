"""The claims of `momentum`: privacy by exact sensitivities, identities by force, bounds and rates by runs."""

from dpexp.papers.momentum.claims import idea, lemmas, privacy, rates, trees
from dpexp.reporting.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *(*trees.CLAIMS, *privacy.THEOREM_4, *lemmas.CLAIMS, *privacy.THEOREM_8),
    *(*rates.CLAIMS, *lemmas.DIFFERENCES, *idea.CLAIMS),
)
