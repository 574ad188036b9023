"""Privacy statements: of a mechanism, of everything that a config runs, and of users.

Of each mechanism a statement has the analyses, whose epsilons are rounded up, what pairs of neighbours attain, rounded
down, and a sentence on the best guess of an attacker. Tests of one record have error rates, by each of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from dpexp.accounting.curve import implied_delta, mu_up_to
from dpexp.accounting.gaussian import delta_of
from dpexp.accounting.loss_steps import Steps
from dpexp.config.cell_settings import varying
from dpexp.core.errors import BoundRefuted
from dpexp.core.terminal import each
from dpexp.core.text import Printed, columns, down, fraction, up
from dpexp.privacy.analyses.analysis import ALL, LAST, ORDERS, Analysis, refuted, with_last_iterate
from dpexp.privacy.mechanisms import every_analysis
from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.reporting.templates import filled

if TYPE_CHECKING:
    from dpexp.privacy.mechanisms.mechanism import Released

ALWAYS = 0.9995
"""from here on a probability is printed as no limit"""
UNKNOWN = {"add-remove": "whether your record is in the data", "replace-one": "which of two records is yours"}
ROUGH = 1e-3
"""how near mu is to the least one where an epsilon is a search of its own, as of the last iterate"""
MOST_SENTENCES = 6
"""guarantees that a page begins with; of more it is the weakest"""
SEES: dict[str, str] = {ALL: "all iterates", LAST: "the last iterate alone"}
SENT, ORDER, ATTAINED = "all that is sent", "order", "attained: a lower bound"
ORDER_KNOWN = (
    "the order of a run on private records is drawn from a seed that is published, so it can be computed again"
)
ROLES = {"above": "guarantee", "below": "attained"}
"""of analyses, by the side from which they bound the loss"""
CURVE = (*(round(10 ** (-4 + k / 6), 12) for k in range(24)), 0.9, 0.99)
"""false positive rates of a curve: 1e-4 to 0.68, six a decade, and two close to 1"""
RATES = (1e-3, 1e-2, 1e-1)
"""false positive rates of the table"""
PRIOR = 0.5
"""probability that the record is in the data, of the Bayes error"""


def success(analyses: Sequence[Analysis], deltas: Sequence[float]) -> float:
    """The largest probability of a right guess that all of these allow.

    Someone guesses, by any test, which of two neighbours was the data; a fair coin chose it. With false positive and
    negative rates alpha and beta, the guess is right with probability (1 - alpha + 1 - beta) / 2 = (1 + advantage) / 2.
    (a) (epsilon, delta) in both orders means alpha + e^epsilon beta >= 1 - delta and e^epsilon alpha + beta >= 1 -
    delta. Added up, alpha + beta >= 2 (1 - delta) / (1 + e^epsilon), so that the guess is right with probability at
    most 1 - (1 - delta) / (1 + e^epsilon) (Kairouz, Oh and Viswanath, 2015). (b) Delta at epsilon 0 is the largest
    advantage itself; it is asked where it is known, or worth a search, as of the best analysis.
    """
    valid = [analysis for analysis in analyses if analysis.valid]
    best = min(valid, key=lambda analysis: analysis.at([min(deltas)]), default=None)
    known = (a for a in valid if a is best or a.mu is not None or (a.direct is not None and a.rdp is None))
    pairs = [pair for a in valid for pair in zip(a.at(deltas), deltas, strict=True) if pair[0] < math.inf]
    return (1 + min([1.0, *(a.advantage for a in known), *(implied_delta(*pair, 0.0) for pair in pairs)])) / 2


def sentence(probability: float, relation: str, sees: str, of: str = "") -> str:
    """The probability, rounded up, in words; `of` names a mechanism where there are several."""
    words = f"{f'{of}: an' if of else 'An'} attacker who knows every other record and sees {sees} guesses "
    if probability >= ALWAYS:
        return f"{words}{UNKNOWN[relation]} with any success up to 100%: there is no guarantee here (50% is chance)."
    return f"{words}{UNKNOWN[relation]} with at most {up(100 * probability, 3)}% success (50% is chance)."


def gaussian_of(analysis: Analysis, floor: float) -> dict[str, float | None]:
    """The mu that an analysis gives up to the delta `floor`, 0 where it holds without one; None where none is known."""
    if analysis.mu is not None:
        mu = analysis.mu
    elif analysis.steps:
        mu = _of_steps(analysis.steps, floor)
    else:
        mu = mu_up_to(analysis, floor, ROUGH)
    return {"mu": mu if math.isfinite(mu) else None, "floor": 0.0 if analysis.mu is not None else floor}


@lru_cache(maxsize=256)
def _of_steps(steps: Steps, floor: float) -> float:
    """Of steps whose loss distributions are composed, however many mechanisms of a config have them."""
    return mu_up_to(steps.curve, floor)


@dataclass(frozen=True)
class MechanismAnalyses:
    """Every analysis of a mechanism, with what pairs of neighbours attain.

    What a pair refutes is refused, or, if `strict`, an error: a row of stored cells may state it.
    """

    mechanism: Mechanism | Released
    deltas: Sequence[float]
    label: str
    upper: Sequence[Analysis]
    lower: Sequence[Analysis]
    visible: str = ""
    strict: bool = False

    @cached_property
    def analyses(self) -> list[Analysis]:
        """Those from above; each number is computed once, so that text and document have the same."""
        upper = [replace(a, eps=cache(a.eps)) for a in self.upper]
        # what a pair shows in random order is covered by what is promised in it
        compared = [replace(a, secret="") if a.secret == ORDER else a for a in upper]
        wrong = refuted(each(compared, "analysis", lambda a: a.name), self.lower, self.deltas)
        for fault in wrong.values() if self.strict else ():
            raise BoundRefuted(f"{self.label}: {fault}")
        return [replace(a, refused=wrong[a.name]) if a.name in wrong else a for a in upper]

    @property
    def is_refuted(self) -> bool:
        """Whether a pair of neighbours refutes an analysis."""
        return any(a.valid > b.valid for a, b in zip(self.upper, self.analyses, strict=True))

    def covering(self, released: str) -> list[Analysis]:
        """The valid ones of what is released; all-iterates analyses cover the last iterate too."""
        return [a for a in self.analyses if a.valid and a.secret != ORDER and released in (a.released, LAST)]

    @cached_property
    def best(self) -> dict[str, Analysis]:
        """The tightest of all iterates and of the last one, where there is one."""
        kinds = {kind: self.covering(kind) for kind in (ALL, LAST)}
        return {kind: min(own, key=lambda a: a.at(self.deltas)[0]) for kind, own in kinds.items() if own}

    def promises(self, count: int) -> list[tuple[float, str, str]]:
        """The largest success of a guess, neighbours and what is visible; also of the last iterate if it shows less."""
        kinds = [ALL] if self.best.get(LAST) is self.best.get(ALL) else list(self.best)
        relation = self.mechanism.neighboring_relation
        return [(success(self.covering(k), self.deltas), relation, self.visible or SEES[k]) for k in kinds[:count]]

    def document(self, rows: Sequence[Analysis], orders: Sequence[float] = ()) -> list[dict[str, Any]]:
        """Rows of the document."""
        names = {"mechanism": self.label}
        names |= {"budget": self.mechanism.mu.label} if isinstance(self.mechanism, LocalGaussian) else {}
        return [names | a.statement(self.deltas, orders) for a in rows]

    def document_of_best(self, kinds: Sequence[str]) -> dict[str, Any]:
        """By what is released, the best analysis; that of these kinds with mu up to the least delta, a search."""
        searched = [self.best.get(kind) for kind in kinds]
        return {
            kind: {
                "analysis": a.name,
                "mu": a.mu,
                "eps": [*map(list, zip(self.deltas, a.at(self.deltas), strict=True))],
                **({"gdp": gaussian_of(a, min(self.deltas))} if a in searched else {}),
            }
            for kind, a in self.best.items()
        }

    def description(self) -> list[tuple[str, str]]:
        """Topics; of a run with what states its row of cells.parquet."""
        if isinstance(self.mechanism, Mechanism):
            return self.mechanism.description()
        row = self.mechanism.row(self.deltas)
        words = f"{row['accountant']}{'' if row.get('guarantee', True) else ' (NOT A GUARANTEE)'}"
        if not math.isnan(noise := row.get("noise_multiplier", math.nan)):
            words += f"; noise multiplier {noise:.5g}"
        return [*self.mechanism.description(), ("Accounting", words)]


@dataclass(frozen=True)
class PrivacyStatement(Printed):
    """What mechanisms release, each once: one by its `parameters`, or those of a config, with notices and cautions."""

    parts: Sequence[MechanismAnalyses]
    orders: Sequence[float] = ORDERS
    data: Sequence[str] = ()
    cautions: Sequence[str] = ()
    parameters: Mapping[str, Any] | None = None

    @cached_property
    def plain(self) -> list[str]:
        """The guarantees in words: a sentence for each mechanism that promises anything; of many, one."""
        if len(self.parts) == 1:
            return [sentence(*promise) for promise in self.parts[0].promises(2)]
        parts = each(self.parts, "mechanism", lambda part: part.label)
        labelled = [(*part.promises(1)[0], part.label) for part in parts]
        promising = [promise for promise in labelled if promise[0] < ALWAYS] or [max(labelled)]
        if len(promising) > MOST_SENTENCES:
            probability, relation, sees, label = max(promising)
            return [sentence(probability, relation, sees, f"Weakest of {len(promising)} guarantees below, {label}")]
        return [sentence(*promise) for promise in promising]

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp privacy --json`."""
        mechanisms, alone = [part.mechanism for part in self.parts], len(self.parts) == 1
        best = {part.label: part.document_of_best((ALL, LAST) if alone else (ALL,)) for part in self.parts}
        described = {} if self.parameters is None else {"parameters": self.parameters}
        return {
            "plain": self.plain,
            "mechanism": _listed(best),
            "neighboring_relation": _listed(m.neighboring_relation for m in mechanisms),
            "sampling": _listed(m.scheme if isinstance(m, Mechanism) else m.sampling for m in mechanisms),
            "statements": [row for part in self.parts for row in part.document(part.analyses, self.orders)],
            "attained": [row for part in self.parts for row in part.document(part.lower)],
            "best": best[self.parts[0].label] if described else best,
            "data": list(self.data),
            "cautions": list(self.cautions),
            **described,
        }

    def text(self) -> str:
        """A page to read; mechanisms with one description share a table, and each analysis has its source once."""
        alike = defaultdict[tuple[tuple[str, str], ...], list[MechanismAnalyses]](list)
        for part in self.parts:
            alike[tuple(part.description())].append(part)
        # of a single mechanism the name is above the table
        tables = {words: [row[len(parts) == 1 :] for row in tabled(parts)] for words, parts in alike.items()}
        parameters = ((k, f"{v:g}" if isinstance(v, float) else v) for k, v in (self.parameters or {}).items())
        stated = [(part.mechanism, a) for part in self.parts for a in part.analyses]
        sent = [m for m, a in stated if isinstance(m, LocalGaussian) and a.valid and a.secret == ORDER]
        lines = [a for part in self.parts for a in (*part.analyses, *part.lower)]
        return filled(
            "dpexp.reporting", "statement.txt", statement=self, alike=alike, tables=tables, columns=columns,
            parameters=", ".join(f"{key} = {value}" for key, value in parameters if value is not None),
            sources={(a.name, a.source, a.refused or (a.remark, *a.assumptions)): a for a in lines}.values(),
            of_last=any(a.released == LAST for _, a in stated),
            within=_listed(up(m.radius, 4) for m in sent if m.radius),
        )  # fmt: skip


def tabled(parts: Sequence[MechanismAnalyses]) -> list[list[str]]:
    """A head, and what is guaranteed and attained of every mechanism; its name is in the first of its rows."""
    rows = [["mechanism", "analysis", "released", *(f"eps at {d:g}" for d in parts[0].deltas), ""]]
    for part in parts:
        for k, a in enumerate((*part.analyses, *part.lower)):
            below, epsilons = a.side == "below", a.at(part.deltas)
            best = " and ".join(kind for kind, best in part.best.items() if best is a)
            holds = f"best for {best}" if best else ""
            remark = ATTAINED if below else holds if a.valid and min(epsilons) < math.inf else "NOT A GUARANTEE"
            released = a.released + (f", no {a.secret}" if a.secret else "")
            rows.append([part.label * (not k), a.name, released, *map(down if below else up, epsilons), remark])
    return rows


def attack_document(rows: Sequence[Analysis]) -> list[dict[str, Any]]:
    """The key `statements` of a tradeoff of `dpexp privacy --json`; `curve` has false positive and negative rates."""
    return [
        {"analysis": row.name, "released": row.released, "role": ROLES[row.side],
         "tpr": [[rate, row.tpr(rate)] for rate in RATES],
         "bayes_error": [[PRIOR, row.bayes_error(PRIOR)]], "advantage": row.advantage,
         "curve": [[rate, row.beta(rate, True)] for rate in CURVE]}
        for row in each(rows, "attack", lambda row: row.name)
    ]  # fmt: skip


def attack_text(rows: Sequence[Analysis]) -> str:
    """A table to read: of a guarantee what helps the attacker is rounded up, of a lower bound down."""
    head = ["analysis", "released", *(f"TPR @ FPR {rate:g}" for rate in RATES), "advantage", "Bayes error", ""]
    cells = []
    for row in each(rows, "attack", lambda row: row.name):
        below = row.side == "below"
        more, less = (down, up) if below else (up, down)
        numbers = [*(more(row.tpr(rate)) for rate in RATES), more(row.advantage), less(row.bayes_error(PRIOR))]
        cells.append([row.name, row.released, *numbers, ROLES[row.side] * below])
    return filled("dpexp.reporting", "tradeoff.txt", table=columns(cells, head))


def analyses_of(name: str, mechanism: Mechanism, deltas: Sequence[float]) -> MechanismAnalyses:
    """Of a mechanism given by its parameters."""
    upper, lower = every_analysis(mechanism), with_last_iterate(mechanism.lower_bounds())
    return MechanismAnalyses(mechanism, deltas, name, upper, lower, mechanism.seen)


def statement_of_mechanism(
    name: str, mechanism: Mechanism, deltas: Sequence[float], orders: Sequence[float] = ORDERS
) -> PrivacyStatement:
    """Of a mechanism given by its parameters, and a page that shows these."""
    return PrivacyStatement([analyses_of(name, mechanism, deltas)], orders, parameters=mechanism.model_dump())


def statement_of_runs(
    mechanisms: Mapping[str, Released], deltas: Sequence[float], data: Sequence[str] = (), cautions: Sequence[str] = ()
) -> PrivacyStatement:
    """Of what the runs of a config release: each mechanism once, under a name of its own."""
    parts = []
    for label, mechanism in mechanisms.items():
        upper, lower, visible = [*mechanism.upper_bounds()], [*mechanism.lower_bounds()], ""
        if isinstance(mechanism, LocalGaussian):
            shuffled, visible = mechanism.in_random_order(), SENT
            upper += [replace(a, refused=ORDER_KNOWN) if data else a for a in shuffled[:1]]
            lower += [] if data else [replace(b, secret=ORDER) for b in shuffled[1:]]
        lower = with_last_iterate(lower)
        parts.append(MechanismAnalyses(mechanism, deltas, label, upper, lower, visible, strict=True))
    return PrivacyStatement(parts, data=data, cautions=cautions)


@dataclass(frozen=True)
class UsersStatement(Printed):
    """What users, groups of users and everyone are promised by their budgets, as `local_gaussian.ledger` has them."""

    rows: Sequence[dict[str, Any]]
    deltas: Sequence[float]

    @property
    def plain(self) -> str:
        """The guarantee of everyone in words."""
        largest = max(row["mu"] for row in self.rows)
        return sentence((1 + delta_of(largest, 0.0)) / 2, "replace-one", SENT)

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp privacy --users --json`."""
        return {"plain": [self.plain], "mechanism": "local-gaussian", "neighboring_relation": "replace-one",
                "sampling": "every user as often as stated", "groups": self.rows}  # fmt: skip

    def text(self) -> str:
        """A page to read."""
        head = ["group", "users", "largest mu", *(f"eps at {d:g}" for d in self.deltas), "mu 5%", "median", "95%"]
        table = [
            [row["group"], f"{row['users']:,}", up(row["mu"]), *(up(eps) for _, eps in row["eps"]),
             *(f"{row[key]:.5g}" for key in ("mu_q05", "mu_median", "mu_q95"))]
            for row in self.rows
        ]  # fmt: skip
        return filled("dpexp.reporting", "users.txt", plain=self.plain, table=columns(table, head))


def labelled(released: Sequence[tuple[Released, str, Mapping[str, Any]]]) -> dict[str, Released]:
    """Mechanisms by names of their own, in their order.

    Each comes with a name and the parameters of its setting; those of one name are distinguished by the parameters that
    differ between them, and by a number where even those agree.
    """
    words = [{k: fraction(v) if isinstance(v, float) else str(v) for k, v in own.items()} for _, _, own in released]
    named = [(name, own) for (_, name, _), own in zip(released, words, strict=True)]
    differing = {name: varying(own for other, own in named if other == name) for name in dict(named)}
    labels: dict[str, Released] = {}
    for (mechanism, *_), (name, own) in zip(released, named, strict=True):
        label = ", ".join([name, *(f"{key} = {own[key]}" for key in differing[name] if key in own)])
        labels[label if label not in labels else f"{label} ({len(labels) + 1})"] = mechanism
    return labels


def _listed(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))
