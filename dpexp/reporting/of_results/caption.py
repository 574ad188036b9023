"""The caption of a figure of any result: what is shown, where, of which settings, with which bands; generated whole."""

from __future__ import annotations

from collections.abc import Sequence

from dpexp.reporting.digits import from_to
from dpexp.reporting.of_results.choose import DOTS, ESTIMATOR, STEP, Factor
from dpexp.reporting.of_results.labels import ESTIMATORS, constants, values
from dpexp.reporting.of_results.metrics import metric_of
from dpexp.reporting.of_results.scene import MOST_MARKED, Scene
from dpexp.reporting.of_results.statistic import STATISTICS
from dpexp.reporting.slopes import Rate

MOST_NAMED = 8
"""settings that a sentence lists by name"""


def caption_of(scene: Scene, theory: Sequence[str]) -> str:
    """A paragraph of whole sentences, and below it the parameters that all cells share."""
    said = " ".join(filter(None, [
        _what(scene), _places(scene), _band(scene), _slopes(scene), _theory(scene, theory),
        _diverged(scene), _beyond(scene), _coinciding(scene), _implied(scene),
        *(f"{remark}." for remark in scene.gathered.remarks),
    ]))  # fmt: skip
    return "\n\n".join(filter(None, [said, _constants(scene)]))


def _what(scene: Scene) -> str:
    metric = metric_of(scene.metric, scene.request.statistic)
    # a metric that is not listed goes by its name, which is not said twice
    words = metric.words if metric.words == scene.metric else f"{metric.words} ({scene.metric})"
    unit = f", in units of {metric.unit}" if metric.unit and not metric.share else ""
    names = ", ".join(dict.fromkeys(source.name for source in scene.gathered.sources))
    steps = from_to(int(line.rows.step[-1]) for line in scene.lines)
    if scene.plan.x == STEP:
        against = f"against the number of steps, to {steps}"
    elif scene.plan.x == DOTS:
        against = f"at the last step, {steps}"
    else:
        against = f"at the last step, {steps}, against {scene.plan.x}"
    # several estimators are told apart in the figure, one alone only here
    own = list(dict.fromkeys(line.estimator for line in scene.lines))
    of = f" of {ESTIMATORS.get(own[0], own[0])}" if len(own) == 1 else ""
    return f"{names}: {words}{of}{unit}, {against}."


def _places(scene: Scene) -> str:
    plan, found = scene.plan, []
    dotted = "marker" if plan.x != STEP else "line style"
    for factor, look in ((plan.hue, "Colour"), (plan.style, dotted.capitalize())):
        if factor is not None:
            found.append(f"{look}: {_listed(scene, factor)}.")
    if plan.facets:
        found.append(f"Panels: {' x '.join(_listed(scene, factor) for factor in plan.facets)}.")
    if plan.rows:
        found.append(f"Rows: {' x '.join(_listed(scene, factor) for factor in plan.rows)}.")
    if plan.x not in (STEP, DOTS):
        found.append(f"Horizontal: {values(scene.gathered.runs, scene.words, plan.x)}.")
        curves = [group for members in scene.panels.values() for group in scene.curves(members)]
        broken = {name for group in curves for name in scene.carried([scene.lines[k] for k in group])}
        if broken:
            found.append(f"Points are not joined, since {', '.join(sorted(broken))} changes with {plan.x}.")
    return " ".join(found)


def _listed(scene: Scene, factor: Factor) -> str:
    words = []
    for name in factor.names:
        if name == ESTIMATOR:
            words.append("estimator in {" + ", ".join(dict.fromkeys(line.estimator for line in scene.lines)) + "}")
        else:
            words.append(values(scene.gathered.runs, scene.words, name))
    return ", ".join(words)


def _band(scene: Scene) -> str:
    if scene.one_replicate:
        return "One replicate of every setting, so there is no band."
    look = "Bands" if scene.plan.x == STEP else "Bars"
    if scene.request.kind == "box":
        look = "Boxes: quartiles. Points: medians. Bars"
    return f"{look}: {STATISTICS[scene.request.statistic]} over {scene.replicates} replicates."


def _slopes(scene: Scene) -> str:
    if not any(scene.slopes):
        return ""
    rates = [found for found in scene.slopes if isinstance(found, Rate)]
    reasons = sorted({found for found in scene.slopes if isinstance(found, str)})
    words = []
    if rates:
        asymptotic = sum(found.asymptotic for found in rates)
        words.append(
            f"Beside the curves: slopes of log mean on log step over {scene.decade}, filled where theory confirms that "
            f"they are asymptotic ({asymptotic} of {len(rates)})."
        )
        if scene.guided:
            words.append("Dotted: the exponent of theory for the first estimator.")
        if any(len(members) > MOST_MARKED for members in scene.panels.values()):
            words.append("Panels of many curves show no slopes; the table lists them.")
    words += [f"{reason[0].upper()}{reason[1:]}, for {scene.slopes.count(reason)} curves." for reason in reasons]
    return " ".join(words)


def _theory(scene: Scene, theory: Sequence[str]) -> str:
    return f"Theory, for at most three colours: {'; '.join(theory)}." if theory else ""


def _diverged(scene: Scene) -> str:
    wild = [line for line in scene.lines if line.diverged]
    if not wild:
        return ""
    named = _some([f"{scene.name(line)} ({line.diverged} of {line.replicates})" for line in wild])
    return f"Replicates diverged, marked by crosses: {named}; no mean is taken over survivors."


def _beyond(scene: Scene) -> str:
    found = []
    for where, lines in (("Below", scene.below()), ("Above", scene.above())):
        named = [f"{scene.name(line)} ({line.rows.mean[-1]:.2g})" for line in lines]
        found += [f"{where} the axis: {_some(named)}."] * bool(named)
    return " ".join(found)


def _some(named: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return "; ".join(named[:MOST_NAMED]) + more


def _coinciding(scene: Scene) -> str:
    """Lines of one panel that lie on each other, of which only the last can be seen."""
    found = []
    for members in scene.panels.values():
        alike: dict[tuple[object, ...], list[str]] = {}
        for k in members:
            line = scene.lines[k]
            if scene.plan.x == STEP and not line.diverged:
                values = line.rows.mean.tolist()
                # bit for bit: what lies a hair apart can be seen
                alike.setdefault((*line.rows.step.tolist(), *values), []).append(scene.name(line))
        found += [" and ".join(names) for names in alike.values() if len(names) > 1]
    return f"Curves that coincide: {_some(found)}." if found else ""


def _implied(scene: Scene) -> str:
    # what follows by definition, as the number of steps from epochs, needs no word
    names = [name for name in scene.plan.implied if name not in scene.derived]
    if not names:
        return ""
    listed = "; ".join(values(scene.gathered.runs, scene.words, name) for name in names)
    return f"Varies with what is shown: {listed}."


def _constants(scene: Scene) -> str:
    same = constants(scene.gathered.runs, scene.words)
    return f"The same in all: {same}." if same else ""
