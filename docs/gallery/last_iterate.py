# %% [markdown]
# # Releasing only the last iterate
#
# The guarantee for all iterates grows with the steps; the one for the last iterate stops. Below: what a pair of data
# sets attains.
#
# Commands: `dpexp privacy --mechanism noisy-sgd n=10000 batch_size=100 step_size=0.01 noise_std=1 lipschitz=1 diameter=1 smoothness=1 steps=1e6`

# %%
import matplotlib.pyplot as plt

import dpexp

setting = {"n": 10_000, "batch_size": 100, "step_size": 0.01, "noise_std": 1, "lipschitz": 1, "diameter": 1}
steps = [10**k for k in range(2, 7)]
found = {}
for count in steps:
    said = dpexp.privacy("noisy-sgd", **setting, smoothness=1, steps=count).document()
    for line in (*said["statements"], *said["attained"]):
        found.setdefault(line["analysis"], {})[count] = line["eps"][0][1]

# %%
picture, axes = plt.subplots(figsize=(5.2, 3.4))
for analysis, released in (("pld-composition", "all iterates"), ("hybrid", "last iterate"), ("exact-walk", "attained")):
    axes.loglog(found[analysis].keys(), found[analysis].values(), "o-", label=f"{released} ({analysis})")
axes.set_xlabel("steps")
axes.set_ylabel("epsilon at delta = 1e-5")
axes.legend(frameon=False)
picture.tight_layout()
picture
