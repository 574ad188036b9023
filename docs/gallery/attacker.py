# %% [markdown]
# # What an attacker can achieve
#
# True against false positive rates of any test for one record: no test is above a guarantee, some test reaches what is
# attained.
#
# Commands: `dpexp privacy --mechanism sampled-gaussian noise_multiplier=1 sampling_probability=0.01 steps=1000 --tradeoff`

# %%
import matplotlib.pyplot as plt

import dpexp

asked = dpexp.privacy("sampled-gaussian", noise_multiplier=1, sampling_probability=0.01, steps=1000, tradeoff=True)
rows = asked.document()["tradeoff"]["statements"]

# %%
picture, axes = plt.subplots(figsize=(4.2, 3.8))
for row in rows:
    rates, misses = zip(*row["curve"], strict=True)
    found = [1 - miss for miss in misses]
    axes.loglog(rates, found, "-" if row["role"] == "guarantee" else "--", label=f"{row['role']}: {row['analysis']}")
axes.loglog(rates, rates, ":", color="grey", label="guessing")
axes.set_xlabel("false positive rate")
axes.set_ylabel("true positive rate")
axes.legend(frameon=False, fontsize=7)
picture.tight_layout()
picture
