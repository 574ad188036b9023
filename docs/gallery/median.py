# %% [markdown]
# # Median regression
#
# The loss has a kink; the gap to the best risk is computed from the law of the records, not from a sample.
#
# Commands: `dpexp run median.yaml`, then `dpexp plot median --metric loss_gap`

# %%
from pathlib import Path

import dpexp

PROFILE = "paper"  # "smoke" is a toy of the same shape
CONFIG = """
experiment: median
problem: {name: pinball-linear, d: 5, tau: 0.5}
schedule: {name: power, eta: 0.5, alpha: [1/2, 2/3]}
privacy: {mu: [1, 2, inf]}
run: {n: 100000, replicates: 60, seed: 4, checkpoints: 60}
"""
Path("median.yaml").write_text(CONFIG)
dpexp.run(dpexp.load("median.yaml", profile=PROFILE))

# %%
picture = dpexp.plot("median", metric="loss_gap")
picture
