# %% [markdown]
# # Momentum from a tree of sums
#
# Gradient sums are released by a binary tree, so noise grows with the logarithm of the steps.
#
# Commands: `dpexp run tree.yaml`, then `dpexp plot tree`

# %%
from pathlib import Path

import dpexp

PROFILE = "paper"  # "smoke" is a toy of the same shape
CONFIG = """
experiment: tree
problem: {name: rippled-mean, N: 2000, d: 10}
algorithm: {name: tree-momentum, epochs: [1, 2, 4, 8]}
schedule: {name: path-length, length: 4}
privacy: {eps: [0.5, 2, inf], delta: 1e-5}
run: {replicates: 20, seed: 7, checkpoints: 1}
"""
Path("tree.yaml").write_text(CONFIG)
dpexp.run(dpexp.load("tree.yaml", profile=PROFILE))

# %%
picture = dpexp.plot("tree")
picture
