"""The claims of `momentum`: privacy by exact sensitivities, identities by force, bounds and rates by runs."""

from dpexp.claims.claim import Claim
from dpexp.claims.momentum.idea import CLAIMS as IDEA
from dpexp.claims.momentum.lemmas import CLAIMS as LEMMAS
from dpexp.claims.momentum.privacy import THEOREM_4, THEOREM_8
from dpexp.claims.momentum.rates import CLAIMS as RATES

CLAIMS: tuple[Claim, ...] = (*THEOREM_4, *LEMMAS, *THEOREM_8, *RATES, *IDEA)
