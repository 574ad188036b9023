"""No sentence against its own table: random cards and mechanisms through the doors of the privacy commands.

Of every document: no lower bound exceeds its upper bound, the verdict on a number is that of the rows beside it, the
headline allows all that a row attains and no more than a row does, and `privacy`, `receipt` and `dpexp.accounting`
state one number. `make soak` draws a hundred and sixty times as many.
"""

import math
import re

import numpy as np
import pytest

import dpexp
from dpexp.accounting import Accountant
from dpexp.privacy.analyses.analysis import ALL, LAST
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.reporting.statement import statement_of_mechanism
from tests.conftest import AT_LENGTH

SEEDS, DRAWS = (range(40), 8) if AT_LENGTH else (range(1), 2)
ROUNDING = 1e-9
RECORDS = 10_000
"""of batches of fixed size; shares are whole numbers of them"""
SAME = 1e-6
"""relative difference of one number behind two doors"""
SAMPLERS = (
    "poisson", "truncated-poisson", "fixed-size", "k-of-t", "balls-in-bins", "shuffled", "reshuffled", "cyclic",
    "cyclic-poisson", "full-batch", "unknown",
)  # fmt: skip


BATCHES = (
    {"sampling": "poisson", "neighboring_relation": "add-remove"},
    {"sampling": "poisson", "neighboring_relation": "replace-one"},
    {"sampling": "fixed-size", "neighboring_relation": "replace-one"},
)


class Draw:
    """Random cards and phases."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def between(self, low, high):
        return float(np.exp(self.rng.uniform(math.log(low), math.log(high))))

    def one_of(self, *values):
        return values[self.rng.integers(len(values))]

    def card(self):
        """A card that is not refused as contradictory; most have sizes that divide each other."""
        sampler, n = self.one_of(*SAMPLERS), int(self.between(200, 20_000))
        size = max(1, int(n * self.between(0.003, 0.9)))
        if self.rng.random() < 0.6:
            n = size * max(1, n // size)
        delta = self.between(1e-9, 1e-3)
        found = {
            "records": n, "sampler": sampler, "relation": self.one_of("add-remove", "replace-one", "zero-out"),
            "noise_multiplier": self.between(0.3, 5.0), "batch_size": size, "steps": int(self.between(1, 2000)),
            "records_public": self.one_of(True, False), "releases": self.one_of("all", "last", "average", "best-of-k"),
            "normaliser": self.one_of("public", "public", "public", "drawn", "drawn-visible", "expected"),
            "batch_sizes_logged": bool(self.rng.random() < 0.1), "tuning_runs": self.one_of(0, 0, 0, 1),
            "delta": [delta, delta / 100], "stated": [{"eps": self.between(1e-2, 1e2), "delta": delta} for _ in range(4)],
        }  # fmt: skip
        if sampler == "full-batch":
            found["batch_size"] = n
        elif sampler == "truncated-poisson":
            found["cap"] = int(self.rng.integers(size, n + 1))
        elif sampler == "k-of-t":
            found["steps_per_epoch"] = max(1, n // size)
            found["selected"] = int(self.rng.integers(1, found["steps_per_epoch"] + 1))
        elif sampler == "cyclic-poisson":
            found["groups"] = self.one_of(1, 2, 7)
        elif sampler == "unknown":
            found["accounted_as"] = self.one_of("poisson", "full-batch", None)
        if self.rng.random() < 0.2:
            found |= {"clipping": "microbatch", "microbatch_size": self.one_of(2, 10)}
        return found

    def phases(self):
        """The parameters of `sampled-gaussian` in one to five phases."""
        count = self.one_of(1, 1, 2, 3, 5)
        shares = [1.0 if self.rng.random() < 0.1 else self.between(1e-3, 0.5) for _ in range(count)]
        shares = [round(share * RECORDS) / RECORDS for share in shares]
        return {
            "noise_multiplier": [self.between(0.5, 4.0) for _ in range(count)],
            "sampling_probability": shares,
            "steps": [int(self.between(1, 1000)) for _ in range(count)],
            **self.one_of(*BATCHES),
        }


def of_card(card):
    """What is wrong in the receipt of a card."""
    receipt = dpexp.receipt(**card)
    document, released = receipt.document(), card["releases"]
    attains = {"all": "attained", "last": "attained_last"}.get(released)
    for reading in document["readings"]:
        rows = reading["eps"]
        for row in rows:
            if not 0 <= row["attained_last"] <= row["attained"] <= row["eps"] * (1 + ROUNDING) + 1e-12:
                yield f"attained {row['attained']!r}, by the last {row['attained_last']!r}, of {row['eps']!r}"
        for key in ("eps", "attained"):
            if rows[1][key] < rows[0][key] * (1 - ROUNDING):
                yield f"{key} {rows[0][key]!r} at the larger delta, and {rows[1][key]!r} at the smaller one"
        for most, shown in [reading.get("advantage", [1, None]), *(rate[1:] for rate in reading.get("tpr", ()))]:
            if shown is not None and shown > most * (1 + SAME):
                yield f"an attacker has {shown!r}, and at most {most!r}"
    verdicts = set()
    for stated in document["stated"]:
        rows = [next(row for row in one["eps"] if row["delta"] == stated["delta"]) for one in document["readings"]]
        refuted = [bool(attains) and row[attains] > stated["eps"] * (1 + ROUNDING) for row in rows]
        holds = [row["eps"] <= stated["eps"] * (1 + ROUNDING) for row in rows]
        right = "refuted" if all(refuted) else "holds" if all(holds) and released != "best-of-k" else "unsupported"
        if stated["verdict"] != right:
            yield f"{stated} is called so, and by its rows {right}"
        verdicts.add(right)
    exit_code = 1 if "refuted" in verdicts else 3 if "unsupported" in verdicts else 0
    if receipt.exit_code != exit_code:
        yield f"exit code {receipt.exit_code}, not {exit_code}"


def of_headline(document, text):
    """What is wrong with the sentences and the best lines of a mechanism's statement."""
    valid = [row for row in document["statements"] if row["valid"]]
    covering = {ALL: [row for row in valid if row["released"] == ALL], LAST: valid}
    for kind, best in document["best"].items():
        least = [min(row["eps"][k][1] for row in covering[kind]) for k in range(len(best["eps"]))]
        if best["eps"][0][1] != least[0]:
            yield f"best of {kind} is {best['eps']}, and a row has {least}"
    if not text.startswith("\n".join(document["plain"])):
        yield "the page begins with other sentences than the document"
    for line, kind in zip(document["plain"], (ALL, LAST), strict=False):
        percent = re.search(r"at most ([\d.]+)% success", line)
        most = float(percent[1]) / 100 if percent else 1.0
        # (epsilon, delta) allows a guess that is right with 1 - (1 - delta) / (1 + e^epsilon); printed with 3 digits
        for row in covering[kind]:
            for delta, eps in row["eps"]:
                allowed = 1 - (1 - delta) / (1 + math.exp(min(eps, 700.0)))
                if most > allowed + 1e-3:
                    yield f"{line} And {row['analysis']} allows {allowed!r}"
        # a pair that attains (epsilon, delta) is guessed with (1 + delta) / 2 at least, and mu with Phi(mu / 2)
        for row in document["attained"]:
            if kind in (ALL, row["released"]) and any(eps > 0 and most < (1 + d) / 2 for d, eps in row["eps"]):
                yield f"{line} And {row['analysis']} attains {row['eps']}"


def of_doors(phases, delta):
    """What is not the same behind `privacy`, `receipt` and the accountant."""
    mechanism = MECHANISMS["sampled-gaussian"](**phases)
    statement = statement_of_mechanism("sampled-gaussian", mechanism, (delta,)).document()
    (reading,) = dpexp.receipt(**phases, delta=delta).document()["readings"]
    (row,) = reading["eps"]
    accountant = Accountant(phases["neighboring_relation"])
    for z, q, steps in mechanism.phases:
        step = ["", "GaussianDpEvent", z]
        of_fixed_size = ["", "SampledWithoutReplacementDpEvent", RECORDS, round(q * RECORDS), step]
        of_poisson = ["", "PoissonSampledDpEvent", q, step]
        accountant.compose(of_fixed_size if phases["sampling"] == "fixed-size" else of_poisson, steps)
    stated = statement["best"][ALL]["eps"][0][1], row["eps"], accountant.get_epsilon(delta)
    attained = max(one["eps"][0][1] for one in statement["attained"]), row["attained"]
    for name, doors in (("guaranteed", stated), ("attained", attained)):
        if max(doors) > min(doors) * (1 + SAME) + 1e-12:
            yield f"{name}: {doors}"
    if max(attained) > min(stated) * (1 + ROUNDING) + 1e-12:
        yield f"attained {attained}, guaranteed {stated}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_documents_agree_with_their_tables_and_with_each_other(seed):
    draw = Draw(seed)
    for _ in range(DRAWS):
        card, phases, delta = draw.card(), draw.phases(), draw.between(1e-9, 1e-3)
        statement = statement_of_mechanism(
            "sampled-gaussian", MECHANISMS["sampled-gaussian"](**phases), (delta, delta / 10)
        )
        assert list(of_card(card)) == [], card
        assert list(of_doors(phases, delta)) == [], phases
        assert list(of_headline(statement.document(), statement.text())) == [], phases


CARD = {"sampler": "poisson", "relation": "add-remove", "noise_multiplier": 1.0, "sampling_probability": 0.01,
        "steps": 1000, "releases": "all", "delta": [1e-5, 1e-6], "stated": [{"eps": 1.7, "delta": 1e-5}]}  # fmt: skip


def test_a_verdict_against_its_rows_is_seen(monkeypatch):
    from dpexp.reporting.receipt_answer import Reading

    assert list(of_card(CARD)) == []
    monkeypatch.setattr(Reading, "verdict", lambda *_: "unsupported")
    assert any("by its rows refuted" in fault for fault in of_card(CARD))
    assert any("exit code" in fault for fault in of_card(CARD))
