# %% [markdown]
# # Users with their own budgets
#
# Budgets drawn between 0.5 and 2 do better than 0.5 for all, and worse than 2.
#
# Commands: `dpexp run budgets.yaml`, then `dpexp plot budgets`

# %%
from pathlib import Path

import dpexp

PROFILE = "paper"  # "smoke" is a toy of the same shape
CONFIG = """
experiment: budgets
problem: {name: huber-linear, d: 5}
schedule: {name: power, eta: 0.2, alpha: 1/2}
privacy: {mu: [0.5, {uniform: [0.5, 2]}, 2]}
run: {n: 100000, replicates: 100, seed: 2, checkpoints: 60}
"""
Path("budgets.yaml").write_text(CONFIG)
dpexp.run(dpexp.load("budgets.yaml", profile=PROFILE))

# %%
picture = dpexp.plot("budgets", estimator=["asgd"])
picture
