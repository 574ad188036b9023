# %% [markdown]
# # Accuracy against epsilon
#
# DP-SGD on 1,438 digits, with the noise that each epsilon needs.
#
# Commands: `dpexp run accuracy.yaml`, then `dpexp plot accuracy`

# %%
from pathlib import Path

import dpexp

PROFILE = "paper"  # "smoke" is a toy of the same shape
CONFIG = """
experiment: accuracy
problem: {name: softmax, data: {name: digits}, regulariser: 1e-3}
algorithm: {name: dp-sgd, batch_size: 64, epochs: 20}
schedule: {name: constant, eta: 2}
privacy: {eps: [0.5, 1, 2, 4, 8], delta: 1e-5}
run: {replicates: 10, seed: 5, checkpoints: 2}
"""
Path("accuracy.yaml").write_text(CONFIG)
dpexp.run(dpexp.load("accuracy.yaml", profile=PROFILE))

# %%
picture = dpexp.plot("accuracy")
picture
