# %% [markdown]
# # Three update rules, paired
#
# Plain steps, clipped messages and heavy-ball steps on the same users and noise directions.
#
# Commands: `dpexp run updates.yaml`, `dpexp plot updates`, and `dpexp table updates`

# %%
from pathlib import Path

import dpexp

PROFILE = "paper"  # "smoke" is a toy of the same shape
CONFIG = """
experiment: updates
problem: {name: huber-linear, d: 5}
schedule: {name: power, eta: 0.1, alpha: 1/2}
privacy: {mu: 1}
run: {n: 100000, replicates: 100, seed: 3, checkpoints: 60}
cases:
  - algorithm: {name: ldp-sgd}
  - algorithm: {name: clipped-ldp-sgd}
  - algorithm: {name: heavy-ball-ldp-sgd}
"""
Path("updates.yaml").write_text(CONFIG)
dpexp.run(dpexp.load("updates.yaml", profile=PROFILE))

# %%
picture = dpexp.plot("updates")
picture
