"""`dpexp fit`: private regression with confidence intervals on a user's own records."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.accounting.gaussian import eps_of, mu_within
from dpexp.commands import fit_receipt
from dpexp.commands.fit_method import method_of
from dpexp.commands.fit_request import METHODS, Request, number
from dpexp.commands.fit_result import FitResult
from dpexp.core.errors import UsageError
from dpexp.core.terminal import warn
from dpexp.data.budget_file import read_budgets
from dpexp.data.encode import PRIVATE, unread
from dpexp.data.records import Header, read_header, read_table
from dpexp.data.regression import by_person, least_budgets, persons_of, read_records, units_of
from dpexp.data.table_remarks import identifiers, losses, none_read
from dpexp.inference.models import MODELS, unit_model
from dpexp.inference.refusals import Checked
from dpexp.inference.user_scale import COLUMNS, Inference, contrast_row
from dpexp.problems import PROBLEMS
from dpexp.store.receipts import records_in, records_of

if TYPE_CHECKING:
    from dpexp.data.regression import FitRecords, Units
    from dpexp.inference.fitting import Fitted, Planned
    from dpexp.inference.models import Model
    from dpexp.inference.rehearsals import Planner
    from dpexp.inference.user_blocks import DrawNormals

DELTAS = (1e-5, 1e-6)


def command(public: Path | None, target: str | None, **options: Any) -> tuple[Any, ...]:
    """Document, text and exit code, as the command line has it; remarks for the owner go to stderr."""
    from dpexp.config.public_file import read_public

    result = fit(Request(public=read_public(public), target=target or "", **options))
    for remark in result.remarks:
        warn(remark)
    return result.document, result.text, result.exit_code


def fit(request: Request) -> FitResult:
    """The fit, or the plan of one. Raises UsageError, among them DataError and ConfigError."""
    out = request.out
    folder = out is not None and (out.is_dir() or not out.suffix)
    if folder and out:
        request = replace(request, out=(out := out / "fit.json"))
    # The words alone are looked at before any file is.
    request.check()
    if out:
        fit_receipt.check(out, request.deployment, request.again)
    if request.plan:
        return _plan(request)
    result, receipt = _fit(request)
    if receipt is not None:
        receipt.done(result.document())
    elif out:
        fit_receipt.write(out, result.document())
    # Without an interval there is nothing to draw.
    if folder and out and result.fitted and result.exit_code == 0:
        result.write_beside(receipt.result if receipt else out, request.raw)
    return result


def _planner(request: Request, units: Units, mu: np.ndarray) -> Planner:
    """What is planned of n records or persons, of whom `mu` are the budgets, or one for all."""
    model = unit_model(request.model, len(units.entries), not units.has_scale)
    method = method_of(request)
    return lambda n: method.plan(model, np.resize(mu, n) if len(mu) > 1 else mu, n)


def _plan(request: Request) -> FitResult:
    """What is expected, from names, public inputs and budgets; no other value of a file is read."""
    from dpexp.inference import rehearsals

    roles = request.roles
    columns = roles.formula.columns if roles.formula else []
    # Without a file the columns are those that are named anywhere.
    header = Header(dict.fromkeys([*request.public.named, *roles.named, *columns], "unknown"))
    if isinstance(request.data, Path):
        header = read_header(request.data)
    units = units_of(header, roles, request.inputs, request.binary)
    if request.mu_column is not None:
        if request.data is None:
            raise UsageError("--mu-column is a column of DATA", "name the file")
        table = read_table(request.data)
        mu = read_budgets(table, request.mu_column, request.public)
        mu = mu if request.person is None else least_budgets(mu, *persons_of(table, request.person))
    else:
        mu = np.array([request.budget()])
    # The number of rows is known from a column of budgets, which is public.
    if request.n is None and request.mu_column is None:
        unit = "records" if request.person is None else "persons"
        raise UsageError(f"--plan reads no data: how many {unit} are there?", "for instance --n 100000")
    n = len(mu) if request.n is None else round(number("--n", request.n, 0, 1e12))
    planner, fit_by = _planner(request, units, mu), method_of(request).fit
    planned, used = planner(n)
    outlook = rehearsals.outlook(planner, fit_by, units, request.public, n, request.level, request.half_lengths)
    # A plan has one number of records, that of its rehearsals.
    reasons = tuple(replace(reason, n_needed=None) for reason in planned.checked.reasons)
    document = _document(request, units, planned, used, Checked({}, reasons), None, None)
    if eps := _pure(planned.model):
        # What the same epsilon would cost with a delta.
        times = planned.model.gradient_sensitivity / mu_within(eps, DELTAS[0]) / planned.model.gradient_noise[0]
        said = f"Gaussian messages at delta = {DELTAS[0]:g} would be {times:.2g} times as noisy"
        document["diagnostics"]["notes"].append(said)
    document |= rehearsals.document(outlook, units, request.public)
    return FitResult(document, units, None, request.file)


def _fit(request: Request) -> tuple[FitResult, fit_receipt.Receipt | None]:
    """Read, plan, and if the plan holds, ask the users or the owner; a deployment's receipt is begun before."""
    order_seed, normals = _randomness(request)
    records, mu, remarks = entering(request, order_seed)
    units = records.units
    for text in request.contrasts:  # before anything is spent
        contrast_row(text, units.names)
    method, (planned, mu) = method_of(request), _planner(request, units, mu)(len(mu))
    # --untested goes below what was tested, and not below what can be solved.
    if planned.checked.reasons and (not request.untested or len(mu) < method.fewest(planned.model)):
        document = _document(request, units, planned, mu, planned.checked, None, None, order_seed)
        return FitResult(document, units, None, request.file, remarks), None
    receipt, spent = None, ""
    if request.deployment and request.out is not None:
        # Before any noise is drawn: a fit that dies from here on counts as spent.
        receipt = _begin(request, records, planned, float(mu.max()), order_seed)
        spent = f"Kept in {receipt.result}, with its receipt {receipt.path.name}. Spent by the receipts there: "
        spent += f"{fit_receipt.together(fit_receipt.receipts(request.out))}."
    fitted = method.fit(planned, records.x, records.y, mu, normals, records.owners)
    # What the plan refused stays refused, whatever the noise made of it.
    checked = fitted.checked.after_plan(planned.checked)
    inference = None
    if len(checked.lost(len(units.names))) < len(units.names):
        inference = Inference(fitted.release, fitted.theta, units, request.level)
    document = _document(request, units, planned, mu, checked, fitted, inference, order_seed)
    return FitResult(document, units, inference, request.file, remarks, spent), receipt


def _begin(request: Request, records: FitRecords, planned: Planned, mu: float, order_seed: int) -> fit_receipt.Receipt:
    """Write down what is about to be spent."""
    assert request.out is not None
    eps = _pure(planned.model)
    words = {
        "data": request.file, "target": request.formula or request.target, "model": request.model,
        "method": request.method_name, "unit": request.person or "record",
        "not_covered": fit_receipt.not_covered(eps), "stated_by": planned.stated_by or _bounds_by(request),
    }  # fmt: skip
    # of a frame what is used of it
    named = records_of(repr(sorted(map(bytes, np.column_stack([records.x, records.y])))).encode())
    if isinstance(request.data, Path):
        named = records_in([request.data])
    public = _public(request, records.units, planned, order_seed)
    return fit_receipt.begin(request.out, mu, eps, public, words, named, request.again)


def entering(request: Request, order_seed: int) -> tuple[FitRecords, np.ndarray, list[str]]:
    """The records that a fit uses, their holders in a public order; budgets of these; and remarks for the owner."""
    assert request.data is not None
    roles = request.roles
    table = read_table(request.data)
    records = read_records(table, roles, request.inputs, request.binary)
    gone = len(table) - len(records.y)
    found = unread(table, records.units.read) if gone else {}
    outcome = "only noise is sent for them" if request.method_name in METHODS else "they count as the centre"
    outcome = outcome if len(records.y) else "add nothing"
    lost = losses(table, found, outcome)
    if outside := gone - len(found):
        what = f"have no finite value of a function of the formula, and {outcome}"
        lost.append(f"{outside:,} of {len(table):,} records {what} {PRIVATE}")
    # Before anything is drawn: a budget would be spent on noise.
    if not len(records.y):
        raise none_read(table, lost)
    remarks = [*identifiers(table, records.units.columns), *lost]
    if roles.person is not None:
        whose, _ = persons_of(table, roles.person)
        if alone := int(np.count_nonzero(whose < 0)):
            remarks.append(f"{alone:,} of {len(table):,} rows have no id in {roles.person} and are left out {PRIVATE}")
        records = by_person(table, records, roles.person)
    records = records.in_order(np.random.Generator(np.random.PCG64(order_seed)).permutation(records.n))
    mu = np.full(records.n, request.budget()) if records.mu is None else records.mu
    # What a deployment prints may be handed on with its result.
    return records, mu, [] if request.deployment else remarks


def _randomness(request: Request) -> tuple[int, DrawNormals]:
    """The public seed of the order, and where noise comes from.

    In a deployment noise is drawn from the operating system and kept nowhere; the seed of the order comes from there
    too, and is published.
    """
    if request.deployment:
        import secrets

        from dpexp.inference.user_blocks import operating_system_normals

        # Published, so that whoever has the messages can compute the fit again.
        return secrets.randbits(63), operating_system_normals
    from dpexp.core.seeds import generator

    return request.rehearsed, generator(request.rehearsed, 0, "noise").standard_normal


def _bounds_by(request: Request) -> str:
    """Whose bounds on a record's score and its slope the noise follows from; empty where dpexp's."""
    bounds = f"`score_bounds` and `slope_bounds` of {request.model} ({PROBLEMS.source(request.model)})"
    return "" if request.model in MODELS else bounds


# --- the document -----------------------------------------------------------------------------------------------------


def _pure(model: Model) -> float:
    """Epsilon of messages that have it with delta = 0; 0 where they are Gaussian."""
    from dpexp.inference.pure_messages import PureModel

    return model.eps if isinstance(model, PureModel) else 0.0


def _estimates(
    units: Units, fitted: Fitted | None, inference: Inference | None, lost: set[int]
) -> list[dict[str, Any]]:
    """A row for every parameter that is shown; null where there is nothing."""
    matrix, offset = units.to_user()
    values = np.full(len(offset), np.nan) if fitted is None else matrix @ fitted.theta + offset
    rows = []
    for j in units.shown:
        row: dict[str, Any] = {"term": units.names[j], **dict.fromkeys(COLUMNS)}
        row["estimate"] = float(values[j]) if math.isfinite(values[j]) else None
        if fitted is not None:
            row |= {"interval": "unbounded", "bounded": False, "finite_level": None}
            row |= inference.parameters[0][j] if inference and j not in lost else {}
            # A test that the scale is 0 means nothing: it is above 0.
            if units.has_scale and j == len(values) - 1:
                row["statistic"] = row["p_value"] = None
        rows.append(row)
    return rows


def _document(
    request: Request, units: Units, planned: Planned, mu: np.ndarray, checked: Checked,
    fitted: Fitted | None, inference: Inference | None, order_seed: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The JSON document of `dpexp fit`; `mu` are the budgets, one for every record that was used, or one for all."""
    largest, pure, unit = float(mu.max()), _pure(planned.model), request.person or "record"
    rows = _estimates(units, fitted, inference, checked.lost(len(units.names)))
    # What all messages of a record, or the fit, spend at a delta.
    eps = [[delta, pure or eps_of(largest, delta)] for delta in (*([0.0] if pure else []), *DELTAS)]
    # Budgets that somebody has, and none between two of them.
    low, middle, high = np.quantile(mu, [0.05, 0.5, 0.95], method="inverted_cdf").tolist()
    per_user = None if planned.central else {"cap": largest, "q05": low, "median": middle, "q95": high}
    document: dict[str, Any] = {
        "estimates": rows,
        # the fit as a whole: what broom calls so
        "glance": {
            "model": request.model, "method": request.method_name, "target": units.modelled, "nobs": planned.n,
            "df_model": len(rows) - 1 - units.has_scale, "level": request.level,
            "sigma": rows[-1]["estimate"] if units.has_scale else None, "mu": largest,
            "eps": pure or eps_of(largest, DELTAS[0]), "delta": 0.0 if pure else DELTAS[0],
            "unbounded": sum(not one.get("bounded", False) for one in rows), "converged": inference is not None,
        },
        "level": request.level, "method": request.method_name, "model": request.model, "unit": unit,
        "budget": {"mu": largest, "per_user": per_user, "eps": eps, "least": float(mu.min())},
        "diagnostics": {
            "n": planned.n, **checked.values, "warnings": list(checked.warnings), "notes": list(units.notes),
            "n_needed": checked.n_needed,
        },
        "refused": [{"rule": r.rule, "reason": r.why, "n_needed": r.n_needed} for r in checked.reasons],
    }  # fmt: skip
    if by := planned.stated_by or _bounds_by(request):
        document["budget"]["stated_by"] = by
    if request.mu_column is not None:
        weights = "equal" if planned.equal else "budget"
        document["budget"] |= {"column": request.mu_column, "weights": weights}
    if inference is not None:
        shown = np.ix_(units.shown, units.shown)
        document |= {"covariance": inference.parameters[1][shown].tolist(), "release": inference.document()}
        if request.contrasts:
            document["contrasts"] = inference.contrasts(request.contrasts)
    document["public"] = _public(request, units, planned, order_seed)
    return document


def _public(request: Request, units: Units, planned: Planned, order_seed: int | None) -> dict[str, Any]:
    """Every number that is not private: whoever has them and the messages can compute the fit again."""
    from dpexp.inference.staged_newton import SHARES, TIMES

    public: dict[str, Any] = {
        "covariates": [{"name": e.name, "centre": e.centre, "scale": e.scale} for e in units.entries],
        "target": {"name": units.target, "centre": units.centre, "scale": units.scale},
        "units": units.document(),
        **(planned.model.bounds if not planned.stated_by else {}),
        "messages": "cap sampling" if _pure(planned.model) else planned.stated_by or "Gaussian",
        "order_seed": order_seed,
        "noise": "operating system, not stored" if request.deployment else f"seed {request.rehearsed}: a rehearsal",
    }
    if request.model not in MODELS:
        public["model"] = PROBLEMS.source(request.model)
    if request.method_name == "staged-newton":
        public["schedule"] = {"shares": SHARES, "T": TIMES, "hessian_every": planned.every}
    return public
