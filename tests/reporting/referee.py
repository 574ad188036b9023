"""What a referee sees at once in a figure: words on top of each other, a legend that is cut, a panel with nothing in it."""

from __future__ import annotations

from itertools import combinations

import numpy as np

SLACK = 1.0
"""pixels by which boxes may touch"""


def faults(canvas):
    """Everything that is wrong with a drawn figure, in words; an empty list for a good one."""
    canvas.set_dpi(60)
    canvas.draw_without_rendering()
    renderer = canvas._get_renderer()
    found = [*_empty(canvas), *_outside(canvas, renderer)]
    found += [f"{a!r} over {b!r}" for a, b in _overlaps(canvas, renderer)]
    return found


def _box(artist, renderer):
    return artist.get_window_extent(renderer)


def _meet(a, b):
    return min(a.x1, b.x1) - max(a.x0, b.x0) > SLACK and min(a.y1, b.y1) - max(a.y0, b.y0) > SLACK


def _empty(canvas):
    """Panels without a line, point or mark in view."""
    for number, axes in enumerate(canvas.axes):
        if not any(_in_view(axes, line) for line in axes.lines):
            yield f"panel {number} shows nothing"


def _in_view(axes, line):
    points = np.column_stack([np.atleast_1d(np.asarray(line.get_xdata(), float)),
                              np.atleast_1d(np.asarray(line.get_ydata(), float))])  # fmt: skip
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return False
    place = axes.transAxes.inverted().transform(line.get_transform().transform(points))
    return bool(((place > -0.001) & (place < 1.001)).all(axis=1).any())


def _outside(canvas, renderer):
    """What leaves the page."""
    page = canvas.bbox
    (legend,) = canvas.legends
    for name, box in [("legend", _box(legend, renderer))] + [
        (repr(text.get_text()), _box(text, renderer)) for text in _words(canvas)
    ]:
        if box.x0 < -SLACK or box.y0 < -SLACK or box.x1 > page.x1 + SLACK or box.y1 > page.y1 + SLACK:
            yield f"{name} leaves the page"
    for axes in canvas.axes:
        if _meet(_box(legend, renderer), axes.get_tightbbox(renderer)):
            yield "the legend covers a panel"


def _words(canvas):
    """Every text that is shown, but for the legend's own."""
    shown = []
    for axes in canvas.axes:
        shown += [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts, *_tick_labels(axes)]
    shown += list(canvas.texts)
    return [text for text in shown if text.get_visible() and text.get_text().strip()]


def _tick_labels(axes):
    """Names of ticks that lie within the axis."""
    found = []
    for axis, low_high in ((axes.xaxis, sorted(axes.get_xlim())), (axes.yaxis, sorted(axes.get_ylim()))):
        for tick in axis.get_major_ticks():
            inside = low_high[0] * (1 - 1e-9) <= tick.get_loc() <= low_high[1] * (1 + 1e-9)
            if inside and tick.label1.get_visible():
                found.append(tick.label1)
    return found


def _overlaps(canvas, renderer):
    boxes = [(text, _box(text, renderer)) for text in _words(canvas)]
    for (a, box), (b, other) in combinations(boxes, 2):
        if _meet(box, other):
            yield a.get_text(), b.get_text()
