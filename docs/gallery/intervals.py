# %% [markdown]
# # Private regression with intervals
#
# Coefficients of census records with mu = 0.3 (epsilon 1.13 at delta 1e-5) and 95% intervals.
#
# Commands: `dpexp fit census.csv --target over_50k --model mallows-logistic --public census.yaml --mu 0.3 --central`

# %%
from pathlib import Path

import matplotlib.pyplot as plt

import dpexp
from dpexp.data.adult import census

census().to_csv("census.csv", index=False)
Path("census.yaml").write_text("""
ranges: {age: [18, 70], education: [6, 16], hours: [15, 65]}
categories: {sex: [Female, Male], married: [no, yes]}
""")
fitted = dpexp.fit(
    "census.csv", target="over_50k", model="mallows-logistic", public="census.yaml", mu=0.3, central=True
).document()

# %%
shown = [line for line in fitted["estimates"] if line["term"] not in ("(intercept)", "age", "hours")]
picture, axes = plt.subplots(figsize=(5.2, 2.2))
for place, line in enumerate(shown):
    axes.plot([line["conf_low"], line["conf_high"]], [place, place], color="#2b6cb8", lw=2)
    axes.plot(line["estimate"], place, "o", color="#2b6cb8")
axes.set_yticks(range(len(shown)), [line["term"] for line in shown])
axes.axvline(0, color="grey", lw=0.8)
axes.set_xlabel("coefficient, log odds of an income over 50,000")
picture.tight_layout()
picture
