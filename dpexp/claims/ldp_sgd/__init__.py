"""The claims of `ldp-sgd`, in the paper's order."""

from dpexp.claims.claim import Claim
from dpexp.claims.ldp_sgd import convex, figures, privacy, rates, strong

CLAIMS: tuple[Claim, ...] = (*privacy.CLAIMS, *strong.CLAIMS, *convex.CLAIMS, *rates.CLAIMS, *figures.CLAIMS)
