"""The page of `dpexp fit`: estimates, what could not be estimated, the budget and the target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from dpexp.accounting.gaussian import eps_of
from dpexp.commands.fit_receipt import not_covered
from dpexp.commands.fit_request import METHODS
from dpexp.core.text import Printed, columns, counted, few, up
from dpexp.data.regression import TYPICAL_RANGE, Units
from dpexp.inference.intervals import FLAT, finite_level
from dpexp.inference.newton import standard_errors
from dpexp.inference.rehearsals import MOST
from dpexp.inference.user_scale import Inference, in_line
from dpexp.reporting.digits import estimate_row, level_in_digits

DELTAS = (1e-5, 1e-6)
MANY = "p: the test that a value is 0, each by itself. Of 20 that are 0, one has p below .05 on average."
AR = (
    "(AR): interval and p come from the test of Anderson and Rubin, which the noise of the curvature decides, and se "
    "from Wald's; such intervals are finite up to a level of {:.4g}%."
)
WEIGHED = {
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


PLUGIN_TARGET = "The target is the minimiser of the weighted risk of {model}, a loss of {public[model]}."


@dataclass(frozen=True)
class Fit(Printed):
    """A fit, a plan, or a refusal: its JSON document, and what follows from the release in it."""

    stored: Mapping[str, Any]
    units: Units
    release: Inference | None
    source: str
    """the data, or the file that it was read from"""
    remarks: Sequence[str] = ()
    """of a rehearsal, read off the records: for their owner on stderr, and no part of text or document"""
    spent: str = ""
    """by all deployments beside this one"""

    @property
    def fitted(self) -> bool:
        """Whether data were used."""
        return "bounded" in self.stored["estimates"][0]

    @property
    def exit_code(self) -> int:
        """3 where no coefficient has a finite interval, or a fit would be refused."""
        coefficients = self.estimates()[: -1 if self.units.has_scale else None]
        unbounded = self.fitted and not any(row["bounded"] for row in coefficients)
        return 3 if unbounded or (self.stored["refused"] and not self.release) else 0

    @property
    def deployed(self) -> bool:
        """Whether the noise came from the operating system."""
        return str(self.stored["public"]["noise"]).startswith("operating system")

    def document(self) -> dict[str, Any]:
        """The JSON document of `dpexp fit --json`."""
        return dict(self.stored)

    def text(self) -> str:
        """The page that `dpexp fit` prints."""
        parts = [
            _title(self), _table(self), _refusals(self), _unbounded(self), _contrasts(self),
            MANY if self.release and not self.exit_code else "", _inverted(self), _budget(self), _target(self),
            PERSONS if self.stored["unit"] != "record" else "", _remarks(self),
        ]  # fmt: skip
        return "\n\n".join(part for part in parts if part)

    def estimates(self) -> list[dict[str, Any]]:
        """A row for every parameter; null where there is nothing."""
        return list(self.stored["estimates"])

    @property
    def contrasts(self) -> dict[str, Any] | None:
        """Rows of the contrasts that were asked for, and the test that all of them are 0."""
        return self.stored.get("contrasts")


def estimates_table(
    rows: Sequence[dict[str, Any]], level: float | None, key: str = "term", errors: Sequence[float] | None = None
) -> str:
    """Estimates as text, each in the digits that its standard error leaves it, or one of `errors`."""
    errors = [row["std_error"] or math.nan for row in rows] if errors is None else errors
    body = [[in_line(row[key]), *estimate_row(row, error)] for row, error in zip(rows, errors, strict=True)]
    first, low = "name" if key == "term" else key, f"{100 * level:.4g}% from" if level else "from"
    return columns(body, [first, "estimate", "se", low, "to", "p"])


def _is_plan(fit: Fit) -> bool:
    return "expected" in fit.stored


def _is_central(fit: Fit) -> bool:
    return fit.stored["budget"]["per_user"] is None


def _is_plugin(fit: Fit) -> bool:
    return fit.stored["method"] not in METHODS


def _unit(fit: Fit) -> str:
    return "record" if fit.stored["unit"] == "record" else "person"


def _title(fit: Fit) -> str:
    glance, unit = fit.stored["glance"], _unit(fit)
    kind = "central model: the owner publishes one fit"
    if _is_plugin(fit):
        kind = "a method of a plug-in"
    elif not _is_central(fit):
        kind = f"local model: every {unit} sends one private message"
    head = "plan of a fit, for which no record was read" if _is_plan(fit) else fit.source
    size = f"n = {glance['nobs']:,}{' persons' * (unit == 'person')}, {counted(glance['df_model'], 'covariate')}"
    return f"{glance['model']} of {glance['target']}, {head}: {size}; {kind} ({glance['method']})"


def _table(fit: Fit) -> str:
    if _is_plan(fit):
        return _plan(fit.stored)
    if not fit.fitted:
        return ""
    rows = fit.estimates()
    # Three digits where no error is known.
    errors = [abs(row["estimate"] or 0) / 100 for row in rows]
    if fit.release:
        errors = standard_errors(fit.release.parameters[1])[fit.units.shown].tolist()
    return estimates_table(rows, fit.stored["level"], errors=errors)


def _plan(plan: Mapping[str, Any]) -> str:
    """What rehearsals give, how many records are needed, and what is assumed."""
    rows = []
    for row in plan["expected"]:
        cells = ["", "not finite"]
        if row["length"] is not None:
            cells = [f"{row['std_error']:.3g}", f"+- {row['length'] / 2:.3g}"]
        rows.append([in_line(row["term"]), *cells, f"{100 * row['finite']:.0f}%"])
    wanted = [(plan["n_finite"], "every interval to be finite in 9 of 10 fits")]
    wanted += [(row["n"], f"{name} +- {row['width']:g}") for name, row in plan["n_width"].items()]
    lines = [f"{f'n = {n:,} is' if n else f'More than {MOST:,} records are'} needed for {what}." for n, what in wanted]
    lines.append(
        f"The plan cannot know what the public inputs do not state, and assumes it: {'; '.join(plan['assumed'])}."
        if plan["assumed"]
        else "The public inputs state the shape of the table: where they are right, fits come within 25% of these "
        "intervals."
    )
    head = f"{100 * plan['level']:.4g}% intervals of {plan['rehearsals']} rehearsals on simulated tables (medians)"
    table = columns(rows, ["name", "expected se", "interval", "finite"])
    return f"{head}\n\n{table}\n\n" + "\n".join(lines)


def _refusals(fit: Fit) -> str:
    lines = ["No coefficient has an interval:" if fit.fitted else "No data were used; nothing was spent:"]
    for row in fit.stored["refused"]:
        more = f"; n = {row['n_needed']:,} would do" if row["n_needed"] else ""
        lines.append(f"  {row['rule']}: {row['reason']}{more}")
    if not fit.fitted and not _is_plan(fit):
        lines.append("  --untested fits all the same, and prints estimates without intervals.")
    return "\n".join(lines) if fit.stored["refused"] else ""


def _unbounded(fit: Fit) -> str:
    """Which parameters have no finite interval, why, and from which n on they might; "" where all have one."""
    names = [in_line(row["term"]) for row in fit.estimates() if fit.release and not row["bounded"]]
    if not names or not fit.release:
        return ""
    ratio = fit.release.release.hessian_ratio
    start = f"No finite interval for {few(names)} at this budget."
    if math.isinf(ratio):
        return f"{start} Columns are collinear, or one is constant."
    # The eigenvalues are known to 1.96 errors, which fall like 1 / n, and with a message of every user like n^-1/2.
    least = math.ceil(fit.stored["glance"]["nobs"] * (FLAT / (ratio + 1.96)) ** (1 if _is_central(fit) else 2))
    finite = finite_level(fit.release.release)
    return (
        f"{start} The data cannot separate these columns: the least curvature is {ratio:.1f} standard errors from "
        f"0, so intervals are finite up to a level of {100 * finite:.1f}%. Usual causes: a rare level, collinear "
        f"columns, a range that is too wide. At least n = {least:,} is needed, maybe far more."
    )


def _contrasts(fit: Fit) -> str:
    if not fit.contrasts:
        return ""
    rows, joint = fit.contrasts["rows"], fit.contrasts["joint"]
    p = level_in_digits(joint["p_value"], "= ")
    together = f"\n\nThat all {len(rows)} are 0: p {p}." if len(rows) > 1 else ""
    return estimates_table(rows, None, "contrast") + together


def _inverted(fit: Fit) -> str:
    """From which tests the columns of a row come, where they differ."""
    rows = [*fit.estimates(), *(fit.contrasts or {"rows": []})["rows"]]
    if not fit.release or all(row["interval"] != "anderson-rubin" for row in rows):
        return ""
    # Rounded down.
    return AR.format(math.floor(1e4 * finite_level(fit.release.release)) / 100)


def _target(fit: Fit) -> str:
    """What is estimated: the target, where the intercept is, and the unit of days."""
    where, days = [], [column.name for column in fit.units.columns if column.days]
    for column in fit.units.columns:
        low, high = column.limits or TYPICAL_RANGE
        middle = f"{(low + high) / 2:g}"
        if column.days:
            middle = date.fromordinal(date(1970, 1, 1).toordinal() + round((low + high) / 2)).isoformat()
        where.append(f"{column.name} = {middle if column.levels is None else column.levels[0]}")
    mean = "fitted log odds" if fit.units.binary else "fitted value"
    at = f" at the centre of the ranges and the first categories ({few(where, 8)})" if where else ""
    unit = f" The unit of {few(days)} is a day." if days else ""
    target = TARGETS.get(fit.stored["model"]) or PLUGIN_TARGET.format(**fit.stored)
    return f"(intercept): the {mean} of {fit.units.modelled}{at}.{unit}\n{target}"


def _pure(fit: Fit) -> float:
    """Epsilon of messages that have it with delta = 0; 0 where they are Gaussian."""
    delta, eps = fit.stored["budget"]["eps"][0]
    return float(eps) if delta == 0 else 0.0


def _largest(fit: Fit) -> float:
    mu = fit.stored["budget"]["mu"]
    return math.inf if mu is None else float(mu)  # JSON has no infinity


def _budget(fit: Fit) -> str:
    budget, largest, pure, unit = fit.stored["budget"], _largest(fit), _pure(fit), _unit(fit)
    eps = ", ".join(f"eps = {up(eps_of(largest, d))} at delta = {d:g}" for d in DELTAS)
    if math.isinf(largest):
        # An infinite budget has an infinite epsilon, which a reader may take for a mistake.
        eps = "no privacy"
    low = float(budget.get("least") or largest)
    whom = f"every {fit.stored['unit']}, with all rows of it" if unit == "person" else "every record"
    if pure:
        who = f"Every message is {pure:g}-differentially private for {whom}, with delta = 0 (cap sampling)."
    elif _is_central(fit):
        who = f"The fit as a whole is {largest:.5g}-GDP for {whom}: {eps}. n is public."
    # One budget for all, whether from --mu or from a column.
    elif low == largest:
        who = f"The messages are {low:.5g}-GDP for {whom}: {eps}."
    else:
        low_to_large = f"from {low:.4g} to {largest:.4g}"
        who = f"{unit.capitalize()} i has mu_i-GDP with its own mu_i, {low_to_large}. At the largest: {eps}."
    if "stated_by" in budget:
        who += f" This statement is that of a plug-in ({budget['stated_by']}), and dpexp has not proved it."
    if "column" in budget:
        who += f" Budgets are {budget['column']}, which is public: mu_i is held fixed where {unit} i is "
        who += f"replaced. {WEIGHED[budget['weights']]}"
    times = "k times that eps" if pure else "sqrt(k) times that mu"
    if unit == "record" and not _is_plugin(fit):
        who += f" Somebody with k records has {times}; --person COLUMN averages them."
    if not fit.fitted:
        return f"Budget if it is spent. {who}"
    return f"Budget. {who} Everything printed here is computed from one release, so it costs nothing more."


def _remarks(fit: Fit) -> str:
    diagnostics, noise = fit.stored["diagnostics"], str(fit.stored["public"]["noise"])
    sentences = [f"Warning: {text}." for text in diagnostics["warnings"]]
    sentences += [f"Note: {text}." for text in diagnostics["notes"]]
    if fit.fitted:
        if not _is_central(fit):
            sentences.append(SIMULATED)
        if fit.deployed:
            missing = not_covered(_pure(fit))
            sentences.append(f"Noise came from the operating system and is not stored. Not covered: {missing}.")
            sentences.append(fit.spent)
        elif not math.isinf(_largest(fit)):
            sentences.append(REHEARSAL.format(noise.removeprefix("seed ").partition(":")[0]))
    return "\n".join(filter(None, sentences))


def guarantee(fit: Fit) -> str:
    """In a line, what the budget is and for whom; of a rehearsal, that it guarantees nothing."""
    budget = fit.stored["budget"]
    eps = ", ".join(f"eps = {up(float(e), 4)} at delta = {delta:g}" for delta, e in budget["eps"] if e is not None)
    held = f"{up(_largest(fit), 5)}-GDP for every {fit.stored['unit']}: {eps}"
    held = "no privacy" if math.isinf(_largest(fit)) else held
    if fit.deployed:
        return f"{held}. A deployment; noise: {fit.stored['public']['noise']}."
    return f"A rehearsal: whoever knows the seed can remove the noise. A deployment would have {held}."
