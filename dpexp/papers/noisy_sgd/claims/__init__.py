"""The claims of `noisy-sgd`: settled by exact laws in one dimension, so no stored results are needed."""

from dpexp.papers.noisy_sgd.claims import appendix, lower, sections, upper
from dpexp.reporting.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *(*upper.CLAIMS, *lower.CLAIMS, *appendix.CLAIMS),
    *(*sections.DOMAIN, *sections.CLIPPING, *sections.SAMPLING),
)
