"""The privacy statement of what a config runs, and of users, as a document and as a page.

Like that of a mechanism (`dpexp.reporting.mechanism_statement`) it has what mechanisms say of themselves
(`description`), their analyses, and what pairs of neighbours attain. Upper bounds are printed rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from dpexp.accounting.gaussian import delta_of, eps_of
from dpexp.config.cell_settings import varying
from dpexp.core.errors import DpexpError
from dpexp.core.terminal import each
from dpexp.core.text import Printed, columns, down, fraction, up
from dpexp.privacy.analyses.analysis import ALL, Analysis
from dpexp.privacy.lower_bounds import refuted
from dpexp.privacy.mechanisms.local_gaussian import ASSUMPTIONS, LocalGaussian
from dpexp.reporting.guarantee_in_words import (
    ALWAYS,
    SEES,
    gaussian_of,
    pairs_of,
    row_of,
    sentence,
    success,
    table_of,
    terms,
    topics,
)

if TYPE_CHECKING:
    from dpexp.privacy.mechanisms.mechanism import Released

LOCAL = "local-gaussian"
MOST_SENTENCES = 6
"""guarantees that a page begins with; of more it is the weakest"""
WEAK = 8.0
"""an epsilon above which the page calls the guarantee weak: e^8 is a factor of 3000 between two probabilities"""
WARNING = "the noise is smaller than the budgets ask for: the nominal mu_i-GDP does not hold."
ORDER_KNOWN = (
    "the order of a run on private records is drawn from a seed that is published, so it can be computed again"
)
SENT = "who sent what"
IN_RANDOM_ORDER = ("the messages, in random order", "(a pair of neighbours attains)")
CONDITIONAL = """The rows "in random order" hold only if somebody other than the server, an anonymiser, calls the
{users} users in a uniformly random order, removes name, address and time from every message, and
keeps the order secret: the server, and whoever sees the messages, must not know who came when.
The number of users is public, no user is called twice, and the next user does not depend on what
was sent. If the messages of k users can be recognised, read {users} - k.
Without their noise, all messages are within {balls}.
Who sees the order, or the seed from which it was drawn, has the row above."""
NOT_COVERED = "a user who takes part twice; budgets chosen from the data; floating-point side channels."
USERS = """

A user is protected by their own mu (k releases: sqrt(k) mu), a group by the largest of its members, everyone by the
largest of all (ldp-sgd, Theorems 1 and 2): records are disjoint. Neighbours replace one user's record."""


class Statement(Protocol):
    """What `dpexp privacy` prints; each form is computed when it is called for."""

    def document(self) -> dict[str, Any]: ...

    def text(self) -> str: ...


class ConfigStatement(Printed):
    """What the runs of a config release: each mechanism once, under a name of its own.

    Local mechanisms share a block, one line a budget; every other has its own block. `data` and `cautions` are printed
    below them.
    """

    def __init__(
        self, mechanisms: Mapping[str, Released], deltas: Sequence[float], data: Sequence[str] = (),
        cautions: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.local = [m for m in mechanisms.values() if isinstance(m, LocalGaussian)]
        self.who = [label for label, m in mechanisms.items() if isinstance(m, LocalGaussian)]
        self.central = {label: m for label, m in mechanisms.items() if not isinstance(m, LocalGaussian)}
        self.deltas, self.data, self.cautions = tuple(deltas), list(data), list(cautions)

    @cached_property
    def analyses(self) -> dict[str, Sequence[Analysis]]:
        """Those of every mechanism that is not local. Raises DpexpError where a pair of neighbours refutes one."""
        analyses = {label: mechanism.upper_bounds() for label, mechanism in self.central.items()}
        for label, own in each(list(analyses.items()), "mechanism", lambda item: item[0]):
            self._require_sound(label, own, self.central[label].lower_bounds())
        return analyses

    @cached_property
    def shuffled(self) -> list[list[Analysis]]:
        """Of each local mechanism, what all messages promise in a secret random order, and what a pair attains.

        Refused for a run on private records, whose order its seed reveals.
        """
        pairs = [m.in_random_order() for m in self.local]
        if self.data:
            pairs = [[replace(a, refused=ORDER_KNOWN) for a in pair[:1]] for pair in pairs]
        for pair in pairs:
            self._require_sound(LOCAL, [replace(a, secret="") for a in pair[:1]], pair[1:])
        return pairs

    def _require_sound(self, label: str, upper: Sequence[Analysis], lower: Sequence[Analysis]) -> None:
        for fault in refuted(upper, lower, self.deltas).values():
            raise DpexpError(f"{label}: {fault}")

    @cached_property
    def plain(self) -> list[str]:
        """The guarantees in words: a sentence for each budget and mechanism that promises anything; of many, one."""
        parts = []
        for budget, a in self._best_of_budgets().items():
            exact = f" ({up(_mu(a), 4)} with the exact sensitivity)" if a.remark else ""
            parts.append((success([a], self.deltas), "replace-one", "all that is sent", f"mu = {budget}{exact}"))
        for label, analyses in self.analyses.items():
            every = _covering(analyses)
            sees = SEES[every[0].released if every else ALL] + " of a run"
            parts.append((success(every, self.deltas), self.central[label].neighboring_relation, sees, label))
        promising = [part for part in parts if part[0] < ALWAYS] or [max(parts)]
        if len(promising) > MOST_SENTENCES:
            probability, relation, sees, label = max(promising)
            return [sentence(probability, relation, sees, f"Weakest of {len(promising)} guarantees below, {label}")]
        return [sentence(*part) if len(parts) > 1 or "exact" in part[3] else sentence(*part[:3]) for part in promising]

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp privacy --json`; every statement names its mechanism.

        `best` has the row of cells.parquet of every mechanism, which is what the run's accountant states; of local ones
        the smallest valid mu of each budget.
        """
        ordered = [*self.local, *self.central.values()]
        names = [LOCAL] * bool(self.local) + [label.split(" on ")[0] for label in self.central]
        prefix = f"{LOCAL}, " if self.central else ""  # budgets alone name the mechanisms where all are local
        statements: list[dict[str, Any]] = []
        attained, best = [], {}
        for who, m, pair in zip(self.who, self.local, self.shuffled, strict=True):
            own = {"of": who, "budget": m.mu.label}
            upper = [*m.upper_bounds(), *pair[:1]]
            statements += [{"mechanism": LOCAL, **own, **a.statement(self.deltas)} for a in upper]
            attained += [{**own, **bound.statement(self.deltas)} for bound in pair[1:]]
        for budget, a in self._best_of_budgets().items():
            best[prefix + budget] = {"analysis": a.name, "mu": a.mu, "eps": pairs_of(a, self.deltas)}
        gdp = {}
        for label, analyses in self.analyses.items():
            statements += [{"mechanism": label, **a.statement(self.deltas)} for a in analyses]
            best[label] = self.central[label].row(self.deltas)
            # the tightest valid analysis of all that a run releases
            if every := _covering(analyses):
                gdp[label] = gaussian_of(min(every, key=lambda a: a.at(self.deltas)[0]), min(self.deltas))
        return {
            "plain": self.plain,
            "mechanism": _listed(names),
            "neighboring_relation": _listed(m.neighboring_relation for m in ordered),
            "sampling": _listed(m.sampling for m in ordered),
            "statements": statements,
            "attained": attained,
            "best": best,
            "gdp": gdp,
            "data": self.data,
            "cautions": self.cautions,
        }

    def _best_of_budgets(self) -> dict[str, Analysis]:
        """The tightest valid analysis of every budget; where mechanisms of one budget differ in noise, of the worst."""
        best: dict[str, Analysis] = {}
        for mechanism in self.local:
            tightest = min((a for a in mechanism.upper_bounds() if a.valid), key=_mu)
            label = mechanism.mu.label
            if label not in best or _mu(tightest) > _mu(best[label]):
                best[label] = tightest
        return best

    def text(self) -> str:
        """A page to read."""
        blocks = ["\n".join(self.plain)]
        if self.local:
            blocks.append(_local_block(self.local, self.who, self.shuffled, self.deltas))
        for label, m in self.central.items():
            row = m.row(self.deltas)
            accounting = f"{row.get('accountant', 'the mechanism')}"
            accounting += "" if row.get("guarantee", True) else " (NOT A GUARANTEE)"
            if not math.isnan(noise := row.get("noise_multiplier", math.nan)):
                accounting += f"; noise multiplier {noise:.5g}"
            rows = [row_of(a, self.deltas) for a in self.analyses[label]]
            lines = [label, *topics([*m.description(), ("Accounting", accounting)]), "", *table_of(rows, self.deltas)]
            blocks.append("\n".join(lines))
        if self.central:
            relations = dict.fromkeys(m.neighboring_relation for m in self.central.values())
            blocks.append("\n".join(topics(terms(relations))))
            blocks.append("Last-iterate analyses do not cover averages of iterates, earlier iterates or gradients.")
        return "\n\n".join([*blocks, *(f"Data: {notice}" for notice in self.data), *self.cautions])


class UsersStatement(Printed):
    """What users, groups of users and everyone are promised by their budgets; rows as `Users.groups` makes them."""

    def __init__(self, rows: Sequence[dict[str, Any]], deltas: Sequence[float]) -> None:
        self.rows, self.deltas = list(rows), tuple(deltas)
        largest = max(row["mu"] for row in self.rows)
        self.plain = [sentence((1 + delta_of(largest, 0.0)) / 2, "replace-one", "all that is sent")]

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp privacy --users --json`."""
        return {"plain": self.plain, "mechanism": LOCAL, "neighboring_relation": "replace-one",
                "sampling": "every user as often as stated", "groups": self.rows}  # fmt: skip

    def text(self) -> str:
        """A page to read."""
        head = ["group", "users", "largest mu", *(f"eps at {d:g}" for d in self.deltas), "mu 5%", "median", "95%"]
        table = [
            [row["group"], f"{row['users']:,}", up(row["mu"]), *(up(eps) for _, eps in row["eps"]),
             *(f"{row[key]:.5g}" for key in ("mu_q05", "mu_median", "mu_q95"))]
            for row in self.rows
        ]  # fmt: skip
        return f"{self.plain[0]}\n\n{columns(table, head)}{USERS}"


def stated_by(row: Mapping[str, Any]) -> Any:
    """The analysis that states a row of cells.parquet; None where it names none.

    `privacy.accountant` is the column where a parameter is called `accountant` too: the best of several runs is stated
    by private selection, and its runs by the accountant of the config.
    """
    return row.get("accountant")


def labelled(released: Sequence[tuple[Released, str, Mapping[str, Any]]]) -> dict[str, Released]:
    """Mechanisms by names of their own, in their order.

    Each comes with a name and the parameters of its setting; those of one name are distinguished by the parameters that
    differ between them, and by a number where even those agree.
    """
    words = [{k: fraction(v) if isinstance(v, float) else str(v) for k, v in own.items()} for _, _, own in released]
    alike: dict[str, list[dict[str, Any]]] = {}
    for (_, name, _), own in zip(released, words, strict=True):
        alike.setdefault(name, []).append(own)
    differing = {name: varying(group) for name, group in alike.items()}
    labels: dict[str, Released] = {}
    for (mechanism, name, _), own in zip(released, words, strict=True):
        label = ", ".join([name, *(f"{key} = {own[key]}" for key in differing[name] if key in own)])
        labels[label if label not in labels else f"{label} ({len(labels) + 1})"] = mechanism
    return labels


def _local_block(
    mechanisms: Sequence[LocalGaussian], who: Sequence[str], shuffled: Sequence[Sequence[Analysis]],
    deltas: Sequence[float],
) -> str:  # fmt: skip
    """Local mechanisms, which differ in their budgets and perhaps in their noise: one line each, below it what the
    messages promise in random order, where that is proven. A line has a label where two mechanisms have one budget."""
    named = len({m.mu.label for m in mechanisms}) < len(mechanisms)
    users = _listed(f"{m.users:,}" for m in mechanisms)
    noises = dict.fromkeys((m.noise_sensitivity, m.exact_sensitivity) for m in mechanisms)
    random = any(pair and pair[0].valid for pair in shuffled)
    used, exact = next(iter(noises))
    scale = f"{used:.6g} / mu_i on every coordinate of the message;\nthe exact sensitivity is {exact:.6g}."
    # by what heads the column
    rows: list[dict[str, str]] = []
    for label, m, pair in zip(who, mechanisms, shuffled, strict=True):
        head = {"of": label} if named else {}
        head |= {"budget mu_i": m.mu.label} | ({"seen by the server": SENT} if random else {})
        if len(noises) > 1:
            scale = "Delta / mu_i on every coordinate of the message."
            head |= {"Delta": f"{m.noise_sensitivity:.4g}", "exact": f"{m.exact_sensitivity:.4g}"}
        head |= {"max mu": up(m.mu.largest, 4) + " (NOT met)" * (not m.holds), "with exact sens.": up(m.exact_mu, 4)}
        rows.append({**head, **{f"eps at {d:g}": up(eps_of(m.exact_mu, d), 4) for d in deltas}})
        for bound, sees, digits in zip([a for a in pair if a.valid], IN_RANDOM_ORDER, (up, down), strict=False):
            eps = {f"eps at {d:g}": digits(eps, 4) for d, eps in zip(deltas, bound.at(deltas), strict=True)}
            rows.append({**dict.fromkeys(head, ""), "seen by the server": sees, **eps})
    balls = dict.fromkeys((m.radius, m.dimension) for m in mechanisms if m.radius)
    around = _listed(f"{up(radius, 4)} of a public point ({p} numbers each)" for radius, p in balls)
    infinite = any(math.isinf(m.mu.largest) for m in mechanisms)
    weak = any(WEAK < eps_of(m.exact_mu, min(deltas)) < math.inf for m in mechanisms)
    remarks = [
        (True, "Holds if", "\n".join(f"{a};" for a in ASSUMPTIONS)),
        (infinite, "Non-private", "a budget of inf adds no noise: no guarantee at all."),
        (weak, "Weak", "an epsilon above about 8 protects little in the (epsilon, delta) sense."),
        (not all(m.holds for m in mechanisms), "WARNING", WARNING),
        (random, "Random order", CONDITIONAL.format(users=users, balls=around)),
        (True, "Not covered", NOT_COVERED),
    ]
    return "\n".join([
        "Local Gaussian mechanism: every user adds noise to their own gradient before sending it.",
        *topics([
            ("Users", f"{users}, each used once; neighbours differ in one user's record (replace-one)."),
            ("Released", "all iterates (the whole transcript), and therefore the last iterate and every average."),
            ("Noise", f"standard deviation {scale}"),
            ("Guarantee", "user i: mu_i-GDP (ldp-sgd, Theorem 1); everything released: max mu_i-GDP (Theorems 1, 2)."),
        ]),
        "", *("  " + line for line in columns([list(row.values()) for row in rows], list(rows[0])).splitlines()),
        "", *topics((topic, text) for applies, topic, text in remarks if applies),
    ])  # fmt: skip


def _covering(analyses: Iterable[Analysis]) -> list[Analysis]:
    """The valid ones of all that a run releases, where there are any."""
    valid = [a for a in analyses if a.valid]
    return [a for a in valid if a.released == ALL] or valid


def _listed(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def _mu(analysis: Analysis) -> float:
    return math.inf if analysis.mu is None else analysis.mu
