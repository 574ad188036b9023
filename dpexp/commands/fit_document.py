"""The JSON document of `dpexp fit`, from which text, tables and receipts of a fit are made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpexp.accounting.gaussian import eps_of
from dpexp.commands.fit_request import Request
from dpexp.commands.fit_text import DELTAS
from dpexp.data.regression import Units
from dpexp.inference.fitting import Fitted, Planned
from dpexp.inference.models import MODELS
from dpexp.inference.pure_messages import PureModel
from dpexp.inference.user_scale import COLUMNS, Inference
from dpexp.problems import PROBLEMS


def fit_document(
    request: Request, units: Units, planned: Planned, mu: np.ndarray, fitted: Fitted | None = None,
    order_seed: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Of a fit, or of a plan or refusal where nothing is `fitted`; `mu` are the budgets [n], or one for all."""
    checked = fitted.checked if fitted else planned.checked
    lost, inference = checked.lost(len(units.names)), None
    if fitted and len(lost) < len(units.names):
        inference = Inference(fitted.release, fitted.theta, units, request.level)
    rows, largest = _estimates(units, fitted, inference, lost), float(mu.max())
    # of messages that have it with delta = 0
    pure = planned.model.eps if isinstance(planned.model, PureModel) else 0.0
    method = request.method or ("central-newton" if planned.central else "staged-newton")
    fits = {"model": request.model, "method": method}
    document: dict[str, Any] = {
        "estimates": rows,
        "glance": {
            **fits, "target": units.modelled, "nobs": planned.n, "df_model": len(rows) - 1 - units.has_scale,
            "level": request.level, "sigma": rows[-1]["estimate"] if units.has_scale else None, "mu": largest,
            "eps": pure or eps_of(largest, DELTAS[0]), "delta": 0.0 if pure else DELTAS[0],
            "unbounded": sum(not row.get("bounded", False) for row in rows), "converged": inference is not None,
        },
        **fits,
        "level": request.level,
        "unit": request.person or "record",
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
        "public": {
            "units": units.document(),
            "order_seed": order_seed,
            "noise": "operating system, not stored" if request.deployment else f"seed {request.rehearsed}: a rehearsal",
        },
    }  # fmt: skip
    if planned.stated_by or request.model not in MODELS:
        bounds = f"`score_bounds` and `slope_bounds` of {request.model}, {PROBLEMS.source(request.model)}"
        document["budget"]["stated_by"] = planned.stated_by or bounds
    if request.mu_column is not None:
        document["budget"] |= {"column": request.mu_column, "weights": "equal" if planned.equal else "budget"}
    if inference is not None:
        places = np.ix_(units.visible, units.visible)
        document |= {"covariance": inference.parameters[1][places].tolist(), "release": inference.document()}
        document["diagnostics"]["hessian_ratio"] = inference.release.hessian_ratio
        if request.contrasts:
            document["contrasts"] = inference.contrasts(request.contrasts)
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
