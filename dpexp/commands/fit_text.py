"""The page of `dpexp fit`, from its document: estimates, what could not be estimated, the budget and the target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpexp.commands.fit_receipt import not_covered
from dpexp.core.text import columns, counted, few, up
from dpexp.data.regression import Units
from dpexp.inference.intervals import FLAT
from dpexp.inference.models import MODELS
from dpexp.inference.rehearsals import LARGEST
from dpexp.inference.user_scale import in_line
from dpexp.reporting.digits import estimate_row, level_in_digits

Document = Mapping[str, Any]
AR = "(AR): interval and p of the Anderson-Rubin test, since the curvature is known with noise."
UNBOUNDED = (
    "The data cannot separate these columns: the least curvature is {:.1f} standard errors from 0. Usual causes: a "
    "rare level, collinear columns, a range that is too wide. At least n = {:,} is needed, maybe far more."
)
WEIGHTED = "They weigh the messages, so they must not depend on the data; if they may, take --weights equal."
SIMULATED = "Users were simulated: the raw file was read here, and what is released is what users would have sent."
PERSONS = "Every person counts once, with the mean over its rows, so the risk is a mean over persons."
TARGETS = {
    "huber-linear": (
        "The target is the minimiser of the weighted Huber risk. Its slopes are those of the linear model if errors "
        "are symmetric given the columns, or independent of them."
    ),
    "mallows-logistic": "The target is the minimiser of the weighted logistic risk: log odds where the model is right.",
}


def page(fit: Document, units: Units, source: str, spent: str) -> str:
    """What `dpexp fit` prints; `spent` is what deployments of one name have spent."""
    contrasts = fit.get("contrasts", {"rows": []})
    rows = [*fit["estimates"], *contrasts["rows"]]
    mean = "fitted log odds" if units.binary and fit["model"] in MODELS else "fitted value"
    parts = [
        _title(fit, source),
        _plan(fit) if "expected" in fit else _estimates(fit) if is_fitted(fit) else "",
        _refusals(fit) if fit["refused"] else "",
        _unbounded(fit) if "release" in fit else "",
        _contrasts(contrasts) if contrasts["rows"] else "",
        AR * any(row.get("interval") == "anderson-rubin" for row in rows),
        _budget(fit),
        f"(intercept): the {mean} of {units.modelled} at the centre of the ranges and the first categories.\n"
        + TARGETS.get(fit["model"], f"The target is the minimiser of the weighted risk of {fit['model']}."),
        PERSONS * (fit["unit"] != "record"),
        _remarks(fit, spent),
    ]
    return "\n\n".join(part for part in parts if part)


def is_fitted(fit: Document) -> bool:
    """Whether data were used: not of a plan, nor of a refusal before."""
    return "bounded" in fit["estimates"][0]


def _is_central(fit: Document) -> bool:
    return fit["budget"]["per_user"] is None


def _is_pure(fit: Document) -> bool:
    return bool(fit["budget"]["eps"][0][0] == 0)


def _title(fit: Document, source: str) -> str:
    glance, unit = fit["glance"], "record" if fit["unit"] == "record" else "person"
    local = f"local model: every {unit} sends one private message"
    kind = "central model: the owner publishes one fit" if _is_central(fit) else local
    head = "plan of a fit, for which no record was read" if "expected" in fit else source
    size = f"n = {glance['nobs']:,}{' persons' * (unit == 'person')}, {counted(glance['df_model'], 'covariate')}"
    return f"{glance['model']} of {glance['target']}, {head}: {size}; {kind} ({glance['method']})"


def _estimates(fit: Document) -> str:
    errors = [abs(row["estimate"] or 0) / 100 for row in fit["estimates"]]  # three digits where none is known
    if "covariance" in fit:
        errors = [math.sqrt(max(row[k], 0.0)) for k, row in enumerate(fit["covariance"])]
    return _table(fit["estimates"], f"{100 * fit['level']:.4g}% from", "term", errors)


def _table(rows: Sequence[dict[str, Any]], low: str, key: str, errors: Sequence[float]) -> str:
    """Rows as text, each in the digits that its standard error leaves it."""
    body = [[in_line(row[key]), *estimate_row(row, error)] for row, error in zip(rows, errors, strict=True)]
    return columns(body, [key if key == "contrast" else "name", "estimate", "se", low, "to", "p"])


def _plan(plan: Document) -> str:
    """Lengths in rehearsals, how many records are needed, and what is assumed."""
    rows = []
    for row in plan["expected"]:
        finite = row["length"] is not None
        cells = [f"{row['std_error']:.3g}", f"+- {row['length'] / 2:.3g}"] if finite else ["", "not finite"]
        rows.append([in_line(row["term"]), *cells, f"{100 * row['finite']:.0f}%"])
    n, table = plan["n_finite"], columns(rows, ["name", "expected se", "interval", "finite"])
    needs = f"{f'n = {n:,} is' if n else f'More than {LARGEST:,} records are'} needed for every interval to be finite"
    needs = f"{needs} in 9 of 10 fits.\n" if n or not plan["refused"] else ""
    assumed = f"Assumed, since no public input states it: {'; '.join(plan['assumed'])}." if plan["assumed"] else ""
    return (
        f"{100 * plan['level']:.4g}% intervals of {plan['rehearsals']} rehearsals on simulated tables (medians)\n\n"
        f"{table}\n\n{needs}{assumed}"
    ).strip()


def _refusals(fit: Document) -> str:
    text = "No coefficient has an interval:" if is_fitted(fit) else "No data were used; nothing was spent:"
    for row in fit["refused"]:
        text += f"\n  {row['rule']}: {row['reason']}"
        text += f"; n = {row['n_needed']:,} would do" if row["n_needed"] else ""
    return text


def _unbounded(fit: Document) -> str:
    """Which parameters have no finite interval, why, and from which n on they might; "" where all have one."""
    names = [in_line(row["term"]) for row in fit["estimates"] if not row["bounded"]]
    if not names:
        return ""
    start, ratio = f"No finite interval at this budget: {few(names)}.", fit["diagnostics"]["hessian_ratio"]
    if ratio is None or math.isinf(ratio):
        return f"{start} Columns are collinear, or one is constant."
    # the eigenvalues are known to 1.96 errors, which fall like 1 / n, and with a message of every user like n^-1/2
    least = math.ceil(fit["glance"]["nobs"] * (FLAT / (ratio + 1.96)) ** (1 if _is_central(fit) else 2))
    return f"{start} {UNBOUNDED.format(ratio, least)}"


def _contrasts(contrasts: Document) -> str:
    rows = contrasts["rows"]
    text = _table(rows, "from", "contrast", [row["std_error"] or math.nan for row in rows])
    if len(rows) > 1:
        text += f"\n\nThat all {len(rows)} are 0: p {level_in_digits(contrasts['joint']['p_value'], '= ')}."
    return text


def _budget(fit: Document) -> str:
    """What the budget is, for whom, and whose statement it is."""
    budget, whom = fit["budget"], f"every {fit['unit']}{', with all rows of it' * (fit['unit'] != 'record')}"
    largest = math.inf if budget["mu"] is None else float(budget["mu"])  # JSON has no infinity
    low = float((budget["per_user"] or {}).get("least") or largest)
    pairs = [(delta, eps) for delta, eps in budget["eps"] if eps is not None and math.isfinite(eps)]
    eps = ", ".join(f"eps = {up(e)} at delta = {delta:g}" for delta, e in pairs) or "no privacy"
    if _is_pure(fit):
        first = f"Every message is {up(pairs[0][1])}-differentially private for {whom}, with delta = 0 (cap sampling)."
    elif low < largest:
        first = f"Every message has its own mu, from {low:.4g} to {up(largest)}. At the largest: {eps}."
    else:
        subject = "The fit as a whole is" if _is_central(fit) else "The messages are"
        first = f"{subject} {up(largest)}-GDP for {whom}: {eps}. n is public."
    words = ["Budget." if is_fitted(fit) else "Budget if it is spent.", first]
    if "stated_by" in budget and math.isfinite(largest):
        words.append(f"This is the statement of a plug-in ({budget['stated_by']}), and dpexp has not proved it.")
    if "column" in budget:
        words += [f"Budgets are {budget['column']}, which is public.", *[WEIGHTED] * (budget["weights"] == "budget")]
    if fit["unit"] == "record":
        times = "k times that eps" if _is_pure(fit) else "sqrt(k) times that mu"
        words.append(f"Somebody with k records has {times}; --person COLUMN averages them.")
    return " ".join(words)


def _remarks(fit: Document, spent: str) -> str:
    sentences = [f"Warning: {text}." for text in fit["diagnostics"]["warnings"]]
    sentences += [f"Note: {text}." for text in fit["diagnostics"]["notes"]]
    seed, _, rehearsal = str(fit["public"]["noise"]).partition(":")
    if is_fitted(fit):
        sentences += [] if _is_central(fit) else [SIMULATED]
        if not rehearsal:
            missing = not_covered(_is_pure(fit))
            sentences += [f"Noise came from the operating system and is not stored. Not covered: {missing}.", spent]
        elif fit["budget"]["mu"] not in (None, math.inf):
            warning = f"A rehearsal: whoever knows the {seed} can remove the noise."
            sentences.append(f"{warning} Publish a fit made with --deployment.")
    return "\n".join(filter(None, sentences))
