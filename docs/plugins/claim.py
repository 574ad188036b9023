"""A claim about the example of docs/extending.md: directions alone learn slower."""

from dpexp.plugins import Plugin
from dpexp.reporting.checks import Pair, in_order
from dpexp.reporting.claim import Claim
from dpexp.reporting.paper import Paper


def slower(evidence):
    names = ("ldp-sgd", "direction-sgd")
    last = [evidence.run("directions", algorithm=name).values("asgd", "param_distance_sq")[-1] for name in names]
    return in_order([Pair("last step", *last)], "LDP-SGD has the smaller error")


CLAIM = Claim(
    id="directions/figure-1",
    place="Figure 1",
    statement="With mu = 1, users who send directions alone learn slower.",
    kind="ordering",
    experiments=("directions",),
    check=slower,
    tolerance="the 95% interval of the ratio of the means is below 1",
    expected="reproduced",
    why="",
    source="ours",
)
PAPER = Paper("directions", "Directions instead of gradients", "A. Newcomer", claims=(CLAIM,), configs=("directions",))
PLUGIN = Plugin(papers=(PAPER,))
