"""The claims of `ldp-sgd`, in the paper's order."""

from dpexp.papers.ldp_sgd.claims import convex, figures, privacy, rates, strong
from dpexp.reporting.claim import Claim

CLAIMS: tuple[Claim, ...] = (*privacy.CLAIMS, *strong.CLAIMS, *convex.CLAIMS, *rates.CLAIMS, *figures.CLAIMS)
