"""`dpexp fit`: private regression with confidence intervals on a user's own records.

A request is planned from public inputs alone; the plan's method makes a release of the records; and the release becomes
a document, from which everything is printed.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.accounting.gaussian import mu_within
from dpexp.commands import fit_receipt
from dpexp.commands.fit_document import fit_document, pure_eps, stated_by
from dpexp.commands.fit_method import method_of
from dpexp.commands.fit_request import METHODS, Request, number
from dpexp.commands.fit_result import FitResult
from dpexp.commands.fit_text import DELTAS, is_fitted
from dpexp.config.public_file import read_public
from dpexp.core.errors import UsageError
from dpexp.core.seeds import generator
from dpexp.core.terminal import warn
from dpexp.data.budget_file import read_budgets
from dpexp.data.encode import PRIVATE, unread
from dpexp.data.records import Header, read_header, read_record_table
from dpexp.data.regression import FitRecords, Units, by_person, least_budgets, persons_of, read_records, units_of
from dpexp.data.table_remarks import identifiers, losses, none_read
from dpexp.inference import rehearsals, user_blocks
from dpexp.inference.fitting import Planned
from dpexp.inference.models import unit_model
from dpexp.inference.user_blocks import DrawNormals
from dpexp.inference.user_scale import contrast_row
from dpexp.store.receipts import records_in, records_of


def command(data: Path | None = None, public: Path | None = None, target: str = "", **options: Any) -> FitResult:
    """The fit of a command line; remarks for the owner go to stderr."""
    result = fit(Request(data, target, public=read_public(public), **options))
    for remark in result.remarks:
        warn(remark)
    return result


def fit(request: Request) -> FitResult:
    """The fit, or the plan of one. Raises UsageError, among them DataError and ConfigError."""
    out = request.out
    folder = out is not None and (out.is_dir() or not out.suffix)
    if folder and out:
        request = replace(request, out=(out := out / "fit.json"))
    # before any file is read
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
    # without an interval there is nothing to draw
    if folder and out and is_fitted(result.stored) and result.exit_code == 0:
        result.write_beside(receipt.result if receipt else out, request.raw)
    return result


def _planner(request: Request, units: Units, mu: np.ndarray) -> rehearsals.Planner:
    """The plan of n records or persons, of whom `mu` are the budgets, or one for all."""
    model = unit_model(request.model, len(units.entries), not units.has_scale)
    method = method_of(request)
    return lambda n: method.plan(model, np.resize(mu, n) if len(mu) > 1 else mu, n)


def _plan(request: Request) -> FitResult:
    """What is expected, from names, public inputs and budgets; no other value of a file is read."""
    roles = request.roles
    columns = roles.formula.columns if roles.formula else []
    # without a file the columns are those that are named anywhere
    header = Header(dict.fromkeys([*request.public.named, *roles.named, *columns], "unknown"))
    if isinstance(request.data, Path):
        header = read_header(request.data)
    units = units_of(header, roles, request.inputs, request.binary)
    if request.mu_column is None:
        mu = np.array([request.budget()])
    elif request.data is None:
        raise UsageError("--mu-column is a column of DATA", "name the file")
    else:
        table = read_record_table(request.data)
        mu = read_budgets(table, request.mu_column, request.public)
        mu = mu if request.person is None else least_budgets(mu, *persons_of(table, request.person))
    # the number of rows is known from a column of budgets, which is public
    if request.n is None and request.mu_column is None:
        unit = "records" if request.person is None else "persons"
        raise UsageError(f"--plan reads no data: how many {unit} are there?", "for instance --n 100000")
    n = len(mu) if request.n is None else round(number("--n", request.n, 0, 1e12))
    planner, make = _planner(request, units, mu), method_of(request).fit
    planned, mu = planner(n)
    outlook = rehearsals.outlook(planner, make, units, request.public, n, request.level, request.half_lengths)
    # a plan has one number of records, that of its rehearsals
    reasons = tuple(replace(reason, n_needed=None) for reason in planned.checked.reasons)
    planned = replace(planned, checked=replace(planned.checked, reasons=reasons))
    document = fit_document(request, units, planned, mu)
    if eps := pure_eps(planned):
        # what the same epsilon would cost with a delta
        times = planned.model.gradient_sensitivity / mu_within(eps, DELTAS[0]) / planned.model.gradient_noise[0]
        note = f"Gaussian messages at delta = {DELTAS[0]:g} would be {times:.2g} times as noisy"
        document["diagnostics"]["notes"].append(note)
    return FitResult(document | rehearsals.document(outlook, units, request.public), request.file)


def _fit(request: Request) -> tuple[FitResult, fit_receipt.Receipt | None]:
    """Read, plan, and if the plan holds, ask the users or the owner; a deployment's receipt is begun before."""
    order_seed, normals = _randomness(request)
    records, mu, remarks = entering(request, order_seed)
    units, method = records.units, method_of(request)
    for text in request.contrasts:  # before anything is spent
        contrast_row(text, units.names)
    planned, mu = _planner(request, units, mu)(len(mu))
    # --untested goes below what was tested, and not below what can be solved
    if planned.checked.reasons and (not request.untested or len(mu) < method.fewest(planned.model)):
        document = fit_document(request, units, planned, mu, None, order_seed)
        return FitResult(document, request.file, remarks), None
    receipt, spent = None, ""
    if request.deployment and request.out is not None:
        # before any noise is drawn: a fit that dies from here on counts as spent
        receipt = _begin(request, records, planned, mu, order_seed)
        spent = f"Kept in {receipt.result}, with its receipt {receipt.begun.path.name}. Spent by the receipts there: "
        spent += f"{fit_receipt.together(fit_receipt.receipts(request.out))}."
    fitted = method.fit(planned, records.x, records.y, mu, normals, records.owners)
    document = fit_document(request, units, planned, mu, fitted, order_seed)
    return FitResult(document, request.file, remarks, spent), receipt


def _begin(
    request: Request, records: FitRecords, planned: Planned, mu: np.ndarray, order_seed: int
) -> fit_receipt.Receipt:
    """Write down what is about to be spent."""
    assert request.out is not None
    # of a frame what is used of it
    name = records_of(repr(sorted(map(bytes, np.column_stack([records.x, records.y])))).encode())
    if isinstance(request.data, Path):
        name = records_in([request.data])
    words = {
        "data": request.file, "target": request.formula or request.target, "model": request.model,
        "method": request.method_name, "unit": request.unit, "stated_by": stated_by(request, planned),
    }  # fmt: skip
    document = fit_document(request, records.units, planned, mu, None, order_seed)
    return fit_receipt.begin(request.out, document, words, name, request.again)


def entering(request: Request, order_seed: int) -> tuple[FitRecords, np.ndarray, list[str]]:
    """The records that a fit uses, their holders in a public order; budgets of these; and remarks for the owner."""
    assert request.data is not None
    roles, table = request.roles, read_record_table(request.data)
    records = read_records(table, roles, request.inputs, request.binary)
    unused = len(table) - len(records.y)
    faults = unread(table, records.units.read) if unused else {}
    outcome = "only noise is sent for them" if request.method_name in METHODS else "they count as the centre"
    outcome = outcome if len(records.y) else "add nothing"
    lost = losses(table, faults, outcome)
    if outside := unused - len(faults):
        fault = f"have no finite value of a function of the formula, and {outcome}"
        lost.append(f"{outside:,} of {len(table):,} records {fault} {PRIVATE}")
    # before anything is drawn: a budget would be spent on noise
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
    # what a deployment prints may be handed on with its result
    return records, mu, [] if request.deployment else remarks


def _randomness(request: Request) -> tuple[int, DrawNormals]:
    """The public seed of the order, and the source of noise.

    In a deployment noise is drawn from the operating system and not stored; the seed of the order comes from there too,
    and is published, so that whoever has the messages can compute the fit again.
    """
    if request.deployment:
        return secrets.randbits(63), user_blocks.operating_system_normals
    return request.rehearsed, generator(request.rehearsed, 0, "noise").standard_normal
