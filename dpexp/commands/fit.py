"""`dpexp fit`: private regression with confidence intervals on a user's own records."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpexp.commands import fit_receipt
from dpexp.commands.fit_after import row_of
from dpexp.commands.fit_plan import outlook
from dpexp.commands.fit_receipt import Receipt
from dpexp.commands.fit_request import Request, number
from dpexp.commands.fit_shown import Report
from dpexp.core.errors import UsageError
from dpexp.data.encode import PRIVATE, unread
from dpexp.data.records import Header, read_header, read_table
from dpexp.data.regression import by_person, least_budgets, persons_of, read_records, units_of
from dpexp.data.remarks import identifiers, losses, none_read
from dpexp.data.users import read_budgets
from dpexp.inference.refusals import Checked
from dpexp.store.receipts import records_in, records_of

if TYPE_CHECKING:
    from dpexp.data.regression import FitRecords, Units
    from dpexp.inference.fitting import Planned
    from dpexp.inference.users import DrawNormals


def fit(request: Request) -> Report:
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
    report, receipt = _fit(request)
    if receipt is not None:
        receipt.done(report.document())
    elif out:
        fit_receipt.write(out, report.document())
    # Where nothing is told there is nothing to draw.
    if folder and out and report.fitted is not None and report.exit_code == 0:
        report.write_beside(receipt.result if receipt else out)
    return report


def _planned(request: Request, units: Units, mu: np.ndarray, n: int) -> tuple[Planned, np.ndarray]:
    """The plan of n users or records, with its model and messages, and the budgets in Gaussian DP.

    With --eps in the local model messages are eps-differentially private: without --delta always, and with it where
    they are less noisy than Gaussian ones, which is public. A very large epsilon, which protects nobody, is Gaussian.
    """
    from dpexp.inference.fitting import plan_central, plan_local
    from dpexp.inference.models import unit_model
    from dpexp.inference.pure_messages import pure
    from dpexp.privacy.cap import MOST_EPS, gaussian_mu

    model = unit_model(request.model, len(units.entries), not units.has_scale)  # type: ignore[arg-type]
    if request.central:
        return plan_central(model, n), mu
    if request.eps is not None and (eps := number("--eps", request.eps, 0, math.inf)) <= MOST_EPS:
        # Both are private as asked, and the plan knows which is less noisy.
        caps = pure(model, eps)
        if request.delta is None or (caps.gradient_noise <= model.gradient_noise / mu[0]).all():
            model, mu = caps, np.full(len(mu), gaussian_mu(eps))
    return plan_local(model, mu, n, request.weights == "equal"), mu


def _plan(request: Request) -> Report:
    """What is expected, from names, public inputs and budgets; no other value of a file is read."""
    roles = request.roles
    columns = roles.formula.columns if roles.formula else []
    # Without a file the columns are those that are named anywhere.
    header = Header(dict.fromkeys([*request.public.named, *roles.named, *columns], "unknown"))
    if isinstance(request.data, Path):
        header = read_header(request.data)
    units = units_of(header, roles, request.public, request.model == "mallows-logistic")
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
    planned, used = _planned(request, units, mu, n)

    def planner(records: int) -> tuple[Planned, np.ndarray]:
        return _planned(request, units, np.resize(mu, records) if len(mu) > 1 else mu, records)

    found = outlook(planner, units, request.public, n, request.level, request.central, request.half_lengths)
    # A plan has one number of records, that of its rehearsals.
    reasons = tuple(replace(reason, n_needed=None) for reason in planned.checked.reasons)
    return Report(request, units, planned, used, Checked({}, reasons), outlook=found)


def _fit(request: Request) -> tuple[Report, Receipt | None]:
    """Read, plan, and if the plan holds, ask the users or the owner; a deployment's receipt is begun before."""
    from dpexp.inference.fitting import FEWEST_TO_COMPUTE, fit_central, fit_local

    order_seed, normals = _randomness(request)
    records, mu, remarks = entering(request, order_seed)
    for text in request.contrasts:  # before anything is spent
        row_of(text, records.units.names)
    planned, mu = _planned(request, records.units, mu, len(mu))
    # --untested goes below what was tested, and not below what can be solved.
    fewest = planned.model.p + 1 if request.central else FEWEST_TO_COMPUTE
    before = Report(request, records.units, planned, mu, planned.checked, None, order_seed, remarks)
    if planned.checked.reasons and (not request.untested or len(mu) < fewest):
        return before, None
    receipt, spent = None, ""
    if request.deployment and request.out is not None:
        words = {
            "data": request.file, "target": request.formula or request.target, "model": request.model,
            "method": before.method, "unit": request.person or "record", "not_covered": before.not_covered,
        }  # fmt: skip
        # Before any noise is drawn: a fit that dies from here on counts as spent.
        # of a frame what is used of it
        named = records_of(repr(sorted(map(bytes, np.column_stack([records.x, records.y])))).encode())
        if isinstance(request.data, Path):
            named = records_in([request.data])
        receipt = fit_receipt.begin(
            request.out, before.largest, before.pure, before.public(), words, named, request.again
        )
        spent = f"Kept in {receipt.result}, with its receipt {receipt.path.name}. Spent by the receipts there: "
        spent += f"{fit_receipt.together(fit_receipt.receipts(request.out))}."
    if request.central:
        fitted = fit_central(planned, records.x, records.y, float(mu[0]), normals, records.owners)
    else:
        fitted = fit_local(planned, records.x, records.y, mu, normals, records.owners)
    # What the plan refused stays refused, whatever the noise made of it.
    checked = fitted.checked.after_plan(planned.checked)
    return replace(before, checked=checked, fitted=fitted, spent=spent), receipt


def entering(request: Request, order_seed: int) -> tuple[FitRecords, np.ndarray, list[str]]:
    """The records that a fit uses, their holders in a public order; budgets of these; and remarks for the owner."""
    assert request.data is not None
    roles = request.roles
    table = read_table(request.data)
    records = read_records(table, roles, request.public, request.model == "mallows-logistic")
    gone = len(table) - len(records.y)
    found = unread(table, records.units.read) if gone else {}
    outcome = "only noise is sent for them" if len(records.y) else "add nothing"
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

        from dpexp.inference.users import operating_system_normals

        # Published, so that whoever has the messages can compute the fit again.
        return secrets.randbits(63), operating_system_normals
    from dpexp.core.seeds import generator

    return request.rehearsed, generator(request.rehearsed, 0, "noise").standard_normal
