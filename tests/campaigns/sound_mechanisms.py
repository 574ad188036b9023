"""Sound mechanisms that differ: random configs of every algorithm that can be audited, and how often an audit objects.

    python -m tests.campaigns.sound_mechanisms [--count N] [--seed S]

Every config is drawn anew: algorithm, problem, dimension, batches, sampling and with it the neighbours, clip, momentum,
schedule, accountant, budgets and their law. So is the copy that an audit makes of a mechanism on batches or of sums:
how many records it has, batches, steps, and the target by which its noise is set. What is drawn and refused by
`dpexp validate` is drawn again. Any alarm is a false one. The campaign prints how many of each kind there were, and
fails if there are more alarms than the stated level allows with probability 1e-4.
"""

import argparse
import itertools
import sys
from collections import Counter
from contextlib import suppress
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from scipy.stats import beta, binom

from dpexp.config.experiment_file import read_experiment
from dpexp.config.yamlfile import ConfigError
from dpexp.reporting.audit import audit_cells, worlds
from dpexp.reporting.audit.worlds import audit

LEVEL = 1e-3
RUNS = 400
PILOT = 200
"""a short pilot chooses worse thresholds, and no more falsely"""


class Drawn(NamedTuple):
    """One sound mechanism."""

    config: str
    copy: dict
    """what the copy that is audited has in place of the constants of `dpexp.reporting.audit.audit_cells`"""


class Draw(np.random.Generator):
    """Random values of a config."""

    def of(self, values):
        return values[int(self.integers(len(values)))]

    def between(self, low, high):
        """Log-uniform, with three digits."""
        return float(f"{np.exp(self.uniform(np.log(low), np.log(high))):.3g}")

    def whole(self, low, high):
        return int(self.integers(low, high + 1))


def on_batches(draw):
    """DP-SGD and DP-SGLD."""
    name = draw.of(["dp-sgd", "dp-sgld"])
    algorithm = {"name": name, "batch_size": draw.of([1438, 719, draw.whole(2, 700), draw.whole(2, 700)])}
    algorithm |= {"epochs": draw.whole(1, 20)}
    algorithm |= {"sampling": draw.of(["poisson", "fixed-size", "shuffled", "balls-in-bins", "cyclic-poisson"])}
    if algorithm["sampling"] == "cyclic-poisson":
        algorithm |= {"groups": draw.whole(2, 6), "batch_size": draw.whole(2, 200)}
    if algorithm["sampling"] == "shuffled":
        algorithm |= {"accountant": "once-an-epoch", "batch_size": draw.of([719, 1438, 2])}
    if name == "dp-sgd":
        algorithm |= {"clip": draw.between(0.05, 20), "momentum": draw.of([0, 0, 0.5, 0.9])}
    else:
        algorithm |= {"start": draw.of(["zero", "prescribed"]), "radius": draw.between(0.3, 30)}
        if algorithm["sampling"] == "fixed-size":
            algorithm |= {"accountant": draw.of(["pld", "last-iterate"])}
    constant = {"name": "constant", "eta": draw.between(1e-3, 0.5)}
    return {
        "problem": {"name": "softmax", "data": "{name: digits}", "regulariser": draw.between(1e-4, 1)},
        "algorithm": algorithm,
        "schedule": draw.of([constant, {"name": "langevin", "decreasing": "false"}]),
        "privacy": {"eps": draw.between(0.2, 8), "delta": draw.between(1e-7, 1e-3)},
        "run": {},
    }


def budgets(draw):
    """A budget of all users, or a law."""
    low, high = sorted([draw.between(0.3, 4), draw.between(0.3, 4)])
    wide = f"{low:g}, {high * 1.01:g}"
    laws = f"{high:g}", f"{{uniform: [{wide}]}}", f"{{list: [{low:g}, {high:g}, 1]}}"
    return {"mu": draw.of([*laws, f"{{choice: {{values: [{wide}], probabilities: [1/4, 3/4]}}}}"])}


def on_users(draw):
    """One pass over users. A kernel is compiled for every d, so that there are few."""
    problem = draw.of(["huber-linear", "mallows-logistic", "pinball-linear", "insensitive-linear"])
    algorithm = {"name": draw.of(["ldp-sgd", "clipped-ldp-sgd", "heavy-ball-ldp-sgd"])}
    if algorithm["name"] == "clipped-ldp-sgd":
        algorithm["clip"] = draw.between(0.1, 5)
    if algorithm["name"] == "heavy-ball-ldp-sgd":
        algorithm["momentum"] = draw.of([0.3, 0.9])
    return {
        "problem": {"name": problem, "d": draw.of([2, 5]), "sigma_z": draw.between(0.3, 3), "sensitivity": "exact"},
        "algorithm": algorithm,
        "schedule": {"name": "power", "eta": draw.between(0.02, 0.5), "alpha": draw.of(["1/3", "1/2", "2/3", "1"])},
        "privacy": budgets(draw),
        "run": {"n": draw.whole(200, 100_000)},
    }


def on_sums(draw):
    """Momentum and descent on finite sums."""
    name = draw.of(["tree-momentum", "reduced-momentum", "gradient-recursion", "batch-descent"])
    algorithm = {"name": name, "epochs": draw.whole(2, 20)}
    if name == "tree-momentum":
        algorithm |= {"order": draw.of(["fixed", "reshuffled"]), "alpha": draw.of([0.05, 0.3, 1])}
    if name == "reduced-momentum":
        algorithm |= {"gamma": draw.of([0.1, 0.5])}
    if name == "gradient-recursion":
        algorithm |= {"gamma": draw.of([0.1, 0.5, 1])}
    if name == "batch-descent":
        algorithm |= {"sampling_rate": draw.of([1, 0.5, 0.1, 0.02])}
    problems = ["rippled-mean", "sigmoid", "welsch-regression", "logistic-ridge"]
    target = {"eps": draw.between(0.2, 8), "delta": draw.between(1e-7, 1e-3)}
    return {
        "problem": {"name": draw.of(problems), "N": draw.whole(60, 600), "d": draw.whole(2, 20)},
        "algorithm": algorithm,
        "schedule": {"name": "path-length", "length": draw.between(0.3, 10)},
        "privacy": draw.of([target, {"mu": draw.between(0.3, 3)}]),
        "run": {},
    }


KINDS = [on_batches] * 5 + [on_users] * 3 + [on_sums] * 3
"""what is drawn, and how often"""


def drawn(seed):
    """One mechanism; the same for the same seed."""
    draw = Draw(np.random.PCG64(seed))
    sections = draw.of(KINDS)(draw)
    sections["run"] = {**sections["run"], "replicates": 8, "seed": draw.whole(0, 10**6), "checkpoints": 1}
    told = {name: ", ".join(f"{key}: {value}" for key, value in keys.items()) for name, keys in sections.items()}
    lines = ["experiment: sound", *(f"{name}: {{{keys}}}" for name, keys in told.items())]
    steps, together, batch = draw.whole(2, 24), draw.whole(1, 2), draw.whole(1, 3)
    target, records = draw.between(2, 12), batch * draw.whole(2, 5)
    copy = {"WAYS": ((steps, together),), "SUM_STEPS": steps, "TARGET": target, "RECORDS": records, "BATCH": batch}
    return Drawn("\n".join(lines) + "\n", copy)


def row_of(one, seed):
    """What an audit finds; None where the config is refused, or nothing of it can be audited."""
    with patch.multiple(audit_cells, **one.copy), patch.object(worlds, "PILOT", PILOT), suppress(ConfigError):
        found = audit_cells.plan_of(read_experiment(one.config, "sound.yaml"))[0]
        return audit(found[0], RUNS, LEVEL, seed) if found else None
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kinds = Counter()
    alarms, closest = 0, []
    for seed in itertools.count(options.seed + 1):
        one = drawn(seed)
        row = row_of(one, 10_000 + seed)
        if row is None:
            kinds["refused"] += 1
            continue
        kinds[row["algorithm"]] += 1
        closest.append(row["lower_bound"] / row["claimed"] if row["claimed"] else 0.0)
        if row["alarm"]:
            alarms += 1
            print(f"ALARM {seed}: {one}", flush=True)
        if len(closest) == options.count:
            break
    most = float(beta.ppf(0.95, alarms + 1, options.count - alarms))
    print(", ".join(f"{name} {times}" for name, times in sorted(kinds.items())))
    print(f"{alarms} false alarms of {options.count} sound mechanisms, each at level {LEVEL:g}")
    print(f"with 95% confidence the rate is below {most:.2%} (Clopper and Pearson)")
    print(f"lower bound over claim: median {np.median(closest):.3f}, largest {max(closest):.3f}")
    return int(binom.sf(alarms - 1, options.count, LEVEL) < 1e-4)


if __name__ == "__main__":
    sys.exit(main())
