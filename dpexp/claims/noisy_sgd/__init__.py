"""The claims of `noisy-sgd`: settled by exact laws in one dimension, so no stored results are needed."""

from dpexp.claims.claim import Claim
from dpexp.claims.noisy_sgd.lower import CLAIMS as LOWER
from dpexp.claims.noisy_sgd.sampling import CLAIMS as SAMPLING
from dpexp.claims.noisy_sgd.upper import CLAIMS as UPPER

CLAIMS: tuple[Claim, ...] = (*UPPER, *LOWER, *SAMPLING)
