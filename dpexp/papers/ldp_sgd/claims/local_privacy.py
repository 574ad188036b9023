"""`ldp-sgd`, section 3: what is released, and how much noise it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dpexp.accounting.gaussian import delta_of
from dpexp.papers.ldp_sgd.ldp_sgd_runs import Used, local_of, problem_of
from dpexp.papers.ldp_sgd.predictions import asymptote
from dpexp.reporting.checks import JOINT, Ratio, near, predictions_agree, ratio_to
from dpexp.reporting.claim import Outcome, Verdict
from dpexp.store.evidence import Evidence, Run
from dpexp.store.stats import paired_difference
from dpexp.theory.ldp_sgd.terms import theorem1, theorem2

EXPERIMENTS = ("linear_d5", "linear_d10", "linear_d20", "logistic_d5", "logistic_d10", "logistic_d20")
RUNS = Used(*EXPERIMENTS, alpha=0.5)
MIXED = Used("figure1", "linear_d5", alpha=0.5)
POWER = 0.2  # by how much the noise power may differ from the claimed: the smallest that 200 replicates can decide
SQUARED = "param_distance_sq"
STRETCHED = ("ldp-sgd", "stretched-ldp-sgd")
UNUSED = Used("stretched")
ROOM = 0.15  # by how much the measured ratio may differ from that of the asymptotes


def noise_unit(run: Run) -> float:
    """eta_1^2 Delta^2 (d + 1): mean noise power that the coefficients get in the first step at mu = 1."""
    problem = problem_of(run)
    # in the first step nothing but this noise and one gradient has entered
    step = float(run.cell.schedule.step_sizes(1, 1)[0])
    return step**2 * problem.noise_sensitivity() ** 2 * (problem.d + 1)


def first_noise(tighter: Run, looser: Run, public: Run) -> tuple[np.ndarray, np.ndarray]:
    """Noise power of the first step in units of what is claimed, and its product with the gradient step; each [R].

    With the same user and noise direction omega, |beta_1 - beta*|^2 exceeds its non-private value by
    s / mu + q / mu^2, where q = |eta_1 Delta omega|^2 and s a product with the gradient step: two budgets give both.
    q over eta_1^2 Delta^2 (d + 1) has mean 1. The coefficients are not projected.
    """
    unit = noise_unit(tighter)
    base = public.values("sgd", "coef_distance_sq")[0]
    # the same user and direction: what two budgets differ by is noise alone
    a, b = (run.values("sgd", "coef_distance_sq")[0] - base for run in (tighter, looser))
    mu, nu = float(tighter.row["mu"]), float(looser.row["mu"])
    q = (mu * a - nu * b) / (1 / mu - 1 / nu)
    return q / unit, (mu * a - q / mu) / unit


def verdict_of(sound: bool, powers: Sequence[Ratio]) -> Verdict:
    """What a guarantee is worth: `sound` says whether the parameters are, `powers` are measured over claimed noise powers.

    False where a parameter is not, or a noise power is not the claimed one with certainty. Undecided where a noise power
    may be off by more than `POWER`, for then it may be too small.
    """
    if not sound or any(power.low > 1 or power.high < 1 for power in powers):
        return "false"
    # a power that may be too small is no guarantee, so that a wide interval decides nothing
    exact = all(power.low >= 1 - POWER and power.high <= 1 + POWER for power in powers)
    return "holds as a bound" if exact else "not at this sample size"


def as_computed(run: Run) -> bool:
    """Whether the stated exact parameter is the closed form: mu shrunk by exact over used sensitivity.

    Delta / mu is the standard deviation of the noise, and the Gaussian mechanism of sensitivity Delta_exact with it is
    mu Delta_exact / Delta-GDP. A statement that is too small would be a promise that nothing keeps.
    """
    problem = problem_of(run)
    closed = run.row["gdp_mu"] * problem.exact_sensitivity() / problem.noise_sensitivity()
    return math.isclose(run.row["gdp_mu_exact"], closed, rel_tol=1e-9)


def theorem_1(evidence: Evidence) -> Outcome:
    """The ledger's exact parameter is at most the largest budget, and the noise that it rests on was injected."""
    private = {e: [r for r in evidence.runs(e, alpha=0.5) if r.budget != "non-private"] for e in EXPERIMENTS}
    looks = sum(len(runs) - 1 for runs in private.values())
    noise = []
    for experiment, runs in private.items():
        public = evidence.run(experiment, alpha=0.5, budget="non-private")
        for tighter, looser in pairwise(runs):
            power, _ = first_noise(tighter, looser, public)
            noise.append(ratio_to(f"{tighter.name} and {looser.budget}", power, 1.0, looks))
    exact = [r.row["gdp_mu_exact"] / theorem1([r.row["gdp_mu"]]) for runs in private.values() for r in runs]
    return Outcome(
        verdict_of(max(exact) <= 1 + 1e-9 and all(as_computed(r) for runs in private.values() for r in runs), noise),
        "the largest budget among users 1 to i",
        f"exact parameter / bound {min(exact):.4f} (linear) to {max(exact):.4f} (logistic); noise power in the first step / "
        f"claimed {min(n.value for n in noise):.3f} to {max(n.value for n in noise):.3f}",
        f"noise: +- {max(n.high - n.value for n in noise):.2g} at most, joint 95% over {looks}",
        {"looseness": [1 / max(exact), 1 / min(exact)], "noise": {n.label: n[1:] for n in noise}},
    )


def theorem_2(evidence: Evidence) -> Outcome:
    """The first users' own budgets, solved from their noise, lie in (1, 2), and the ledger states the cap."""
    tight, loose, mixed = (evidence.run("figure1", alpha=0.5, budget=b) for b in ("1", "2", "Uniform(1, 2)"))
    public = evidence.run("linear_d5", alpha=0.5, budget="non-private")
    q, s = first_noise(tight, loose, public)
    a = (mixed.values("sgd", "coef_distance_sq")[0] - public.values("sgd", "coef_distance_sq")[0]) / noise_unit(tight)
    roots = np.sqrt(np.maximum(s * s + 4 * q * a, 0))
    budgets = np.array([2 * q / (sign * roots - s) for sign in (1, -1)])  # of s / mu + q / mu^2 = a
    inside = (budgets >= 1 - 1e-6) & (budgets <= 2 + 1e-6)
    bound = theorem2([1.0, 2.0])
    explained = inside.any(axis=0)
    first = np.where(inside[0], budgets[0], budgets[1])[explained]
    power = ratio_to("mu = 1 and 2", q, 1.0, 1)
    sound = bool(explained.all()) and mixed.row["gdp_mu"] == bound and mixed.row["gdp_mu_exact"] <= bound
    sound = sound and as_computed(mixed)
    spread = f"{first.min():.3f} to {first.max():.3f}" if len(first) else "nowhere"
    return Outcome(
        verdict_of(sound, [power]),
        "2, the cap of Uniform(1, 2), for everything released; mu_i for user i alone",
        f"ledger {mixed.row['gdp_mu']:g} (exact {mixed.row['gdp_mu_exact']:.4f}); budgets of the first users, solved from the "
        f"noise they added: {spread}, {int(explained.sum())} of {explained.size} in (1, 2)",
        f"budgets: rounding only, by common random numbers; noise power / claimed {power.value:.3f} +- {power.high - power.value:.2g}",
        {"looseness": bound / mixed.row["gdp_mu_exact"], "explained": int(explained.sum())},
    )


def parallel() -> dict[str, tuple[float, float]]:
    """Two mechanisms of mu = 1 that both see the whole of S, as the union says: sqrt 2-GDP, and not max = 1.

    Two independent Gaussian releases of one number are one release with mu^2 = 1 + 1 (Dong et al., Corollary 3.3).
    """
    printed, attained = (delta_of(mu, 1.0) for mu in (theorem1([1.0, 1.0]), math.sqrt(2.0)))
    return {"two mechanisms with mu = 1 that both see every record": (printed, attained)}


def stretched_messages(evidence: Evidence) -> Outcome:
    """The average's squared error with the scale's entry stretched over that without, and the same of asymptotes.

    In S_mu the noise of the scale's entry is then Delta^2 / (a mu)^2.
    """
    ratios = []
    for plain, other in zip(*(evidence.runs("stretched", algorithm=name) for name in STRETCHED), strict=True):
        place, noise = local_of(plain), problem_of(plain).noise_sensitivity() / float(plain.row["mu"])
        saved = np.zeros_like(place.covariance)
        saved[-1, -1] = (1 - other.cell.algorithm.stretch**-2) * noise**2
        places = place._replace(covariance=place.covariance - saved), place
        limits = [asymptote(at, plain.cell.schedule, plain.steps).asgd[SQUARED][-1] for at in places]
        difference = paired_difference(
            other.values("asgd", SQUARED)[-1], plain.values("asgd", SQUARED)[-1], 1 - JOINT / 2
        )
        ends = (end * limits[1] / limits[0] for end in (difference.ratio, difference.ratio_lo, difference.ratio_hi))
        ratios.append(Ratio(f"mu = {plain.budget} ({difference.ratio:.3f} of the error)", *ends))
    return predictions_agree(ratios, ROOM, "the ratio of asymptotes, whose S_mu has 1 / a^2 of the noise in the scale")


CHECKS = {
    "ldp-sgd/proposition-2": near(parallel, 1e-9, "delta at eps = 1", "misprint", uncertainty="none: closed forms"),
    "ldp-sgd/theorem-1": RUNS.read_by(theorem_1),
    "ldp-sgd/theorem-2": MIXED.read_by(theorem_2),
    "ldp-sgd/section-5/unused": UNUSED.read_by(stretched_messages),
}  # fmt: skip
