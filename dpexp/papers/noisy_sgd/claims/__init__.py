"""The claims of `noisy-sgd`: settled by exact laws in one dimension, so no stored results are needed."""

from dpexp.papers.noisy_sgd.claims.appendix import CLAIMS as APPENDIX
from dpexp.papers.noisy_sgd.claims.clipping import CLAIMS as CLIPPING
from dpexp.papers.noisy_sgd.claims.domain import CLAIMS as DOMAIN
from dpexp.papers.noisy_sgd.claims.lower import CLAIMS as LOWER
from dpexp.papers.noisy_sgd.claims.sampling import CLAIMS as SAMPLING
from dpexp.papers.noisy_sgd.claims.upper import CLAIMS as UPPER
from dpexp.reporting.claim import Claim

CLAIMS: tuple[Claim, ...] = (*UPPER, *LOWER, *APPENDIX, *DOMAIN, *CLIPPING, *SAMPLING)
