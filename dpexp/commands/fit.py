"""`dpexp fit`: private regression with confidence intervals on a user's own records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpexp.commands import fit_receipt
from dpexp.commands.fit_after import row_of
from dpexp.commands.fit_receipt import Receipt
from dpexp.commands.fit_shown import Report
from dpexp.commands.fit_shown import Request as Request
from dpexp.core.errors import UsageError
from dpexp.core.scalars import scalar
from dpexp.core.text import guess
from dpexp.data.public_inputs import PublicInputs
from dpexp.data.records import Kind, read_header, read_table
from dpexp.data.regression import by_person, least_budgets, persons_of, read_budgets, read_records, units_of
from dpexp.data.remarks import of_unread

if TYPE_CHECKING:
    from dpexp.data.regression import Records, Units
    from dpexp.inference.fitting import Planned
    from dpexp.inference.users import Normals

MU = (1e-6, 1e6)
"""a budget that is not inf lies between these"""
WEIGHTS = ("budget", "equal")
"""of a message: what its budget makes it worth, or the same for all: right where budgets depend on the data"""


def fit(request: Request) -> Report:
    """The fit, or the plan of one. Raises UsageError, among them DataError and ConfigError."""
    out = request.out
    folder = out is not None and (out.is_dir() or not out.suffix)
    if folder and out:
        request = replace(request, out=(out := out / "fit.json"))
    _check(request)
    if out:
        fit_receipt.check(out, request.deployment, request.again)
    public = public_inputs(request)
    if request.plan:
        return _plan(request, public)
    report, receipt = _fit(request, public)
    if receipt is not None:
        receipt.done(report.document())
    elif out:
        fit_receipt.write(out, report.document())
    if folder and out and report.fitted is not None and report.exit_code == 0:
        report.write_beside(receipt.result if receipt else out)
    return report


def public_inputs(request: Request) -> PublicInputs:
    """What the file of --public says; nothing without one."""
    if request.public is None:
        return PublicInputs()
    from dpexp.config.public_file import read_public

    return read_public(request.public)


def _check(request: Request) -> None:
    """Everything that can be wrong with the words of the command line alone."""
    from dpexp.inference.models import MODELS

    if request.model not in MODELS:
        raise UsageError(f"no model {request.model!r}", f"{guess(request.model, MODELS)}models: {', '.join(MODELS)}")
    if bool(request.target) == bool(request.formula):
        raise UsageError(
            "what is explained? give --target, or --formula", "--target COLUMN or --formula 'y ~ x + C(g)'"
        )
    budgets = {"--mu": request.mu, "--mu-column": request.mu_column, "--eps": request.eps}
    given = [name for name, value in budgets.items() if value is not None]
    if len(given) != 1:
        said = " and ".join(given) if given else "no budget"
        raise UsageError(f"{said}: a budget is one of --mu, --mu-column, --eps with --delta", "for instance --mu 1")
    if request.delta is not None and request.eps is None:
        raise UsageError("--delta belongs to --eps", "for instance --eps 1 --delta 1e-5")
    if request.mu_column is None:
        _budget(request)
    if request.central and request.mu_column is not None:
        raise UsageError("--central spends one budget on every record", "give --mu, or leave out --central")
    if request.weights not in WEIGHTS or (request.weights == "equal" and request.mu_column is None):
        raise UsageError("--weights is budget or equal, and says what messages of --mu-column count", "leave it out")
    if not 0.5 <= request.level < 1:
        raise UsageError(f"--level is a share from 0.5 to below 1, not {request.level:g}", "for instance --level 0.95")
    if request.deployment and request.out is None:
        raise UsageError("--deployment keeps its result, and a receipt of what it spent", "name a file: --out fit.json")
    if (request.plan and request.out is not None) or (request.again and not request.deployment):
        raise UsageError("--out keeps a fit, and --again a deployment's", "leave them out")
    if request.deployment and request.seed is not None:
        raise UsageError("--deployment takes its noise from the operating system", "leave out --seed")
    if request.seed is not None and request.seed < 0:
        raise UsageError(f"--seed is a whole number from 0, not {request.seed}")
    if request.n is not None and not request.plan:
        raise UsageError("--n belongs to --plan", "a fit counts the records of its file")
    if request.data is None and not request.plan:
        raise UsageError("which file holds the records?", "dpexp fit DATA --target COLUMN --mu 1")


def _budget(request: Request) -> float:
    """mu of every record, from --mu or from --eps and --delta."""
    if request.eps is not None:
        from dpexp.privacy.budgets import Target

        eps, delta = _number("--eps", request.eps, 0, math.inf), _number("--delta", request.delta or "1e-5", 0, 1)
        return Target(eps=eps, delta=delta).constant
    mu = _number("--mu", str(request.mu), 0, math.inf)
    if not math.isinf(mu) and not MU[0] <= mu <= MU[1]:
        raise UsageError(f"--mu is a number from {MU[0]:g} to {MU[1]:g}, or inf, not {mu:g}")
    return mu


def _number(name: str, text: str, low: float, high: float) -> float:
    value = scalar(text)
    if type(value) not in (int, float) or not (low < value < high or value == high == math.inf):
        ends = f"between {low:g} and {high:g}" if math.isfinite(high) else f"above {low:g}"
        raise UsageError(f"{name} is a number {ends}, not {text}")
    return float(value)


def _planned(request: Request, units: Units, mu: np.ndarray, n: int) -> tuple[Planned, np.ndarray]:
    """The plan of n users or records, with its model and messages, and the budgets in Gaussian DP.

    With --eps in the local model messages are eps-differentially private: without --delta always, and with it where
    they are less noisy than Gaussian ones, which is public. A very large epsilon, which protects nobody, is Gaussian.
    """
    from dpexp.core.cap_sampling import MOST_EPS, gaussian_mu
    from dpexp.inference.fitting import plan_central, plan_local
    from dpexp.inference.models import unit_model
    from dpexp.inference.pure_messages import pure

    model = unit_model(request.model, len(units.entries), not units.has_scale)  # type: ignore[arg-type]
    if request.central:
        return plan_central(model, float(mu[0]), n), mu
    if request.eps is not None and (eps := _number("--eps", request.eps, 0, math.inf)) <= MOST_EPS:
        caps = pure(model, eps)
        if request.delta is None or (caps.gradient_noise <= model.gradient_noise / mu[0]).all():
            model, mu = caps, np.full(len(mu), gaussian_mu(eps))
    return plan_local(model, mu, n, request.weights == "equal"), mu


def _plan(request: Request, public: PublicInputs) -> Report:
    """What is expected, from names, public inputs and budgets; no other value of a file is read."""
    roles = request.roles
    columns = roles.formula.columns if roles.formula else []
    kinds: Mapping[str, Kind] = dict.fromkeys([*public.named, *roles.named, *columns], "unknown")
    if isinstance(request.data, Path):
        kinds = read_header(request.data).kinds
    units = units_of(kinds, roles, public, request.model == "mallows-logistic")
    if request.mu_column is not None:
        if request.data is None:
            raise UsageError("--mu-column is a column of DATA", "name the file")
        table = read_table(request.data)
        mu = read_budgets(table, request.mu_column)
        mu = mu if request.person is None else least_budgets(mu, *persons_of(table, request.person))
    else:
        mu = np.array([_budget(request)])
    if request.n is None and request.mu_column is None:
        unit = "records" if request.person is None else "persons"
        raise UsageError(f"--plan reads no data: how many {unit} are there?", "for instance --n 100000")
    n = len(mu) if request.n is None else round(_number("--n", request.n, 0, 1e12))
    planned, mu = _planned(request, units, mu, n)
    return Report(request, units, planned, mu, planned.checked)


def _fit(request: Request, public: PublicInputs) -> tuple[Report, Receipt | None]:
    """Read, plan, and if the plan holds, ask the users or the owner; a deployment's receipt is begun before."""
    from dpexp.inference.fitting import FEWEST_TO_COMPUTE, fit_central, fit_local

    order_seed, normals = _randomness(request)
    records, mu, remarks = entering(request, public, order_seed)
    for text in request.contrasts:  # before anything is spent
        row_of(text, records.units.names)
    planned, mu = _planned(request, records.units, mu, len(mu))
    fewest = planned.model.p + 1 if request.central else FEWEST_TO_COMPUTE
    before = Report(request, records.units, planned, mu, planned.checked, None, order_seed, remarks)
    if planned.checked.reasons and (not request.force or len(mu) < fewest):
        return before, None
    receipt, spent = None, ""
    if request.deployment and request.out is not None:
        words = {
            "data": request.file, "target": request.formula or request.target, "model": request.model,
            "method": before.method, "unit": request.person or "record", "not_covered": before.not_covered,
        }  # fmt: skip
        receipt = fit_receipt.begin(request.out, before.largest, before.pure, before.public(), words)
        spent = f"Kept in {receipt.result}, with its receipt {receipt.path.name}. Spent by the receipts there: "
        spent += f"{fit_receipt.together(fit_receipt.receipts(request.out))}."
    if request.central:
        fitted = fit_central(planned, records.x, records.y, float(mu[0]), normals, records.owners)
    else:
        fitted = fit_local(planned, records.x, records.y, mu, normals, records.owners)
    checked = fitted.checked.after_plan(planned.checked)
    return replace(before, checked=checked, fitted=fitted, spent=spent), receipt


def entering(request: Request, public: PublicInputs, order_seed: int) -> tuple[Records, np.ndarray, list[str]]:
    """The records that a fit uses, their holders in a public order; budgets of these; and remarks for the owner."""
    assert request.data is not None
    roles = request.roles
    table = read_table(request.data)
    records = read_records(table, roles, public, request.model == "mallows-logistic")
    quiet = request.deployment or len(records.y) == len(table)
    remarks = [] if quiet else of_unread(table, records.units.read)
    if roles.person is not None:
        records = by_person(table, records, roles.person)
    records = records.in_order(np.random.Generator(np.random.PCG64(order_seed)).permutation(records.n))
    mu = np.full(records.n, _budget(request)) if records.mu is None else records.mu
    return records, mu, remarks


def _randomness(request: Request) -> tuple[int, Normals]:
    """The public seed of the order, and where noise comes from.

    In a deployment noise is drawn from the operating system and kept nowhere; the seed of the order comes from there
    too, and is published.
    """
    if request.deployment:
        import secrets

        from dpexp.inference.users import operating_system_normals

        return secrets.randbits(63), operating_system_normals
    from dpexp.core.seeds import generator

    return request.rehearsed, generator(request.rehearsed, 0, "noise").standard_normal
