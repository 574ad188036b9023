"""The data of the rows that are fits, as statsmodels and scikit-learn ship them, and two programs that fit them."""

import math
from unittest.mock import patch

import numpy as np
import pandas as pd
import yaml

import dpexp
from dpexp.inference import fitting

CALLS = [
    4.4, 4.7, 4.7, 5.9, 6.6, 7.3, 8.1, 8.8, 10.6, 12.0, 13.5, 14.9, 16.1, 21.2, 119.0, 124.0, 142.0, 159.0, 182.0, 212.0,
    43.0, 24.0, 27.0, 29.0,
]  # fmt: skip
"""`phones` of R's MASS: millions of calls in Belgium in the years 1950 to 1973"""
TARGETS = {
    "phones": "calls", "diabetes": "target", "stackloss": "STACKLOSS", "longley": "TOTEMP", "spector": "GRADE", "fair": "affair",
}  # fmt: skip
WIDE = 3
"""ranges are so many times as wide as the data: no record is far out, and all have the weight 1"""
TUNING = 1.345


def table(name):
    """A data set, with texts for the two classes."""
    if name == "phones":
        return pd.DataFrame({"year": np.arange(50.0, 74.0), "calls": CALLS})
    if name == "diabetes":
        from sklearn.datasets import load_diabetes

        return load_diabetes(as_frame=True, scaled=False).frame
    from statsmodels import datasets

    frame = getattr(datasets, name).load_pandas().data.copy()
    if name == "spector":
        frame["GRADE"] = frame["GRADE"].astype(int).astype(str)
    if name == "fair":
        frame["affair"] = (frame.pop("affairs") > 0).astype(int).astype(str)
    return frame


def by_dpexp(folder, setting):
    """Term -> its estimate and standard error, without noise; and the rules by which the fit refuses itself."""
    frame, target = table(setting["data"]), TARGETS[setting["data"]]
    numeric = frame.select_dtypes("number")
    middle, half = (numeric.max() + numeric.min()) / 2, WIDE * (numeric.max() - numeric.min()) / 2
    ranges = {name: [float(middle[name] - half[name]), float(middle[name] + half[name])] for name in numeric}
    public = folder / "public.yaml"
    public.write_text(yaml.safe_dump({"ranges": ranges, **setting["public"]}))
    frame = pd.concat([frame] * setting.get("times", 1), ignore_index=True)
    # the data of textbooks are few
    with patch.object(fitting, "FEWEST_CENTRAL", 0):
        fit = dpexp.fit(frame, target=target, model=setting["model"], mu=math.inf, central=True, public=public)
    document = fit.document()
    rows = {row["term"]: row for row in document["estimates"]}
    # its intercept is at the centre of the ranges, and theirs at 0
    slopes = sum(row["estimate"] * middle[term] for term, row in rows.items() if term in middle)
    rows["(intercept)"] = rows["(intercept)"] | {"estimate": rows["(intercept)"]["estimate"] - slopes}
    return rows, {one["rule"] for one in document["refused"]}


def by_reweighting(setting):
    """Term -> estimate of Huber's M-estimator with a known scale, by least squares that are reweighted 20,000 times."""
    frame, target = table(setting["data"]), TARGETS[setting["data"]]
    y = frame.pop(target).to_numpy(dtype=float)
    centre, scale = frame.mean(), frame.std()
    x = np.column_stack([np.ones(len(y)), (frame - centre) / scale])
    beta, limit = np.linalg.lstsq(x, y, rcond=None)[0], TUNING * setting["public"]["known_error_scale"]
    for _ in range(20_000):
        weights = np.sqrt(np.minimum(1, limit / np.maximum(np.abs(y - x @ beta), 1e-300)))
        beta, before = np.linalg.lstsq(x * weights[:, None], y * weights, rcond=None)[0], beta
        if np.abs(beta - before).max() < 1e-13 * np.abs(beta).max():
            break
    slopes = beta[1:] / scale
    return {"(intercept)": beta[0] - float(slopes @ centre), **slopes.to_dict()}
