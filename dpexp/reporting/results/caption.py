"""The caption of a figure of any result: what is shown, its bands, and what the picture cannot say by itself."""

from __future__ import annotations

from collections.abc import Sequence

from dpexp.reporting.digits import from_to
from dpexp.reporting.results.declaration import DOTS, STEP
from dpexp.reporting.results.labels import estimator_name
from dpexp.reporting.results.metrics import metric_of
from dpexp.reporting.results.scene import Scene
from dpexp.reporting.results.statistic import STATISTICS

MOST_NAMED = 8
"""settings that a sentence lists by name"""


def caption_of(scene: Scene) -> str:
    """A paragraph of whole sentences."""
    lines, x = scene.lines, scene.plan.x
    metric, replicates = metric_of(scene.metric, scene.said.statistic), from_to(line.replicates for line in lines)
    words = metric.words + (f" [{metric.unit}]" if metric.unit and not metric.share else "")
    # several estimators are told apart in the figure, one alone only here
    estimators = {line.estimator for line in lines}
    of = f" of {estimator_name(lines[0])}" if len(estimators) == 1 else ""
    last = from_to(int(line.rows.step[-1]) for line in lines)
    against = f"against the number of steps, to {last}" if x == STEP else f"at the last step, {last}"
    against += f", against {x}" if x not in (STEP, DOTS) else ""
    look = "Bands" if x == STEP else "Boxes: quartiles. Points: medians. Bars" if scene.said.kind == "box" else "Bars"
    band = f"{look}: {STATISTICS[scene.said.statistic]} over {replicates} replicates."
    said = [
        f"{', '.join(dict.fromkeys(source.name for source in scene.gathered.sources))}: {words}{of}, {against}.",
        "One replicate of every setting, so there is no band." if replicates == "1" else band,
    ]
    if scene.theory_names:
        said.append(f"Theory, for at most three colours: {'; '.join(scene.theory_names)}.")
    if x not in (STEP, DOTS):
        groups = [group for members in scene.panels.values() for group in scene.groups(members)]
        if broken := sorted({name for group in groups for name in scene.carried(group)}):
            said.append(f"Points are not joined, since {', '.join(broken)} changes with {x}.")
    if wild := [f"{scene.name(one)} ({one.diverged} of {one.replicates})" for one in lines if one.diverged]:
        said.append(f"Replicates diverged, marked by crosses: {_listed(wild)}; no mean is taken over survivors.")
    if beyond := [f"{scene.name(one)} ({one.rows.mean[-1]:.2g})" for one in scene.beyond()]:
        said.append(f"Beyond the axis: {_listed(beyond)}.")
    return " ".join([*said, *(f"{remark}." for remark in scene.gathered.remarks)])


def _listed(named: Sequence[str]) -> str:
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return "; ".join(named[:MOST_NAMED]) + more
