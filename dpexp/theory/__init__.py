"""THEOREMS: pure functions of plain numbers, one for each statement of a paper; nothing here simulates.

Every paper has a folder of its own, whose `theorems.py` lists what its modules state.
"""

from dpexp.core.parameters import Registry
from dpexp.theory.dp_sgld.langevin_theorems import THEOREMS as OF_DP_SGLD
from dpexp.theory.ldp_sgd.ldp_sgd_theorems import THEOREMS as OF_LDP_SGD
from dpexp.theory.momentum.momentum_theorems import THEOREMS as OF_MOMENTUM
from dpexp.theory.theorem import Theorem

THEOREMS: Registry[Theorem] = Registry("theorem", OF_LDP_SGD | OF_DP_SGLD | OF_MOMENTUM)
