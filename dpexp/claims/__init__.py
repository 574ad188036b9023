"""CLAIMS: the ledger's registry, one folder or file a paper."""

from dpexp.claims.claim import Claim
from dpexp.claims.ldp_sgd import CLAIMS as LDP_SGD

CLAIMS: dict[str, tuple[Claim, ...]] = {"ldp-sgd": LDP_SGD}
