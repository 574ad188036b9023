"""The caption of a figure of any result: what its picture cannot say by itself."""

from __future__ import annotations

from collections.abc import Sequence

from dpexp.reporting.digits import from_to
from dpexp.reporting.results.declaration import STEP
from dpexp.reporting.results.gather import OWN_RECORDS
from dpexp.reporting.results.labels import estimator_name
from dpexp.reporting.results.lines import STATISTICS
from dpexp.reporting.results.metrics import metric_of
from dpexp.reporting.results.scene import Scene

MOST_NAMED = 8
"""settings that a sentence lists by name"""


def caption_of(scene: Scene) -> str:
    """A paragraph of whole sentences."""
    lines, declared = scene.lines, scene.declared
    metric, replicates = metric_of(scene.metric, declared.statistic), from_to(line.replicates for line in lines)
    words = metric.words + (f" [{metric.unit}]" if metric.unit and not metric.share else "")
    # a single estimator is named here alone
    single = len({line.estimator for line in lines}) == 1
    words += f" of {estimator_name(lines[0].estimator, lines[0].settings)}" if single else ""
    last = from_to(int(line.rows.step[-1]) for line in lines)
    words += f", against the number of steps, to {last}" if scene.x == STEP else f", at the last step, {last}"
    words += f", against {scene.x}" if scene.swept else ""
    kind = "Boxes: quartiles. Points: medians. Bars" if declared.kind == "box" else "Bars"
    band = f"{'Bands' if scene.x == STEP else kind}: {STATISTICS[declared.statistic]} over {replicates} replicates."
    sentences = [
        *([OWN_RECORDS] if any(run.own_records for run in scene.gathered.runs) else []),
        f"{', '.join(dict.fromkeys(source.name for source in scene.gathered.sources))}: {words}.",
        "One replicate of every setting, so there is no band." if replicates == "1" else band,
    ]
    if scene.theory_names:
        sentences.append(f"Theory, for at most three colours: {'; '.join(scene.theory_names)}.")
    groups = [group for members in scene.panels.values() for group in scene.groups(members)] if scene.swept else []
    if changing := sorted({name for group in groups for name in scene.carried(group)}):
        sentences.append(f"Points are not joined, since {', '.join(changing)} changes with {scene.x}.")
    if wild := [f"{scene.name(line)} ({line.diverged} of {line.replicates})" for line in lines if line.diverged]:
        sentences.append(f"Replicates diverged, marked by crosses: {_listed(wild)}; no mean is taken over survivors.")
    if beyond := [f"{scene.name(line)} ({line.last[0]:.2g})" for line in scene.beyond()]:
        sentences.append(f"Beyond the axis: {_listed(beyond)}.")
    return " ".join([*sentences, *(f"{remark}." for remark in scene.gathered.remarks)])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return "; ".join(names[:MOST_NAMED]) + more
