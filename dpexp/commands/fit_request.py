"""The arguments of `dpexp fit`, and everything that can be wrong with them alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

from dpexp.accounting.gaussian import mu_within
from dpexp.core.errors import UsageError
from dpexp.core.text import scalar
from dpexp.data.formulas import read_formula
from dpexp.data.public_inputs import PublicInputs
from dpexp.data.regression import Roles
from dpexp.inference.models import loss_of
from dpexp.problems.linear_losses import HuberLinear

MU = (1e-6, 1e6)  # ends of a budget that is not inf


@dataclass(frozen=True)
class Request:
    """The options of the command line, by their names; numbers may be texts."""

    data: object
    target: str = ""
    formula: str | None = None
    model: str = "huber-linear"
    mu: object = None
    mu_column: str | None = None
    eps: object = None
    delta: object = None
    central: bool | None = None  # None where it is not said: local, but of a method
    method: str | None = None  # that of a plug-in
    public: PublicInputs = field(default_factory=PublicInputs)
    level: float = 0.95
    person: str | None = None
    plan: bool = False
    n: object = None  # records or persons of a plan
    deployment: bool = False
    seed: int | None = None
    out: Path | None = None
    again: bool = False
    weights: str = "budget"  # of messages; or equal, which is right where budgets depend on the data
    contrasts: tuple[str, ...] = ()

    @property
    def rehearsed(self) -> int:
        """The seed of a rehearsal."""
        return 1 if self.seed is None else self.seed

    @property
    def file(self) -> str:
        """The name of the data."""
        return str(self.data) if isinstance(self.data, Path) else "a frame"

    @property
    def binary(self) -> bool:
        """Whether the target has two classes. Raises UsageError for an unknown model."""
        return loss_of(self.model).labels

    @property
    def inputs(self) -> PublicInputs:
        """Public inputs. Only huber-linear estimates the scale of the errors; to others it is known."""
        known = self.public.error_scale_is_known or loss_of(self.model) is not HuberLinear
        return replace(self.public, error_scale_is_known=known)

    @property
    def roles(self) -> Roles:
        """Which column is what. Raises UsageError for what is no formula."""
        formula = None if self.formula is None else read_formula(self.formula)
        return Roles(formula.target.column if formula else self.target, self.mu_column, self.person, formula)

    def budget(self) -> float:
        """mu of every record, from --mu or from --eps and --delta. Raises UsageError."""
        if self.eps is not None:
            delta = 1e-5 if self.delta is None else number("--delta", self.delta, 0, 1)
            return mu_within(number("--eps", self.eps, 0, math.inf), delta)
        mu = number("--mu", self.mu, 0, math.inf)
        if not math.isinf(mu) and not MU[0] <= mu <= MU[1]:
            raise UsageError(f"--mu is a number from {MU[0]:g} to {MU[1]:g}, or inf, not {mu:g}")
        return mu

    def check(self) -> None:
        """Raises UsageError for the first rule that these options break."""
        budgets = {"--mu": self.mu, "--mu-column": self.mu_column, "--eps": self.eps}
        named = " and ".join(name for name, value in budgets.items() if value is not None)
        rules = [
            (bool(self.target) == bool(self.formula), "what is explained? give --target, or --formula",
             "--target COLUMN or --formula 'y ~ x + C(g)'"),
            (named not in budgets, f"{named or 'no budget'}: a budget is one of --mu, --mu-column, --eps with --delta",
             "for instance --mu 1"),
            (self.delta is not None and self.eps is None, "--delta belongs to --eps",
             "for instance --eps 1 --delta 1e-5"),
            # an owner adds one noise, which protects all records alike; a plan reads no record
            (self.mu_column is not None and (self.central or self.plan),
             f"{'--plan' if self.plan else '--central'} has one budget for all records", "give --mu, not --mu-column"),
            (bool(self.method and (self.central is False or self.mu_column or self.person)),
             f"--method {self.method} is one owner's, with one budget", "leave out --local, --mu-column and --person"),
            (self.weights not in ("budget", "equal") or (self.weights == "equal" and self.mu_column is None),
             "--weights is budget or equal: how messages of --mu-column count", "leave it out"),
            (not 0.5 <= self.level < 1, f"--level is a share from 0.5 to below 1, not {self.level:g}",
             "for instance --level 0.95"),
            (self.deployment and self.out is None, "--deployment keeps its result, and a receipt of its budget",
             "name a file: --out fit.json"),
            (self.out is not None and (self.out.suffix != ".json" or self.out.is_dir()),
             f"--out {self.out}: a fit is written as .json", "for instance --out fit.json"),
            ((self.plan and self.out is not None) or (self.again and not self.deployment),
             "--out keeps a fit, and --again a deployment's", "leave them out"),
            # a seed that somebody typed is known to somebody
            (self.deployment and self.seed is not None, "--deployment takes its noise from the operating system",
             "leave out --seed"),
            (self.rehearsed < 0, f"--seed is a whole number from 0, not {self.seed}", ""),
            (self.plan == (self.n is None), "--plan takes --n, since it reads no data; a fit counts its records",
             "for instance --plan --n 100000"),
            (self.data is None and not self.plan, "which file holds the records?",
             "dpexp fit DATA --target COLUMN --mu 1"),
        ]  # fmt: skip
        for broken, message, hint in rules:
            if broken:
                raise UsageError(message, hint)
        _ = self.binary, self.mu_column or self.budget()


def number(name: str, value: object, low: float, high: float) -> float:
    """The number of an option, between two ends that it does not reach, but for inf. Raises UsageError."""
    parsed = scalar(str(value))
    # not isinstance: True is an int
    if type(parsed) not in (int, float) or not (low < parsed < high or parsed == high == math.inf):
        ends = f"between {low:g} and {high:g}" if math.isfinite(high) else f"above {low:g}"
        raise UsageError(f"{name} is a number {ends}, not {value}")
    return float(parsed)
