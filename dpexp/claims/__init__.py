"""CLAIMS: the ledger's registry, one folder or file a paper."""

from dpexp.claims.claim import Claim
from dpexp.claims.dp_sgld import CLAIMS as DP_SGLD
from dpexp.claims.hidden_state import CLAIMS as HIDDEN_STATE
from dpexp.claims.ldp_sgd import CLAIMS as LDP_SGD
from dpexp.claims.momentum import CLAIMS as MOMENTUM
from dpexp.claims.noisy_sgd import CLAIMS as NOISY_SGD

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "ldp-sgd": LDP_SGD,
    "noisy-sgd": NOISY_SGD,
    "hidden-state": HIDDEN_STATE,
    "dp-sgld": DP_SGLD,
    "momentum": MOMENTUM,
}
