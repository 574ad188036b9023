"""The claims of `ldp-sgd`, in the paper's order."""

from dpexp.papers.ldp_sgd.claims import convex, figures, levels, privacy, rates, remarks, strong
from dpexp.reporting.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *privacy.CLAIMS,
    *strong.CLAIMS,
    *remarks.STRONG,
    *convex.CLAIMS,
    *remarks.CONVEX,
    *rates.CLAIMS,
    *levels.CLAIMS,
    *figures.CLAIMS,
    *rates.CONVERGENCE,
)
