"""The JSON document of a fit, from which its text, tables and receipt are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpexp.accounting.gaussian import eps_of
from dpexp.data.regression import Units
from dpexp.inference.fitting import Fitted, Planned
from dpexp.inference.models import MODELS
from dpexp.inference.pure_messages import PureModel
from dpexp.inference.user_scale import COLUMNS, Inference
from dpexp.problems import PROBLEMS

DELTAS = (1e-5, 1e-6)


def fit_document(
    units: Units, planned: Planned, mu: np.ndarray, fitted: Fitted | None = None, *, model: str, method: str | None,
    level: float, unit: str, noise: str, mu_column: str | None, contrasts: Sequence[str], order_seed: int | None,
) -> dict[str, Any]:  # fmt: skip
    """Of a fit, or of a plan or refusal where nothing is `fitted`.

    `mu` are the budgets [n], or one for all; `unit` is record, or the column of persons; `noise` says where it is from.
    """
    checked = fitted.checked if fitted else planned.checked
    lost, inference = checked.lost(len(units.names)), None
    if fitted and len(lost) < len(units.names):
        inference = Inference(fitted.release, fitted.theta, units, level)
    rows, largest = _estimates(units, fitted, inference, lost), float(mu.max())
    # of messages that have it with delta = 0
    pure = planned.model.eps if isinstance(planned.model, PureModel) else 0.0
    fits = {"model": model, "method": method or ("central-newton" if planned.central else "staged-newton")}
    document: dict[str, Any] = {
        "estimates": rows,
        "glance": {
            **fits, "target": units.modelled, "nobs": planned.n, "df_model": len(rows) - 1 - units.has_scale,
            "level": level, "sigma": rows[-1]["estimate"] if units.has_scale else None, "mu": largest,
            "eps": pure or eps_of(largest, DELTAS[0]), "delta": 0.0 if pure else DELTAS[0],
            "unbounded": sum(not row.get("bounded", False) for row in rows), "converged": inference is not None,
        },
        **fits,
        "level": level,
        "unit": unit,
        "budget": {
            "mu": largest,
            "per_user": None if planned.central else {"cap": largest, "least": float(mu.min())},
            "eps": [[delta, pure or eps_of(largest, delta)] for delta in (*([0.0] if pure else []), *DELTAS)],
        },
        "diagnostics": {
            "n": planned.n, **checked.values, "warnings": list(checked.warnings), "notes": list(units.notes),
            "n_needed": checked.n_needed,
        },
        "refused": [{"rule": r.rule, "reason": r.why, "n_needed": r.n_needed} for r in checked.reasons],
        "public": {"units": units.document(), "order_seed": order_seed, "noise": noise},
    }  # fmt: skip
    if planned.stated_by or model not in MODELS:
        bounds = f"`score_bounds` and `slope_bounds` of {model}, {PROBLEMS.source(model)}"
        document["budget"]["stated_by"] = planned.stated_by or bounds
    if mu_column is not None:
        document["budget"] |= {"column": mu_column, "weights": "equal" if planned.equal else "budget"}
    if inference is not None:
        places = np.ix_(units.visible, units.visible)
        document |= {"covariance": inference.parameters[1][places].tolist(), "release": inference.document()}
        document["diagnostics"]["hessian_ratio"] = inference.release.hessian_ratio
        if contrasts:
            document["contrasts"] = inference.contrasts(contrasts)
    return document


def _estimates(
    units: Units, fitted: Fitted | None, inference: Inference | None, lost: set[int]
) -> list[dict[str, Any]]:
    """A row for every parameter that is shown; null where there is nothing."""
    matrix, offset = units.to_user()
    values = np.full(len(offset), np.nan) if fitted is None else matrix @ fitted.theta + offset
    rows = []
    for j in units.visible:
        row: dict[str, Any] = {"term": units.names[j], **dict.fromkeys(COLUMNS)}
        row["estimate"] = float(values[j]) if math.isfinite(values[j]) else None
        if fitted is not None:
            row |= {"interval": "unbounded", "bounded": False, "finite_level": None}
            row |= inference.parameters[0][j] if inference and j not in lost else {}
            # a test that the scale is 0 means nothing: it is above 0
            if units.has_scale and j == len(values) - 1:
                row["statistic"] = row["p_value"] = None
        rows.append(row)
    return rows
