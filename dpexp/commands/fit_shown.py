"""What `dpexp fit` prints: the table on the user's scale, what is not told, the budget and the target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.accounting.gaussian import eps_of, mu_within
from dpexp.commands import fit_plan
from dpexp.commands.fit_after import COLUMNS, MANY, Contrasts, Inference, contrasts, estimates_table, forest, in_line
from dpexp.commands.fit_plan import Outlook
from dpexp.commands.fit_receipt import NOT_COVERED
from dpexp.commands.fit_request import Request
from dpexp.commands.fit_result import FitResult, release_document
from dpexp.core.errors import UsageError
from dpexp.core.files import atomically
from dpexp.core.text import counted, csv_cell, few, up
from dpexp.data.regression import TYPICAL_RANGE, Units
from dpexp.inference.fitting import Fitted, Planned
from dpexp.inference.intervals import FLAT, finite_level
from dpexp.inference.newton import standard_errors
from dpexp.inference.pure_messages import PureModel
from dpexp.inference.refusals import Checked
from dpexp.inference.staged_newton import SHARES, TIMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTAS = (1e-5, 1e-6)
AR = (
    "(AR): interval and p come from the test of Anderson and Rubin, which the noise of the curvature decides, and se "
    "from Wald's; such intervals are finite up to a level of {:.4g}%."
)
WEIGHED = {
    False: "They weigh the messages, so they must not depend on the data; if they may, take --weights equal.",
    True: "All messages weigh the same, so the estimates are right even where budgets depend on the data.",
}
SIMULATED = (
    "Users were simulated: the raw file was read here, and what is released is what users would have sent. Anything "
    "else that is computed from the file, a plot of residuals say, is a release of its own."
)
REHEARSAL = "A rehearsal: whoever knows the seed ({}) can remove the noise. Publish a fit made with --deployment."
PERSONS = (
    "Every person counts once, with the mean over all of its rows, so the risk is a mean over persons. Its minimiser "
    "is that of a mean over rows only if the number of a person's rows tells nothing of what they hold, or the model "
    "is right."
)
TARGETS = {
    "huber-linear": (
        "The target is the minimiser of the weighted Huber risk. Its slopes are those of the linear model if errors "
        "are symmetric given the columns, or independent of them."
    ),
    "mallows-logistic": "The target is the minimiser of the weighted logistic risk: log odds where the model is right.",
}


@dataclass(frozen=True)
class Report(FitResult):
    """A fit, a plan, or a refusal."""

    request: Request
    units: Units
    planned: Planned
    mu: np.ndarray
    """budgets, one for every record that was used, or one for all"""
    checked: Checked
    fitted: Fitted | None = None
    order_seed: int = 0
    remarks: Sequence[str] = ()
    """of a rehearsal, read off the records: for their owner on stderr, and no part of text or document"""
    spent: str = ""
    outlook: Outlook | None = None
    """of a plan"""

    @property
    def unit(self) -> str:
        """Whom the budget is for."""
        return "person" if self.request.person else "record"

    @cached_property
    def released(self) -> bool:
        """Whether estimates have intervals: something was fitted, and converged."""
        return self.fitted is not None and len(self.lost) < len(self.units.names)

    @property
    def lost(self) -> set[int]:
        """Places of the parameters that are not estimated, whatever their intervals would be."""
        return self.checked.lost(len(self.units.names))

    @cached_property
    def exit_code(self) -> int:
        """3 where no coefficient has a finite interval, or a fit would be refused."""
        if not self.released:
            return 3 if len(self.lost) == len(self.units.names) else 0
        coefficients = self.estimates()[: -1 if self.units.has_scale else None]
        return 0 if any(one["bounded"] for one in coefficients) else 3

    @property
    def method(self) -> str:
        return "central-newton" if self.request.central else "staged-newton"

    @cached_property
    def inference(self) -> Inference:
        """What follows from the release. Raises UsageError where there is none."""
        if self.fitted is None or not self.released:
            raise UsageError("nothing was released from which anything follows", "see the refusal in its text")
        return Inference(self.fitted.release, self.fitted.theta, self.units, self.request.level)

    @cached_property
    def contrasts(self) -> Contrasts | None:
        """Those that were asked for, and the test of all of them."""
        asked = self.request.contrasts if self.released else ()
        return contrasts(self.inference, asked) if asked else None

    def forest(self) -> Figure:
        """What each column does, with intervals, as a figure. Raises UsageError where nothing was told."""
        return forest(self.inference, self.estimates())

    def write_beside(self, result: Path) -> None:
        """The estimates and their covariance as csv, and the forest plot, beside a result."""
        raw, covariance = self.request.raw, self.covariance.rename_axis("").reset_index()
        for ending, frame in ((".csv", self.frame()), (".covariance.csv", covariance)):
            safe = frame.map(csv_cell, raw=raw).rename(columns=partial(csv_cell, raw=raw))
            atomically(result.with_suffix(ending), partial(safe.to_csv, index=False))
        atomically(result.with_suffix(".png"), lambda path: self.forest().savefig(path, format="png"))

    def estimates(self) -> list[dict[str, Any]]:
        """The contract's list; null where there is nothing."""
        matrix, offset = self.units.to_user()
        values = np.full(len(offset), np.nan) if self.fitted is None else matrix @ self.fitted.theta + offset
        found = []
        for j in self.units.shown:
            one: dict[str, Any] = {"term": self.units.names[j], **dict.fromkeys(COLUMNS)}
            one["estimate"] = float(values[j]) if math.isfinite(values[j]) else None
            if self.fitted is not None:
                one |= {"interval": "unbounded", "bounded": False, "finite_level": None}
                one |= {} if j in self.lost else self.inference.parameters[0][j]
                # A test that it is 0 says nothing: it is above 0.
                if self.units.has_scale and j == len(values) - 1:
                    one["statistic"] = one["p_value"] = None
            found.append(one)
        return found

    def document(self) -> dict[str, Any]:
        """The JSON document of the contract."""
        checked, eps = self.checked, [[delta, self.eps(delta)] for delta in (*([0.0] * (self.pure > 0)), *DELTAS)]
        document: dict[str, Any] = {
            "estimates": self.estimates(),
            "glance": self._glance(),
            "level": self.request.level,
            "method": self.method,
            "model": self.request.model,
            "unit": self.request.person or "record",
            "budget": {"mu": self.largest, "per_user": self.per_user, "eps": eps},
            "diagnostics": {
                "n": self.planned.n, **checked.values, "warnings": list(checked.warnings),
                "notes": list(self.units.notes), "n_needed": checked.n_needed,
            },
            "refused": [{"rule": r.rule, "reason": r.why, "n_needed": r.n_needed} for r in checked.reasons],
        }  # fmt: skip
        if self.request.mu_column is not None:
            document["budget"] |= {
                "column": self.request.mu_column,
                "weights": "equal" if self.planned.equal else "budget",
            }
        if self.released:
            document["covariance"] = self.covariance.to_numpy().tolist()
            document["release"] = release_document(self.inference)
            if self.contrasts:
                document["contrasts"] = self.contrasts.document()
        if self.outlook is not None:
            document |= fit_plan.document(self.outlook, self.units, self.request.public)
        document["public"] = self.public()
        return document

    def public(self) -> dict[str, Any]:
        """Every number that is not private: whoever has them and the messages can compute the fit again."""
        units, request = self.units, self.request
        found: dict[str, Any] = {
            "covariates": [
                {"name": e.name, "centre": e.centre, "scale": e.scale} for e in units.entries
            ],
            "target": {"name": units.target, "centre": units.centre, "scale": units.scale},
            "units": units.document(),
            **self.planned.model.bounds,
            "messages": "cap sampling" if self.pure else "Gaussian",
            "order_seed": None if request.plan else self.order_seed,
            "noise": "operating system, not stored" if request.deployment else f"seed {request.rehearsed}: a rehearsal",
        }  # fmt: skip
        if not request.central:
            found["schedule"] = {"shares": SHARES, "T": TIMES, "hessian_every": self.planned.every}
        return found

    @property
    def largest(self) -> float:
        return float(self.mu.max())

    @property
    def pure(self) -> float:
        """Epsilon of messages that have it with delta = 0; 0 where they are Gaussian."""
        model = self.planned.model
        return model.eps if isinstance(model, PureModel) else 0.0

    def eps(self, delta: float) -> float:
        """What all messages of a record, or the fit, spend at a delta."""
        return self.pure or eps_of(self.largest, delta)

    @property
    def not_covered(self) -> str:
        """What no number of the budget counts."""
        return "a record that sends a second message elsewhere" if self.pure else NOT_COVERED

    @property
    def per_user(self) -> dict[str, float] | None:
        """Quantiles of the budgets; None where one budget is spent on all records at once."""
        if self.request.central:
            return None
        # Budgets that somebody has, and none between two of them.
        low, middle, high = np.quantile(self.mu, [0.05, 0.5, 0.95], method="inverted_cdf")
        return {"cap": self.largest, "q05": float(low), "median": float(middle), "q95": float(high)}

    def _glance(self) -> dict[str, Any]:
        """The fit as a whole: what broom calls so."""
        rows = self.estimates()
        return {
            "model": self.request.model, "method": self.method, "target": self.units.modelled, "nobs": self.planned.n,
            "df_model": len(rows) - 1 - self.units.has_scale, "level": self.request.level,
            "sigma": rows[-1]["estimate"] if self.units.has_scale else None, "mu": self.largest,
            "eps": self.eps(DELTAS[0]), "delta": 0.0 if self.pure else DELTAS[0],
            "unbounded": sum(not one.get("bounded", False) for one in rows), "converged": self.released,
        }  # fmt: skip

    # --- text --------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The page that is printed."""
        parts = [
            self._title(),
            self._table(),
            self._refusals(),
            self._unbounded(),
            self.contrasts.text() if self.contrasts else "",
            MANY if self.released and not self.exit_code else "",
            self._inverted(),
            self._budget(),
            self._target(),
            PERSONS if self.request.person else "",
            self._remarks(),
        ]
        return "\n\n".join(part for part in parts if part)

    def _title(self) -> str:
        asked = self.request
        kind = f"local model: every {self.unit} sends one private message"
        if asked.central:
            kind = "central model: the owner publishes one fit"
        head = "plan of a fit, for which no record was read" if asked.plan else asked.file
        size = f"n = {self.planned.n:,}{' persons' * bool(asked.person)}"
        size += f", {counted(len(self.units.shown) - 1 - self.units.has_scale, 'covariate')}"
        return f"{asked.model} of {self.units.modelled}, {head}: {size}; {kind} ({self.method})"

    def _table(self) -> str:
        if self.outlook is not None:
            return fit_plan.text(self.outlook, self.units, self.request.public, self.request.level)
        if self.fitted is None:
            return ""
        # Three digits where no error is known.
        found, errors = self.estimates(), [abs(one["estimate"] or 0) / 100 for one in self.estimates()]
        if self.released:
            errors = standard_errors(self.inference.parameters[1])[self.units.shown].tolist()
        return estimates_table(found, self.request.level, errors=errors)

    def _refusals(self) -> str:
        lines = ["No data were used; nothing was spent:" if self.fitted is None else "No coefficient has an interval:"]
        for reason in self.checked.reasons:
            more = f"; n = {reason.n_needed:,} would do" if reason.n_needed else ""
            lines.append(f"  {reason.rule}: {reason.why}{more}")
        if self.fitted is None and not self.request.plan:
            lines.append("  --untested fits all the same, and prints estimates without intervals.")
        return "\n".join(lines) if self.checked.reasons else ""

    def _unbounded(self) -> str:
        """Which parameters have no finite interval, why, and from which n on they might; "" where all have one."""
        if not self.released or self.fitted is None:
            return ""
        names = [in_line(one["term"]) for one in self.estimates() if not one["bounded"]]
        if not names:
            return ""
        ratio = self.fitted.release.hessian_ratio
        said = f"No finite interval for {few(names)} at this budget."
        if math.isinf(ratio):
            return f"{said} Columns are collinear, or one is constant."
        # The eigenvalues are known to 1.96 errors, which fall like 1 / n, and with a message of every user like n^-1/2.
        least = math.ceil(self.planned.n * (FLAT / (ratio + 1.96)) ** (1 if self.request.central else 2))
        finite = finite_level(self.fitted.release)
        return (
            f"{said} The data cannot separate these columns: the least curvature is {ratio:.1f} standard errors from "
            f"0, so intervals are finite up to a level of {100 * finite:.1f}%. Usual causes: a rare level, collinear "
            f"columns, a range that is too wide. At least n = {least:,} is needed, maybe far more."
        )

    def _inverted(self) -> str:
        """From which tests the columns of a row come, where they differ."""
        if not self.released or self.fitted is None:
            return ""
        rows = [*self.estimates(), *(self.contrasts.rows if self.contrasts else [])]
        if all(one["interval"] != "anderson-rubin" for one in rows):
            return ""
        # Rounded down.
        return AR.format(math.floor(1e4 * finite_level(self.fitted.release)) / 100)

    def _target(self) -> str:
        """What is estimated: the target, where the intercept is, and the unit of days."""
        where, days = [], [column.name for column in self.units.columns if column.days]
        for column in self.units.columns:
            low, high = column.limits or TYPICAL_RANGE
            middle = f"{(low + high) / 2:g}"
            if column.days:
                middle = date.fromordinal(date(1970, 1, 1).toordinal() + round((low + high) / 2)).isoformat()
            where.append(f"{column.name} = {middle if column.levels is None else column.levels[0]}")
        mean = "fitted log odds" if self.units.binary else "fitted value"
        at = f" at the centre of the ranges and the first categories ({few(where, 8)})" if where else ""
        unit = f" The unit of {few(days)} is a day." if days else ""
        return f"(intercept): the {mean} of {self.units.modelled}{at}.{unit}\n{TARGETS[self.request.model]}"

    def _budget(self) -> str:
        eps = ", ".join(f"eps = {up(eps_of(self.largest, d))} at delta = {d:g}" for d in DELTAS)
        if math.isinf(self.largest):
            # An infinite budget has an infinite epsilon, which a reader may take for a mistake.
            eps = "no privacy"
        low = float(self.mu.min())
        unit = f"every {self.request.person}, with all rows of it" if self.request.person else "every record"
        if self.pure:
            who = f"Every message is {self.pure:g}-differentially private for {unit}, with delta = 0 (cap sampling)."
        elif self.request.central:
            who = f"The fit as a whole is {self.largest:.5g}-GDP for {unit}: {eps}. n is public."
        # One budget for all, whether from --mu or from a column.
        elif low == self.largest:
            who = f"The messages are {low:.5g}-GDP for {unit}: {eps}."
        else:
            low_to_large = f"from {low:.4g} to {self.largest:.4g}"
            who = f"{self.unit.capitalize()} i has mu_i-GDP with its own mu_i, {low_to_large}. At the largest: {eps}."
        if self.request.mu_column:
            who += f" Budgets are {self.request.mu_column}, which is public: mu_i is held fixed where {self.unit} i is "
            who += f"replaced. {WEIGHED[self.planned.equal]}"
        times = "k times that eps" if self.pure else "sqrt(k) times that mu"
        many = "" if self.request.person else f" Somebody with k records has {times}; --person COLUMN averages them."
        if self.fitted is None:
            return f"Budget if it is spent. {who}{many}"
        return f"Budget. {who}{many} Everything printed here is computed from one release, so it costs nothing more."

    def _remarks(self) -> str:
        said = [f"Warning: {one}." for one in self.checked.warnings] + [f"Note: {one}." for one in self.units.notes]
        if self.request.plan and self.pure:
            delta, model = DELTAS[0], self.planned.model
            # What the same epsilon would cost with a delta.
            other = model.gradient_sensitivity / mu_within(self.pure, delta) / model.gradient_noise[0]
            said.append(f"Gaussian messages at delta = {delta:g} would be {other:.2g} times as noisy.")
        if self.fitted is not None:
            if not self.request.central:
                said.append(SIMULATED)
            if self.request.deployment:
                said.append(f"Noise came from the operating system and is not stored. Not covered: {self.not_covered}.")
                said.append(self.spent)
            elif not math.isinf(self.largest):
                said.append(REHEARSAL.format(self.request.rehearsed))
        return "\n".join(said)
