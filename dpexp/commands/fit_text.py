"""The page of `dpexp fit`, from its document: estimates, what could not be estimated, the budget and the target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from dpexp.accounting.gaussian import eps_of
from dpexp.commands.fit_receipt import not_covered
from dpexp.commands.fit_request import METHODS
from dpexp.core.text import columns, counted, few, up
from dpexp.data.regression import TYPICAL_RANGE, Units
from dpexp.inference.intervals import FLAT
from dpexp.inference.rehearsals import MOST
from dpexp.inference.user_scale import in_line
from dpexp.reporting.digits import estimate_row, level_in_digits

Document = Mapping[str, Any]
DELTAS = (1e-5, 1e-6)
MANY = "p: the test that a value is 0, each by itself. Of 20 that are 0, one has p below .05 on average."
AR = (
    "(AR): interval and p come from the test of Anderson and Rubin, which the noise of the curvature decides, and se "
    "from Wald's; such intervals are finite up to a level of {:.4g}%."
)
UNBOUNDED = (
    "The data cannot separate these columns: the least curvature is {:.1f} standard errors from 0, so intervals are "
    "finite up to a level of {:.1f}%. Usual causes: a rare level, collinear columns, a range that is too wide. At "
    "least n = {:,} is needed, maybe far more."
)
WEIGHTS = {
    "budget": "They weigh the messages, so they must not depend on the data; if they may, take --weights equal.",
    "equal": "All messages weigh the same, so the estimates are right even where budgets depend on the data.",
}
SIMULATED = (
    "Users were simulated: the raw file was read here, and what is released is what users would have sent. Anything "
    "else that is computed from the file, a plot of residuals say, is a release of its own."
)
REHEARSAL = "A rehearsal: whoever knows the seed ({}) can remove the noise. Publish a fit made with --deployment."
PERSONS = (
    "Every person counts once, with the mean over all of its rows, so the risk is a mean over persons. Its minimiser "
    "is that of a mean over rows only if the number of a person's rows is independent of what they hold, or the model "
    "is right."
)
TARGETS = {
    "huber-linear": (
        "The target is the minimiser of the weighted Huber risk. Its slopes are those of the linear model if errors "
        "are symmetric given the columns, or independent of them."
    ),
    "mallows-logistic": "The target is the minimiser of the weighted logistic risk: log odds where the model is right.",
}


def page(fit: Document, units: Units, source: str, spent: str) -> str:
    """What `dpexp fit` prints; `spent` is what deployments of one name have spent."""
    rows, released = fit["estimates"], "release" in fit
    coefficients = rows[: -1 if units.has_scale else None]
    contrasts = fit.get("contrasts", {"rows": []})
    inverted = [row for row in (*rows, *contrasts["rows"]) if row.get("interval") == "anderson-rubin"]
    parts = [
        _title(fit, source),
        _plan(fit) if "expected" in fit else _estimates(fit) if is_fitted(fit) else "",
        _refusals(fit),
        _unbounded(fit) if released else "",
        _contrasts(contrasts),
        MANY if released and any(row["bounded"] for row in coefficients) else "",
        # rounded down
        AR.format(math.floor(1e4 * inverted[0]["finite_level"]) / 100) if inverted else "",
        _budget(fit),
        _target(fit, units),
        PERSONS if fit["unit"] != "record" else "",
        _remarks(fit, spent),
    ]
    return "\n\n".join(part for part in parts if part)


def is_fitted(fit: Document) -> bool:
    """Whether data were used: not of a plan, nor of a refusal before."""
    return "bounded" in fit["estimates"][0]


def is_deployed(fit: Document) -> bool:
    """Whether the noise came from the operating system."""
    return str(fit["public"]["noise"]).startswith("operating system")


def _is_central(fit: Document) -> bool:
    return fit["budget"]["per_user"] is None


def _is_plugin(fit: Document) -> bool:
    return fit["method"] not in METHODS


def _unit(fit: Document) -> str:
    return "record" if fit["unit"] == "record" else "person"


def _title(fit: Document, source: str) -> str:
    glance, unit = fit["glance"], _unit(fit)
    kind = "central model: the owner publishes one fit"
    if _is_plugin(fit):
        kind = "a method of a plug-in"
    elif not _is_central(fit):
        kind = f"local model: every {unit} sends one private message"
    head = "plan of a fit, for which no record was read" if "expected" in fit else source
    size = f"n = {glance['nobs']:,}{' persons' * (unit == 'person')}, {counted(glance['df_model'], 'covariate')}"
    return f"{glance['model']} of {glance['target']}, {head}: {size}; {kind} ({glance['method']})"


def _estimates(fit: Document) -> str:
    # three digits where no error is known
    errors = [abs(row["estimate"] or 0) / 100 for row in fit["estimates"]]
    if "covariance" in fit:
        errors = [math.sqrt(max(row[k], 0.0)) for k, row in enumerate(fit["covariance"])]
    return _table(fit["estimates"], fit["level"], "term", errors)


def _table(rows: Sequence[dict[str, Any]], level: float | None, key: str, errors: Sequence[float]) -> str:
    """Rows as text, each in the digits that its standard error leaves it."""
    body = [[in_line(row[key]), *estimate_row(row, error)] for row, error in zip(rows, errors, strict=True)]
    first, low = "name" if key == "term" else key, f"{100 * level:.4g}% from" if level else "from"
    return columns(body, [first, "estimate", "se", low, "to", "p"])


def _plan(plan: Document) -> str:
    """Lengths in rehearsals, how many records are needed, and what is assumed."""
    rows = []
    for row in plan["expected"]:
        cells = ["", "not finite"]
        if row["length"] is not None:
            cells = [f"{row['std_error']:.3g}", f"+- {row['length'] / 2:.3g}"]
        rows.append([in_line(row["term"]), *cells, f"{100 * row['finite']:.0f}%"])
    needs = [(plan["n_finite"], "every interval to be finite in 9 of 10 fits")]
    needs += [(row["n"], f"{name} +- {row['width']:g}") for name, row in plan["n_width"].items()]
    lines = [
        f"{f'n = {n:,} is' if n else f'More than {MOST:,} records are'} needed for {purpose}." for n, purpose in needs
    ]
    lines.append(
        f"The plan cannot know what the public inputs do not state, and assumes it: {'; '.join(plan['assumed'])}."
        if plan["assumed"]
        else "The public inputs state the shape of the table: where they are right, fits come within 25% of these "
        "intervals."
    )
    head = f"{100 * plan['level']:.4g}% intervals of {plan['rehearsals']} rehearsals on simulated tables (medians)"
    table = columns(rows, ["name", "expected se", "interval", "finite"])
    return f"{head}\n\n{table}\n\n" + "\n".join(lines)


def _refusals(fit: Document) -> str:
    lines = ["No coefficient has an interval:" if is_fitted(fit) else "No data were used; nothing was spent:"]
    for row in fit["refused"]:
        more = f"; n = {row['n_needed']:,} would do" if row["n_needed"] else ""
        lines.append(f"  {row['rule']}: {row['reason']}{more}")
    if not is_fitted(fit) and "expected" not in fit and not _is_plugin(fit):
        lines.append("  --untested fits all the same, and prints estimates without intervals.")
    return "\n".join(lines) if fit["refused"] else ""


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
    return f"{start} {UNBOUNDED.format(ratio, 100 * math.erf(ratio / math.sqrt(2)), least)}"


def _contrasts(contrasts: Document) -> str:
    rows = contrasts["rows"]
    if not rows:
        return ""
    p = level_in_digits(contrasts["joint"]["p_value"], "= ")
    together = f"\n\nThat all {len(rows)} are 0: p {p}." if len(rows) > 1 else ""
    return _table(rows, None, "contrast", [row["std_error"] or math.nan for row in rows]) + together


def _target(fit: Document, units: Units) -> str:
    """What is estimated: the target, where the intercept is, and the unit of days."""
    places, days = [], [column.name for column in units.columns if column.days]
    for column in units.columns:
        low, high = column.limits or TYPICAL_RANGE
        middle = f"{(low + high) / 2:g}"
        if column.days:
            middle = date.fromordinal(date(1970, 1, 1).toordinal() + round((low + high) / 2)).isoformat()
        places.append(f"{column.name} = {middle if column.levels is None else column.levels[0]}")
    mean = "fitted log odds" if units.binary else "fitted value"
    at = f" at the centre of the ranges and the first categories ({few(places, 8)})" if places else ""
    unit = f" The unit of {few(days)} is a day." if days else ""
    target = TARGETS.get(fit["model"])
    if target is None:
        loss = f"{fit['model']}, a loss of {fit['public']['model']}"
        target = f"The target is the minimiser of the weighted risk of {loss}."
    return f"(intercept): the {mean} of {units.modelled}{at}.{unit}\n{target}"


def _pure(fit: Document) -> float:
    """Epsilon of messages that have it with delta = 0; 0 where they are Gaussian."""
    delta, eps = fit["budget"]["eps"][0]
    return float(eps) if delta == 0 else 0.0


def _largest(fit: Document) -> float:
    mu = fit["budget"]["mu"]
    return math.inf if mu is None else float(mu)  # JSON has no infinity


def _budget(fit: Document) -> str:
    budget, largest, pure, unit = fit["budget"], _largest(fit), _pure(fit), _unit(fit)
    eps = ", ".join(f"eps = {up(eps_of(largest, d))} at delta = {d:g}" for d in DELTAS)
    # an infinite budget has an infinite epsilon, which a reader may take for a mistake
    eps = "no privacy" if math.isinf(largest) else eps
    low = float(budget.get("least") or largest)
    whom = f"every {fit['unit']}, with all rows of it" if unit == "person" else "every record"
    if pure:
        words = [f"Every message is {pure:g}-differentially private for {whom}, with delta = 0 (cap sampling)."]
    elif _is_central(fit):
        words = [f"The fit as a whole is {largest:.5g}-GDP for {whom}: {eps}. n is public."]
    # one budget for all, whether from --mu or from a column
    elif low == largest:
        words = [f"The messages are {low:.5g}-GDP for {whom}: {eps}."]
    else:
        ends = f"from {low:.4g} to {largest:.4g}"
        words = [f"{unit.capitalize()} i has mu_i-GDP with its own mu_i, {ends}. At the largest: {eps}."]
    if "stated_by" in budget and math.isfinite(largest):
        words.append(f"This is the statement of a plug-in ({budget['stated_by']}), and dpexp has not proved it.")
    if "column" in budget:
        words.append(f"Budgets are {budget['column']}, which is public: mu_i stays where {unit} i is replaced.")
        words.append(WEIGHTS[budget["weights"]])
    if unit == "record" and not _is_plugin(fit):
        times = "k times that eps" if pure else "sqrt(k) times that mu"
        words.append(f"Somebody with k records has {times}; --person COLUMN averages them.")
    if not is_fitted(fit):
        return " ".join(["Budget if it is spent.", *words])
    words.append("Everything printed here is computed from one release, so it costs nothing more.")
    return " ".join(["Budget.", *words])


def _remarks(fit: Document, spent: str) -> str:
    sentences = [f"Warning: {text}." for text in fit["diagnostics"]["warnings"]]
    sentences += [f"Note: {text}." for text in fit["diagnostics"]["notes"]]
    if is_fitted(fit):
        sentences += [] if _is_central(fit) else [SIMULATED]
        if is_deployed(fit):
            missing = not_covered(_pure(fit))
            sentences += [f"Noise came from the operating system and is not stored. Not covered: {missing}.", spent]
        elif not math.isinf(_largest(fit)):
            sentences.append(REHEARSAL.format(str(fit["public"]["noise"]).removeprefix("seed ").partition(":")[0]))
    return "\n".join(filter(None, sentences))


def guarantee(fit: Document) -> str:
    """In a line, what the budget is and for whom; of a rehearsal, that it guarantees nothing."""
    pairs = [(delta, eps) for delta, eps in fit["budget"]["eps"] if eps is not None]
    eps = ", ".join(f"eps = {up(float(e), 4)} at delta = {delta:g}" for delta, e in pairs)
    statement = f"{up(_largest(fit), 5)}-GDP for every {fit['unit']}: {eps}"
    statement = "no privacy" if math.isinf(_largest(fit)) else statement
    if is_deployed(fit):
        return f"{statement}. A deployment; noise: {fit['public']['noise']}."
    return f"A rehearsal: whoever knows the seed can remove the noise. A deployment would have {statement}."
