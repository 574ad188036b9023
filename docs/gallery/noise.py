# %% [markdown]
# # Noise for a target
#
# The noise multiplier for epsilon = 1 at delta = 1e-5 and 1,000 sampled steps, for two neighbouring relations.
#
# Commands: `dpexp calibrate eps=1 delta=1e-5 sampling_probability=0.01 steps=1000`

# %%
import matplotlib.pyplot as plt

import dpexp

rates = [0.001, 0.003, 0.01, 0.03, 0.1]
picture, axes = plt.subplots(figsize=(5.2, 3.4))
for relation in ("add-remove", "replace-one"):
    noise = [
        dpexp.calibrate(eps=1, delta=1e-5, sampling_probability=rate, steps=1000, neighboring_relation=relation)[
            "value"
        ]
        for rate in rates
    ]
    axes.loglog(rates, noise, "o-", label=relation)
axes.set_xlabel("sampling probability")
axes.set_ylabel("noise multiplier")
axes.legend(frameon=False)
picture.tight_layout()
picture
