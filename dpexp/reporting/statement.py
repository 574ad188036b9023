"""The privacy statement of what a config runs, and of users, as a document and as a page.

It is made from the same things as that of a mechanism (`dpexp.reporting.mechanism_statement`): what a mechanism says of
itself (`description`), its analyses, and what pairs of neighbours attain. Upper bounds are printed rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from dpexp.accounting.gaussian import delta_of, eps_of
from dpexp.core.errors import DpexpError
from dpexp.core.terminal import each
from dpexp.core.text import Printed, columns, down, short, up
from dpexp.privacy.analyses.analysis import ALL, Analysis
from dpexp.privacy.lower_bounds import refuted
from dpexp.privacy.mechanisms.local_gaussian import ASSUMPTIONS, LocalGaussian
from dpexp.reporting.guarantee_in_words import (
    ALWAYS,
    MEANS,
    NEIGHBOURS,
    RECORD,
    SEES,
    gaussian_of,
    sentence,
    success,
)

if TYPE_CHECKING:
    from dpexp.privacy.mechanisms.mechanism import Released

LOCAL = "local-gaussian"
NO_GUARANTEE = "NOT A GUARANTEE"
MOST_SENTENCES = 6
"""guarantees that a page begins with; of more it is the weakest"""
WEAK = 8.0
"""an epsilon above which the page says that the guarantee is weak: e^8 is a factor of 3000 between two probabilities"""
WARNING = "the noise is smaller than the budgets ask for: the nominal mu_i-GDP does not hold."
ORDER_KNOWN = (
    "the order of a run on private records is drawn from a seed that is published, so it can be computed again"
)
SENT = "who sent what"
IN_RANDOM_ORDER = ("the messages, in random order", "(a pair of neighbours attains)")
CONDITIONAL = """The rows "in random order" hold only if somebody other than the server, an anonymiser, calls the
{users} users in a uniformly random order, takes name, address and time off every message, and
tells nobody the order: the server, and whoever sees the messages, must not know who came when.
The number of users is public, nobody is called twice, and who is called next depends on nothing
that was sent. If the messages of k users can be told from the others, read {users} - k.
{balls}
Who sees the order, or the seed from which it was drawn, has the row above."""
NOT_COVERED = "a user who takes part twice; budgets chosen from the data; floating-point side channels."


class Statement(Protocol):
    """What `dpexp privacy` prints; each form is computed when it is asked for."""

    def document(self) -> dict[str, Any]: ...

    def text(self) -> str: ...


class ConfigStatement(Printed):
    """What the runs of a config release: each mechanism once, under a name of its own.

    Local mechanisms stand together, one line a budget; every other has its own block. `data` and `cautions` are said
    below them.
    """

    def __init__(
        self,
        mechanisms: Mapping[str, Released],
        deltas: Sequence[float],
        data: Sequence[str] = (),
        cautions: Sequence[str] = (),
    ) -> None:
        self.local = [m for m in mechanisms.values() if isinstance(m, LocalGaussian)]
        self.who = [label for label, m in mechanisms.items() if isinstance(m, LocalGaussian)]
        self.central = {label: m for label, m in mechanisms.items() if not isinstance(m, LocalGaussian)}
        self.deltas, self.data, self.cautions = tuple(deltas), list(data), list(cautions)

    @cached_property
    def analyses(self) -> dict[str, Sequence[Analysis]]:
        """Those of every mechanism that is not local. Raises DpexpError where a pair of neighbours refutes one."""
        found = {label: mechanism.upper_bounds() for label, mechanism in self.central.items()}
        for label, analyses in each(list(found.items()), "mechanism", lambda item: item[0]):
            for said in refuted(analyses, self.central[label].lower_bounds(), self.deltas).values():
                raise DpexpError(f"{label}: {said}")
        return found

    @cached_property
    def shuffled(self) -> list[list[Analysis]]:
        """Of each local mechanism, what all messages promise in a secret random order, and what a pair attains.

        Refused where an analysis is of what a run on private records does, whose order its seed tells.
        """
        found = [m.in_random_order() for m in self.local]
        if self.data:
            found = [[replace(a, refused=ORDER_KNOWN) for a in both[:1]] for both in found]
        for both in found:
            for said in refuted([replace(a, secret="") for a in both[:1]], both[1:], self.deltas).values():
                raise DpexpError(f"{LOCAL}: {said}")
        return found

    @cached_property
    def plain(self) -> list[str]:
        """What the guarantees mean: a sentence for each budget and mechanism that promises anything; of many, one."""
        told = [
            (success([a], self.deltas), "replace-one", "all that is sent", f"mu = {budget}{_exact(a)}")
            for budget, a in self._best_of_budgets().items()
        ]
        for label, analyses in self.analyses.items():
            every = _covering(analyses)
            sees = SEES[every[0].released if every else ALL] + " of a run"
            told.append((success(every, self.deltas), self.central[label].neighboring_relation, sees, label))
        some = [one for one in told if one[0] < ALWAYS] or [max(told)]
        if len(some) > MOST_SENTENCES:
            probability, relation, sees, label = max(some)
            return [sentence(probability, relation, sees, f"Weakest of {len(some)} guarantees below, {label}")]
        return [sentence(*one) if len(told) > 1 or "exact" in one[3] else sentence(*one[:3]) for one in some]

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp privacy --json`; every statement says of which mechanism it is.

        `best` has the row of cells.parquet of every mechanism, which is what the run's accountant states; of local ones
        the smallest valid mu of each budget.
        """
        ordered = [*self.local, *self.central.values()]
        kinds = [LOCAL] * bool(self.local) + [label.split(" on ")[0] for label in self.central]
        prefix = f"{LOCAL}, " if self.central else ""  # budgets alone name the mechanisms where all are local
        return {
            "plain": self.plain,
            "mechanism": _listed(kinds),
            "neighboring_relation": _listed(m.neighboring_relation for m in ordered),
            "sampling": _listed(m.sampling for m in ordered),
            "statements": [
                *(
                    {"mechanism": LOCAL, "of": who, "budget": m.mu.label, **a.statement(self.deltas)}
                    for who, m, shuffled in zip(self.who, self.local, self.shuffled, strict=True)
                    for a in [*m.upper_bounds(), *shuffled[:1]]
                ),
                *(
                    {"mechanism": label, **a.statement(self.deltas)}
                    for label, analyses in self.analyses.items()
                    for a in analyses
                ),
            ],
            "attained": [
                {"of": who, "budget": m.mu.label, **bound.statement(self.deltas)}
                for who, m, shuffled in zip(self.who, self.local, self.shuffled, strict=True)
                for bound in shuffled[1:]
            ],
            "best": {
                **{prefix + budget: self._held(a) for budget, a in self._best_of_budgets().items()},
                **{label: m.row(self.deltas) for label, m in self.central.items()},
            },
            "gdp": {
                label: gaussian_of(best, min(self.deltas))
                for label, best in self._best_of_runs().items()
                if best is not None
            },
            "data": self.data,
            "cautions": self.cautions,
        }

    def _held(self, analysis: Analysis) -> dict[str, Any]:
        return {"analysis": analysis.name, "mu": analysis.mu, "eps": pairs_of(analysis, self.deltas)}

    def _best_of_budgets(self) -> dict[str, Analysis]:
        """The tightest valid analysis of every budget; where mechanisms of one budget differ in noise, of the worst."""
        best: dict[str, Analysis] = {}
        for mechanism in self.local:
            tightest = min((a for a in mechanism.upper_bounds() if a.valid), key=_mu)
            label = mechanism.mu.label
            if label not in best or _mu(tightest) > _mu(best[label]):
                best[label] = tightest
        return best

    def _best_of_runs(self) -> dict[str, Analysis | None]:
        """The tightest valid analysis of each that is not local: of all that a run releases, where there is one."""
        return {
            label: min(_covering(analyses), key=lambda a: a.at(self.deltas)[0], default=None)
            for label, analyses in self.analyses.items()
        }

    def text(self) -> str:
        """A page to read."""
        blocks = [
            "\n".join(self.plain),
            *([_local_block(self.local, self.who, self.shuffled, self.deltas)] if self.local else []),
        ]
        blocks += [_block(label, m, self.analyses[label], self.deltas) for label, m in self.central.items()]
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
        return {
            "plain": self.plain,
            "mechanism": LOCAL,
            "neighboring_relation": "replace-one",
            "sampling": "every user as often as stated",
            "groups": self.rows,
        }

    def text(self) -> str:
        """A page to read."""
        head = ["group", "users", "largest mu", *(f"eps at {d:g}" for d in self.deltas), "mu 5%", "median", "95%"]
        table = [
            [
                row["group"], f"{row['users']:,}", up(row["mu"]), *(up(eps) for _, eps in row["eps"]),
                f"{row['mu_q05']:.5g}", f"{row['mu_median']:.5g}", f"{row['mu_q95']:.5g}",
            ]
            for row in self.rows
        ]  # fmt: skip
        return f"{self.plain[0]}\n\n{columns(table, head)}" + (
            "\n\nA user is protected by their own mu (k releases: sqrt(k) mu), a group by the largest of its members, "
            "everyone by the\nlargest of all (ldp-sgd, Theorems 1 and 2): records are disjoint. "
            "Neighbours replace one user's record."
        )


def stated_by(row: Mapping[str, Any]) -> Any:
    """The analysis that states a row of cells.parquet; None where it names none.

    Where a parameter has the column `accountant` and says something else, the analysis has a column beside it: the best
    of several runs is stated by private selection, and its runs by the accountant of the config.
    """
    return row.get("privacy.accountant") or row.get("accountant")


def labelled(released: Sequence[tuple[Released, str, Mapping[str, Any]]]) -> dict[str, Released]:
    """Mechanisms by names of their own, in their order.

    Each comes with what it is called and the parameters of its setting; those that are called alike are told apart by
    the parameters that differ between them, and by a number where even those agree.
    """
    alike: dict[str, list[int]] = {}
    for k, (_, name, _) in enumerate(released):
        alike.setdefault(name, []).append(k)
    labels: dict[int, str] = {}
    for name, members in alike.items():
        settings = {k: {key: short(value) for key, value in released[k][2].items()} for k in members}
        keys = dict.fromkeys(key for own in settings.values() for key in own)
        telling = [key for key in keys if len({own.get(key) for own in settings.values()}) > 1]
        for k, own in settings.items():
            label = ", ".join([name, *(f"{key} = {own[key]}" for key in telling if key in own)])
            labels[k] = label if label not in labels.values() else f"{label} ({len(labels) + 1})"
    return {labels[k]: mechanism for k, (mechanism, _, _) in enumerate(released)}


def _block(label: str, mechanism: Released, analyses: Iterable[Analysis], deltas: Sequence[float]) -> str:
    """A mechanism of a run on records: what it is, what its accountant states, and every analysis."""
    row = mechanism.row(deltas)
    state = "" if row.get("guarantee", True) else f" ({NO_GUARANTEE})"
    accounting = f"{row.get('accountant', 'the mechanism')}{state}"
    if not math.isnan(row.get("noise_multiplier", math.nan)):
        accounting += f"; noise multiplier {row['noise_multiplier']:.5g}"
    rows = [row_of(a, deltas) for a in analyses]
    return "\n".join(
        [label, *topics([*mechanism.description(), ("Accounting", accounting)]), "", *table_of(rows, deltas)]
    )


def _local_block(
    mechanisms: Sequence[LocalGaussian],
    who: Sequence[str],
    shuffled: Sequence[Sequence[Analysis]],
    deltas: Sequence[float],
) -> str:
    """Local mechanisms, which differ in their budgets and perhaps in their noise: one line each.

    A line says what it belongs to where its budget does not: where two mechanisms have one budget. Below it stands what
    the messages promise in random order, where that is proven.
    """
    named = len({m.mu.label for m in mechanisms}) < len(mechanisms)
    users = _listed(f"{m.users:,}" for m in mechanisms)
    noises = dict.fromkeys((m.noise_sensitivity, m.exact_sensitivity) for m in mechanisms)
    several = len(noises) > 1
    used, exact = next(iter(noises))
    scale = "Delta / mu_i on every coordinate of the message."
    if not several:
        scale = f"{used:.6g} / mu_i on every coordinate of the message;\nthe exact sensitivity is {exact:.6g}."
    lines = [
        "Local Gaussian mechanism: every user adds noise to their own gradient before sending it.",
        *topics([
            ("Users", f"{users}, each used once; neighbours differ in one user's record (replace-one)."),
            ("Released", "all iterates (the whole transcript), and therefore the last iterate and every average."),
            ("Noise", f"standard deviation {scale}"),
            ("Guarantee", "user i: mu_i-GDP (ldp-sgd, Theorem 1); everything released: max mu_i-GDP (Theorems 1, 2)."),
        ]),
        "",
    ]  # fmt: skip
    # by what heads the column; a column that says nothing is left out
    rows: list[dict[str, str]] = []
    random = any(both and both[0].valid for both in shuffled)
    for label, m, both in zip(who, mechanisms, shuffled, strict=True):
        head = {
            **({"of": label} if named else {}),
            "budget mu_i": m.mu.label,
            **({"seen by the server": SENT} if random else {}),
            **({"Delta": f"{m.noise_sensitivity:.4g}", "exact": f"{m.exact_sensitivity:.4g}"} if several else {}),
            "max mu": up(m.mu.largest, 4) + ("" if m.holds else " (NOT met)"),
            "with exact sens.": up(m.exact_mu, 4),
        }
        rows.append({**head, **{f"eps at {d:g}": up(eps_of(m.exact_mu, d), 4) for d in deltas}})
        for bound, words, digits in zip([a for a in both if a.valid], IN_RANDOM_ORDER, (up, down), strict=False):
            numbers = {f"eps at {d:g}": digits(eps, 4) for d, eps in zip(deltas, bound.at(deltas), strict=True)}
            rows.append({**dict.fromkeys(head, ""), "seen by the server": words, **numbers})
    table = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        texts = 1 + named + random  # columns of words
        cells = [c.ljust(w) if k < texts else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append(("  " + "  ".join(cells)).rstrip())
    said = [("Holds if", "\n".join(f"{a};" for a in ASSUMPTIONS))]
    if any(math.isinf(m.mu.largest) for m in mechanisms):
        said.append(("Non-private", "a budget of inf adds no noise: no guarantee at all."))
    if any(WEAK < eps_of(m.exact_mu, min(deltas)) < math.inf for m in mechanisms):
        said.append(("Weak", "an epsilon above about 8 protects little in the (epsilon, delta) sense."))
    if not all(m.holds for m in mechanisms):
        said.append(("WARNING", WARNING))
    if random:
        said.append(("Random order", CONDITIONAL.format(users=users, balls=_balls(mechanisms))))
    said.append(("Not covered", NOT_COVERED))
    return "\n".join([*lines, "", *topics(said)])


def _balls(mechanisms: Sequence[LocalGaussian]) -> str:
    """How long messages are, and how far from one point."""
    found = dict.fromkeys((m.radius, m.dimension) for m in mechanisms if m.radius)
    each_of = _listed(f"{up(radius, 4)} of a public point ({p} numbers each)" for radius, p in found)
    return f"Without their noise, all messages are within {each_of}."


def topics(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """A topic and what is said of it; further lines stand below the first."""
    return [f"  {topic:<12} " + text.replace("\n", "\n" + 15 * " ") for topic, text in pairs]


def row_of(analysis: Analysis, deltas: Sequence[float], mark: str = "") -> list[str]:
    """An analysis as a line of the table; what is no guarantee says so."""
    remark = mark if analysis.valid else "; ".join(filter(None, [NO_GUARANTEE, mark]))
    released = analysis.released + (f", no {analysis.secret}" if analysis.secret else "")
    return [analysis.name, released, *map(up, analysis.at(deltas)), remark]


def terms(relations: Iterable[str]) -> list[tuple[str, str]]:
    """What the terms of a statement mean, as topics."""
    return [("Record", RECORD), *(("Neighbours", NEIGHBOURS[relation]) for relation in relations), ("Epsilon", MEANS)]


def pairs_of(analysis: Analysis, deltas: Sequence[float]) -> list[list[float]]:
    """[delta, epsilon] at each delta."""
    return [[delta, eps] for delta, eps in zip(deltas, analysis.at(deltas), strict=True)]


def table_of(rows: Sequence[Sequence[str]], deltas: Sequence[float]) -> list[str]:
    """The lines of a table of analyses below its head."""
    head = ["analysis", "released", *(f"eps at {d:g}" for d in deltas), ""]
    return ["  " + line for line in columns(rows, head).splitlines()]


def _covering(analyses: Iterable[Analysis]) -> list[Analysis]:
    """The valid ones of all that a run releases, where there are any."""
    valid = [a for a in analyses if a.valid]
    return [a for a in valid if a.released == ALL] or valid


def _exact(analysis: Analysis) -> str:
    """The mu of a local mechanism whose noise is not set by the exact sensitivity, which is what is promised."""
    return f" ({up(_mu(analysis), 4)} with the exact sensitivity)" if analysis.remark else ""


def _listed(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def _mu(analysis: Analysis) -> float:
    return math.inf if analysis.mu is None else analysis.mu
