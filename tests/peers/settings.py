"""What dpexp answers to a row of values.csv: numbers of other projects' test suites and papers, with where they stand.

Columns: suite and its commit, file, setting (JSON), quantity, the peer's value, dpexp's answer when the row was written,
verdict, kind (eq: equal, ub: the value is an upper bound of dpexp's, lb: a lower bound, lt: strictly larger, fit: a
coefficient), tolerance (a: absolute, r: relative), a third program's value, a note.
"""

import csv
import json
import math
from functools import cache
from itertools import combinations
from pathlib import Path

import dpexp
from dpexp.accounting import Accountant
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.loss_steps import step_loss
from dpexp.privacy.analyses import last_iterate
from dpexp.privacy.mechanisms import MECHANISMS

FILE = Path(__file__).with_name("values.csv")


def rows():
    """Of the file, each with its number in it, counted from 1."""
    with FILE.open(newline="") as file:
        return [row | {"row": number} for number, row in enumerate(csv.DictReader(file), 1)]


def answer(row):
    """dpexp's answer to a row, by the reader of its setting."""
    setting = json.loads(row["setting"])
    name, _, at = row["quantity"].partition("@")
    place = float(at) if at else None
    match setting["via"]:
        case "privacy":
            return of_analysis(json.dumps([setting["mechanism"], setting["p"]]), name, place)
        case "calibrate":
            return dpexp.calibrate(analysis=setting.get("analysis"), **setting["target"], **setting["p"])["value"]
        case "roundtrip":
            target = {"eps": setting["eps"], "delta": setting["delta"]}
            noise = dpexp.calibrate(**target, sampling_probability=1.0, steps=1)["value"]
            return composed(["Gaussian", noise]).get_epsilon(setting["delta"])
        case "receipt":
            (reading,) = dpexp.receipt(**setting["card"]).document()["readings"]
            return next(at["eps"] for at in reading["eps"] if at["delta"] == place)
        case "group":
            return of_group(**{key: value for key, value in setting.items() if key != "via"}, delta=place)
        case "bok-gd":
            return last_iterate.full_batch_strongly_convex(setting["mu"], setting["c"], setting["t"])
        case "bok-cyclic":
            if name.endswith("all"):
                mu = composed(["Gaussian", 1 / setting["mu"]], setting["E"]).profile.mu
            else:
                mu = last_iterate.cyclic_strongly_convex(setting["mu"], setting["c"], setting["l"], setting["E"])
            return mu if name.startswith("mu") else eps_of(mu, place)
        case "bok-proj":
            # lengths in noise units: a record moves a step by m, the set has diameter 1
            steps, length = setting["steps"], setting["l"]
            p, width = setting["m"] / setting["sigma"], 1 / (setting["eta"] * setting["sigma"])
            if length is None:
                return last_iterate.full_batch_convex(p, width, steps)
            return last_iterate.cyclic_convex(p, width, length, steps // length)
        case "nodes":
            between, count, steps = setting["between"], setting["participations"], setting["steps"]
            chosen = combinations(range(steps - between * (count - 1)), count)
            return max(nodes_squared([t + between * k for k, t in enumerate(uses)], steps) for uses in chosen)
        case _:
            return of_accountant(accountant(setting), name, place)


def of_accountant(accountant, name, place):
    answers = {
        "eps": accountant.get_epsilon,
        "delta": accountant.get_delta,
        "mu": accountant.get_mu,
        "tpr": lambda rate: accountant.profile.tpr(rate),
        "advantage": lambda _: accountant.profile.advantage,
    }
    return answers[name](place)


def accountant(setting):
    match setting["via"]:
        case "event":
            return composed(setting["tree"])
        case "tree":
            return composed(["SingleEpochTreeAggregation", setting["noise"], setting["steps"]])
        case "forest":
            return composed(["Gaussian", setting["noise"] / math.sqrt(forest(setting["batches"], setting["epochs"]))])
    found = Accountant(setting["relation"])
    for kind, noise, q, steps, *cut in setting["steps"]:
        step = ["Gaussian", noise] if kind == "full-batch" else ["PoissonSampled", q, ["Gaussian", noise]]
        if kind == "truncated-poisson":
            step = ["TruncatedSubsampledGaussian", cut[0], q, cut[1], noise]
        found.compose(tree(step), steps)
    return found


def tree(short):
    """An event's tree from its short form, such as ["PoissonSampled", 0.2, ["Gaussian", 0.5]]."""
    fields = (tree(field) if isinstance(field, list) else field for field in short[1:])
    return ["dp_accounting.dp_event", f"{short[0]}DpEvent", *fields]


def composed(short, times=1):
    return Accountant().compose(tree(short), times)


@cache
def analyses(given):
    name, parameters = json.loads(given)
    return MECHANISMS[name](**parameters).upper_bounds()


def of_analysis(given, name, place):
    found = [a for a in analyses(given) if a.valid]
    match name:
        case "rdp":
            return next(a.rdp(place) for a in found if a.rdp is not None)
        case "mu":
            return min(a.mu for a in found if a.mu is not None)
        case "renyi eps":
            return next(a.eps(place) for a in found if a.name == "renyi-composition")
        case "upper eps":
            return min(a.eps(place) for a in found)
    raise LookupError(name)


def attained(row):
    """Epsilon that one pair of neighbours attains, of a row whose steps are on Poisson batches of one kind."""
    setting = json.loads(row["setting"])
    ((_, noise, q, steps),) = setting["steps"]
    return step_loss(q, noise, setting["relation"]).times(steps).attained(float(row["quantity"].partition("@")[2]))


def of_group(k, z, q, T, delta):
    """Epsilon of k records."""
    found = analyses(json.dumps(["sampled-gaussian", {"noise_multiplier": z, "sampling_probability": q, "steps": T}]))
    return min(analysis.of_group(k).eps(delta) for analysis in found if analysis.valid)


def nodes_squared(uses, steps):
    """Squared sensitivity of a tree over the steps to a record in `uses`: over all nodes, the square of its uses there."""
    total = 0
    for level in range(steps.bit_length()):
        uses_of = [t >> level for t in uses if ((t >> level) + 1) << level <= steps]
        total += sum(uses_of.count(node) ** 2 for node in set(uses_of))
    return total


def forest(batches, epochs):
    """Of trees that follow each other, the order of the batches the same; all but the last are filled up with steps
    that use no record."""

    def squared(batch, length, filled):
        uses = [batch + batches * epoch for epoch in range(length)]
        steps = batches * length
        return nodes_squared(uses, 1 << (steps - 1).bit_length() if filled else steps)

    return max(
        sum(squared(batch, length, k < len(epochs) - 1) for k, length in enumerate(epochs)) for batch in range(batches)
    )
