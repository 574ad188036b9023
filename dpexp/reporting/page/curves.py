"""What the page's explorer draws: every stored mean with its interval, by setting, estimator, metric and step."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpexp.config.settings import Settings, varying
from dpexp.reporting.of_results.choose import DOTS, ESTIMATOR, STEP, Plan, choose, is_number, needed
from dpexp.reporting.of_results.gather import DEFAULT_METRICS, Gathered
from dpexp.reporting.of_results.labels import ESTIMATORS, parameter_label
from dpexp.reporting.of_results.lines import lines_of
from dpexp.reporting.of_results.looks import colours_of
from dpexp.reporting.of_results.metrics import metric_of
from dpexp.store.stats import CI_NAME

MOST_CHECKED = 8
"""settings up to which all are drawn at first: as many as there are colours"""
LEAST_AXIS = 3
"""values from which a number can be an axis"""


def document(gathered: Gathered) -> dict[str, Any]:
    """The curves of one experiment, for page.js.

    A setting is a list of levels, one for each factor: a parameter in which settings differ. As few factors are kept as
    tell all settings apart. A series holds the mean and both ends of its interval at its steps (`packed`).
    """
    names = _metrics(gathered)
    cells = [run.settings for run in gathered.runs]
    vary = varying(cells)
    kept = needed(cells, vary)
    factors = [_factor(name, gathered) for name in kept]
    levels = [[factors[k]["_values"].index(cell.get(name)) for k, name in enumerate(kept)] for cell in cells]
    steps: dict[tuple[int, ...], int] = {}
    # in one order, whatever is shown first, as steps are numbered by their first line
    found = {name: list(_series(gathered, name, steps)) for name in sorted(names)}
    series = {name: found[name] for name in names}
    # axis and colours are those of the figure of this result, so that a reader finds the same again
    plan = _looks(gathered, series[names[0]], list(steps))
    x, hue = plan.x, () if plan.hue is None else tuple(name for name in plan.hue.names if name != ESTIMATOR)
    coloured = None
    if plan.hue is not None and len(hue) == 1 and hue[0] in kept:
        by_value = dict(zip((level[0] for level in plan.hue.levels), colours_of(plan.hue), strict=True))
        own = [by_value[value] for value in factors[kept.index(hue[0])]["_values"]]
        shown = [f"light-dark({colour},{on_dark(colour)})" for colour in own]
        coloured = {"factor": kept.index(hue[0]), "colours": shown}
    for factor in factors:
        del factor["_values"]
    return {
        "name": gathered.sources[0].name,
        "band": CI_NAME,
        "metrics": [_metric(name) for name in names],
        "estimators": [{"name": name, "label": ESTIMATORS.get(name, name)} for name in gathered.estimators],
        "factors": factors,
        "implied": [name for name in vary if name not in kept],
        "cells": levels,
        "checked": _checked(levels, len(kept), [kept.index(name) for name in (x, *hue) if name in kept], x == DOTS),
        "hue": coloured,
        "x": x if x in (*kept, DOTS) else STEP,
        "steps": [list(found) for found in steps],
        "series": series,
    }


def on_dark(colour: str) -> str:
    """The colour on a dark page: half way to white, so that every colour of ours is seen there."""
    return "#" + "".join(f"{(int(colour[k : k + 2], 16) + 255) // 2:02x}" for k in (1, 3, 5))


def _metrics(gathered: Gathered) -> list[str]:
    """All metrics that some cell has, the one that figures show first."""
    found = [str(name) for name in gathered.summary.metric.unique()]
    first = [name for name in DEFAULT_METRICS if name in found]
    return [*first, *(name for name in found if name not in first)]


def _metric(name: str) -> dict[str, Any]:
    metric = metric_of(name)
    return {"name": name, "words": metric.words, "unit": metric.unit, "log": metric.error}


def _factor(name: str, gathered: Gathered) -> dict[str, Any]:
    words = gathered.words
    values = list(dict.fromkeys(run.settings.get(name) for run in gathered.runs))
    numbers = [float(value) for value in values if value is not None and is_number(value)]
    if numbers and all(value is None or is_number(value) for value in values):
        values.sort(key=lambda value: math.inf if value is None else value)
    finite = {value for value in numbers if np.isfinite(value)}
    # a number that some cells lack has no place on an axis
    axis = len(finite) >= LEAST_AXIS and len(numbers) == len(values)
    return {
        "name": name,
        "label": parameter_label(name),
        "levels": [words.value(name, value) if value is not None else "none" for value in values],
        "numbers": sorted(numbers) if axis else None,
        "_values": values,
    }


def _series(gathered: Gathered, metric: str, steps: dict[tuple[int, ...], int]) -> Iterator[dict[str, Any]]:
    """Numbers of every line of a metric, by cell in the order of the config and then by estimator.

    `steps` collects the steps at which lines have values.
    """
    cells = {id(run): k for k, run in enumerate(gathered.runs)}
    place = {name: k for k, name in enumerate(gathered.estimators)}
    for line in lines_of(gathered, metric):
        rows, at = line.rows, tuple(line.rows.step.tolist())
        one: dict[str, Any] = {"c": cells[id(line.run)], "e": place[line.estimator]}
        one |= {"s": steps.setdefault(at, len(steps)), "n": line.replicates}
        one["v"] = packed(np.stack([rows.mean, rows.ci_lo, rows.ci_hi], axis=1))
        yield {**one, "w": rows.n_diverged.tolist()} if rows.n_diverged.any() else one


def packed(values: np.ndarray) -> str:
    """Numbers in base 64: the three upper bytes of each float32, the most significant first.

    Their relative error is at most 2^-17, so that four digits are right; infinite and undefined numbers stay so.
    """
    with np.errstate(over="ignore"):
        bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    special = (bits & 0x7F800000) == 0x7F800000
    # rounded to nearest; infinite and undefined numbers keep their bits, which rounding would make others
    cut = np.where(special, bits >> 8, (bits + 0x80) >> 8)
    parts = np.stack([(cut >> shift) & 0xFF for shift in (16, 8, 0)], axis=-1)
    # JSON cannot say infinite and undefined numbers; and decimals would take three times as much
    return base64.b64encode(parts.astype(np.uint8).tobytes()).decode("ascii")


def _looks(gathered: Gathered, series: list[dict[str, Any]], steps: list[tuple[int, ...]]) -> Plan:
    """What the figure of this result shows where."""
    names = gathered.estimators
    settings: list[Settings] = [{**gathered.runs[one["c"]].settings, ESTIMATOR: names[one["e"]]} for one in series]
    return choose(settings, gathered.sections, min(len(steps[one["s"]]) for one in series))


def _checked(levels: list[list[int]], factors: int, whole: list[int], dots: bool) -> list[list[int]]:
    """The levels of every factor that are drawn at first.

    All of them where that is few settings, or settings are dots; else those of the first setting, and all of what makes
    the axis and colours.
    """
    every = [sorted({cell[k] for cell in levels}) for k in range(factors)]
    if dots or len(levels) <= MOST_CHECKED:
        return every
    return [every[k] if k in whole else [levels[0][k]] for k in range(factors)]
