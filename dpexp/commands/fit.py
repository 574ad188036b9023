"""`dpexp fit`: private regression with confidence intervals on a user's own records."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.commands import fit_receipt
from dpexp.commands.fit_request import Request, number
from dpexp.commands.fit_result import FitResult
from dpexp.config.error_messages import validated
from dpexp.config.yamlfile import Position, parse_mapping, read_bytes, with_place
from dpexp.core.seeds import generator
from dpexp.core.text import standard_json
from dpexp.data.encode import PRIVATE, losses, none_read, unread
from dpexp.data.public_inputs import PublicInputs
from dpexp.data.records import Header, read_header, read_record_table
from dpexp.data.regression import FitRecords, Units, by_person, read_records, units_of
from dpexp.inference import rehearsals, user_blocks
from dpexp.inference.fit_document import fit_document
from dpexp.inference.fitting import Fitted, Planned, fit_central, fit_local, plan_central, plan_local
from dpexp.inference.models import unit_model
from dpexp.inference.public_statements import PublicStatements
from dpexp.inference.pure_messages import pure
from dpexp.inference.user_scale import contrast_row
from dpexp.privacy.cap import MOST_EPS, gaussian_mu
from dpexp.store import receipts
from dpexp.store.folder import write_text

if TYPE_CHECKING:
    from dpexp.algorithms.fit_method import FitMethod


def command(data: Path | None = None, public: Path | None = None, **options: Any) -> FitResult:
    """The fit of a command line."""
    return fit(Request(data, public=read_public(public), **options))


def read_public(source: Path | Mapping[str, object] | None) -> PublicInputs:
    """The statements of a file or of a mapping; none without one. Raises ConfigError with all mistakes, located."""
    where = str(source) if isinstance(source, Path) else "public"
    if isinstance(source, Path):
        keys = f"keys: {', '.join(PublicStatements.model_fields)}"
        root = parse_mapping(read_bytes(source), where, "a file of --public", keys)
    else:
        root = with_place(source or {}, Position(where))
    # A key without a value is one that is left out.
    values = {key: value for key, value in root.items() if value is not None}
    return validated(PublicStatements, root, values=values).inputs(values, where if source is not None else "")


def fit(request: Request) -> FitResult:
    """The fit, or the plan of one. Raises UsageError, among them DataError and ConfigError."""
    # before any file is read
    request.check()
    if request.out:
        fit_receipt.check(request.out, request.deployment, request.again)
    return _rehearse(request) if request.plan else _fit(request)


def _plan(request: Request, units: Units, mu: np.ndarray, n: int) -> tuple[Planned, np.ndarray]:
    """The plan of n records or persons with the budgets mu [n], or one for all, and these in Gaussian DP.

    With --eps messages are eps-differentially private: without --delta always, and with it where they are less noisy
    than Gaussian ones, which is public. A very large epsilon is no protection, and Gaussian.
    """
    model = unit_model(request.model, len(units.entries), not units.has_scale)
    if request.method:
        return _plugin(request.method).plan(model, float(mu[0]), n), mu
    if request.central:
        return plan_central(model, n), mu
    eps = math.inf if request.eps is None else number("--eps", request.eps, 0, math.inf)
    if eps <= MOST_EPS:
        caps = pure(model, eps)
        if request.delta is None or (caps.gradient_noise <= model.gradient_noise / mu[0]).all():
            model, mu = caps, np.full(len(mu), gaussian_mu(eps))
    return plan_local(model, mu, n, request.weights == "equal"), mu


def _plugin(name: str) -> FitMethod:
    from dpexp.algorithms.fit_method import FitMethod  # with the algorithms, which other fits do not need

    return FitMethod(name)


def _method(request: Request) -> rehearsals.Fit:
    if request.method:
        return _plugin(request.method).fit
    return fit_central if request.central else fit_local


def _rehearse(request: Request) -> FitResult:
    """What is expected, from names, public inputs and budgets; no value of a file is read."""
    roles = request.roles
    if isinstance(request.data, Path):
        header = read_header(request.data)
    else:  # the columns are those that are named anywhere
        columns = roles.formula.columns if roles.formula else []
        header = Header(dict.fromkeys([*request.public.named, *roles.named, *columns], "unknown"))
    units, n = units_of(header, roles, request.inputs, request.binary), round(number("--n", request.n, 0, 1e12))
    budget = np.array([request.budget()])
    planned, mu = _plan(request, units, budget, n)
    outlook = rehearsals.outlook(
        lambda k: _plan(request, units, budget, k), _method(request), units, request.public, n, request.level
    )
    # a plan has one number of records, that of its rehearsals
    reasons = tuple(replace(reason, n_needed=None) for reason in planned.checked.reasons)
    planned = replace(planned, checked=replace(planned.checked, reasons=reasons))
    return FitResult(_document(request, units, planned, mu) | outlook, request.file)


def _fit(request: Request) -> FitResult:
    """Read, plan, and if the plan holds, ask the users or the owner; a deployment's receipt is begun before."""
    # the seed of the order is published; that of a deployment comes from the operating system, as its noise does
    seed = secrets.randbits(63) if request.deployment else request.rehearsed
    normals: user_blocks.DrawNormals = generator(seed, 0, "noise").standard_normal
    records, mu, remarks = entering(request, seed)
    for text in request.contrasts:  # before anything is spent
        contrast_row(text, records.units)
    planned, mu = _plan(request, records.units, mu, len(mu))
    out, begun, spent, fitted = request.out, None, "", None
    if not planned.checked.reasons:
        if request.deployment and request.out is not None:
            normals = user_blocks.operating_system_normals
            # of a frame what is used of it
            name = receipts.records_of(repr(sorted(map(bytes, np.column_stack([records.x, records.y])))).encode())
            if isinstance(request.data, Path):
                name = receipts.records_in([request.data])
            # before any noise is drawn: a fit that dies from here on counts as spent
            document = _document(request, records.units, planned, mu, None, seed)
            out, begun = fit_receipt.begin(request.out, document, request.file, name, request.again)
            spent = f"Kept in {out}, with its receipt {begun.path.name}. Spent by the receipts there: "
            spent += f"{receipts.together(fit_receipt.earlier_receipts(request.out))}."
        fitted = _method(request)(planned, records.x, records.y, mu, normals, records.owners)
    document = _document(request, records.units, planned, mu, fitted, seed)
    if out is not None:
        write_text(out, standard_json(document))
    if begun is not None:
        begun.done()
    return FitResult(document, request.file, remarks, spent)


def _document(
    request: Request, units: Units, planned: Planned, mu: np.ndarray, fitted: Fitted | None = None,
    order_seed: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    noise = "operating system, not stored" if request.deployment else f"seed {request.rehearsed}: a rehearsal"
    return fit_document(
        units, planned, mu, fitted, model=request.model, method=request.method, level=request.level, noise=noise,
        unit=request.person or "record", mu_column=request.mu_column, contrasts=request.contrasts,
        order_seed=order_seed,
    )  # fmt: skip


def entering(request: Request, seed: int) -> tuple[FitRecords, np.ndarray, list[str]]:
    """The records that a fit uses, their holders in a public order; budgets of these; and remarks for the owner."""
    roles, table = request.roles, read_record_table(request.data)
    records = read_records(table, roles, request.inputs, request.binary)
    faults = unread(table, records.units.read) if len(records.y) < len(table) else {}
    outcome = "count as the centre" if request.method else "add nothing" if request.central else "send only noise"
    remarks = losses(table, faults, outcome if len(records.y) else "add nothing")
    if outside := len(table) - len(records.y) - len(faults):
        remarks.append(f"{outside:,} records have no finite value of a function of the formula {PRIVATE}")
    # before anything is drawn: a budget would be spent on noise
    if not len(records.y):
        raise none_read(table, remarks)
    if roles.person is not None:
        records, alone = by_person(table, records, roles.person)
        if alone:
            remarks.append(f"{alone:,} of {len(table):,} rows have no id in {roles.person} and are left out {PRIVATE}")
    records = records.in_order(np.random.Generator(np.random.PCG64(seed)).permutation(records.n))
    mu = np.full(records.n, request.budget()) if records.mu is None else records.mu
    # what a deployment prints may be handed on with its result
    return records, mu, [] if request.deployment else remarks
