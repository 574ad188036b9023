"""The claims of `momentum`: privacy by exact sensitivities, identities by force, bounds and rates by runs."""

from dpexp.papers.momentum.claims.differences import CLAIMS as DIFFERENCES
from dpexp.papers.momentum.claims.idea import CLAIMS as IDEA
from dpexp.papers.momentum.claims.lemmas import CLAIMS as LEMMAS
from dpexp.papers.momentum.claims.privacy import THEOREM_4, THEOREM_8
from dpexp.papers.momentum.claims.rates import CLAIMS as RATES
from dpexp.papers.momentum.claims.trees import CLAIMS as TREES
from dpexp.reporting.claim import Claim

CLAIMS: tuple[Claim, ...] = (*TREES, *THEOREM_4, *LEMMAS, *THEOREM_8, *RATES, *DIFFERENCES, *IDEA)
