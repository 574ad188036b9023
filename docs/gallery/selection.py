# %% [markdown]
# # The best of several runs
#
# Trying settings and keeping the best one gives away more than one run. Each replicate here is a private selection among
# six candidates, with noise set so that what is released meets the target.
#
# Commands: `dpexp run selection.yaml`, then `dpexp privacy selection.yaml`

# %%
from pathlib import Path

import dpexp

PROFILE = "paper"  # "smoke" is a toy of the same shape
CONFIG = """
experiment: selection
problem: {name: softmax, data: {name: digits}, regulariser: 1e-2}
algorithm: {name: dp-sgd, batch_size: 32, epochs: 5}
schedule: {name: constant, eta: 1}
tune: {over: {clip: [0.1, 1], eta: [0.5, 1, 2]}, draws: poisson 6}
privacy: {eps: [1, 2, 4, 8], delta: 1e-5}
run: {replicates: 20, seed: 6, checkpoints: 4}
"""
Path("selection.yaml").write_text(CONFIG)
dpexp.run(dpexp.load("selection.yaml", profile=PROFILE))

# %%
picture = dpexp.plot("selection")
picture
