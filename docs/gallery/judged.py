# %% [markdown]
# # A bound of your own, refuted
#
# A bound for added records is used for replaced ones: exact laws find data sets that exceed it.
#
# Commands: `dpexp judge` with the file of the function

# %%
import matplotlib.pyplot as plt

import dpexp
from dpexp.accounting.renyi import mixture_from_base


def rdp(order, *, sampling_probability, noise_multiplier, steps):
    return steps * mixture_from_base(order, sampling_probability, noise_multiplier)


assumes = {"sampling": "poisson", "relation": "replace-one", "released": "all-iterates"}
verdict = dpexp.judge(rdp, assumes=assumes)
print(verdict)

# %%
worst = verdict.document()["worst"]
picture, axes = plt.subplots(figsize=(5.2, 1.6))
axes.barh(["the bound", "a pair attains"], [worst["bound"], worst["exact"]], color=["#2b6cb8", "#a50f4c"])
axes.set_xlabel(f"Renyi divergence of order {worst['at']['order']:.3g}")
picture.tight_layout()
picture
