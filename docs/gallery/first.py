# %% [markdown]
# # What a budget costs
#
# 300,000 users, one private gradient each: the smaller the budget, the later the error falls. Dotted: the slope that
# theory gives the iterate for many users.
#
# Commands: `dpexp run first.yaml`, then `dpexp plot first`

# %%
from pathlib import Path

import dpexp

PROFILE = "paper"  # "smoke" is a toy of the same shape
CONFIG = """
experiment: first
problem: {name: huber-linear, d: 5}
algorithm: {name: ldp-sgd}
schedule: {name: power, eta: 0.2, alpha: 1/2}
privacy: {mu: [0.5, 1, 2, inf]}
run: {n: 300000, replicates: 100, seed: 1, checkpoints: 100}
"""
Path("first.yaml").write_text(CONFIG)
dpexp.run(dpexp.load("first.yaml", profile=PROFILE))

# %%
picture = dpexp.plot("first")
picture
