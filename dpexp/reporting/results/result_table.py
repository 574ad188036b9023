"""Any stored result as a table: final values with intervals, fitted slopes, privacy and what diverged, a row a line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from dpexp.config.cell_settings import Words, varying
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.text import up
from dpexp.reporting.digits import from_to, within
from dpexp.reporting.results.beside import deviation, of_coefficient, of_prediction
from dpexp.reporting.results.choose import ESTIMATOR, needed
from dpexp.reporting.results.gather import Gathered
from dpexp.reporting.results.labels import constants, value_label
from dpexp.reporting.results.lines import Line, Theory, column_of, fitted, lines_of
from dpexp.reporting.results.metrics import COEFFICIENTS, CONTROLLED, metric_of
from dpexp.reporting.results.statistic import STATISTICS, of_replicates
from dpexp.reporting.slopes import Rate, decades
from dpexp.reporting.text_table import Column, Content, by_column, without_constants

PAYS = 3.0
"""how many replicates one with its control must be worth: it takes as long as two or three"""
BESIDE = {
    "param_distance_sq": ("param_distance_sq_controlled", "loss_gap"),
    "param_distance_sq_controlled": ("param_distance_sq",),
    "loss_gap": ("loss_gap_controlled",),
    "loss_gap_controlled": ("loss_gap",),
    "test_accuracy": ("train_loss",),
    "grad_norm": ("objective", "test_accuracy"),
    "mean_grad_norm": ("grad_norm", "objective", "param_norm_sq"),
    "train_loss": ("test_accuracy",),
}
"""what stands beside a metric, where the results have it: a reader of the one asks for the other"""
NO_GUARANTEE = "*"
OTHERS = {"cell_id", ESTIMATOR, "step", "slope", "slope_ci_lo", "slope_ci_hi", "slope_state", "state", "guarantee", "n",
          "n_diverged", "diverged", "saved", "replicates_saved"}  # fmt: skip
"""columns besides settings and metrics; a metric of such a name, or of that of a setting, is `metric.NAME`"""


def content_of(
    gathered: Gathered,
    metrics: Sequence[str] = (),
    estimators: Sequence[str] = (),
    statistic: str = "mean",
    theories: Sequence[Theory] = (),
    theory: bool = False,
) -> Content:
    """The table's text and numbers: these metrics, or the default one and what belongs beside it.

    What is the same in every row stands in the note, and not in a column.
    """
    gathered = gathered.estimated(estimators)
    shown = list(dict.fromkeys(map(gathered.metric, metrics or (None,))))
    main = shown[0]
    if len(metrics) < 2:
        shown += [name for name in BESIDE.get(main, ()) if name in gathered.metrics]
    single = [name for name in shown if name != COEFFICIENTS] + gathered.coordinates * (COEFFICIENTS in shown)
    gathered = of_replicates(gathered, single, statistic)
    lines = {name: lines_of(gathered, name) for name in shown}
    names = _names(gathered, [line.settings for line in lines[main]])
    taken = {*OTHERS, *map(column_of, names)}
    called = [f"metric.{name}" if name in taken else name for name in shown]
    # slopes are those of means
    slopes: list[Rate | str] = fitted(lines[main], main, theories) if statistic == "mean" else [""] * len(lines[main])
    beside = main + CONTROLLED
    # the same rate from fewer replicates, beside the plain one and never in its place
    more = fitted(lines[beside], beside) if beside in shown and statistic == "mean" else [""] * len(slopes)
    deltas = _deltas(gathered)
    records = [
        _record(names, [lines[name][k] for name in shown], called, slopes[k], deltas)
        | (_slope_of("slope_controlled", more[k]) if beside in shown else {})
        for k in range(len(lines[main]))
    ]
    if theory and statistic != "mean":
        raise UsageError(f"--statistic {statistic}: theory is of means", "leave out --theory")
    for record, line in zip(records, lines[main], strict=True):
        record.update(of_prediction(line, theories) if theory else {})
        record.update(of_coefficient(line) if main == COEFFICIENTS and statistic == "mean" else {})
    if theory and all(record["prediction"] is None for record in records):
        raise UsageError(f"no theory predicts {main} in these results", "leave out --theory")
    columns: dict[str, Column] = {name: partial(_setting, gathered.words, name) for name in names}
    columns |= {name: partial(_mean, name) for name in called}
    if theory:
        columns |= {
            "prediction": partial(_number, "prediction"),
            "deviation": deviation,
            "replicates for 3 %": lambda r: str(r["replicates_for_3_percent"] or "-"),
        }
    columns |= {name: partial(_number, name) for name in ("bias", "sd", "covered") if name in records[0]}
    if "replicates_saved" in records[0]:
        columns["saved"] = lambda r: _saved(r["replicates_saved"])
    if any(isinstance(found, Rate) for found in slopes):
        columns |= _columns_of("slope", "state")
    if any(isinstance(found, Rate) for found in more):
        columns |= _columns_of("slope_controlled", "state_controlled")
    columns |= {f"eps at {delta}": partial(_eps, delta) for delta in deltas}
    head, rows, *_ = by_column({**columns, "diverged": "{n_diverged} of {n}"}, records, "")
    # what is the same in every row stands in the note
    head, rows, same = without_constants(head, rows, but=called)
    note = _note(gathered, shown, names, same, slopes, rows, lines[main])
    if theory:
        note += (
            " Deviation: the mean over the prediction less 1, with the standard error of the mean; replicates for 3 %: "
        )
        note += "so many give a 95% interval of ±3 %. "
        note += "; ".join(dict.fromkeys(record["prediction_by"] for record in records if record["prediction_by"])) + "."
    return Content(head, rows, note, records)


def _names(gathered: Gathered, settings: Sequence[dict[str, Any]]) -> list[str]:
    """As few settings as it takes to tell rows apart, in the order of the config; the estimator is the last."""
    # a number of steps that follows from epochs is no setting of its own
    derived = {"n"} if all(run.steps_are_its_own for run in gathered.runs) else set()
    names = needed(settings, [name for name in varying(settings) if name not in derived])
    return sorted(names, key=lambda name: name == ESTIMATOR)


def _deltas(gathered: Gathered) -> list[str]:
    """The deltas at which epsilon was stated, as the columns of cells spell them."""
    keys = dict.fromkeys(key for run in gathered.runs for key in run.row if key.startswith("eps_"))
    return [key.removeprefix("eps_") for key in keys]


def _record(
    names: Sequence[str], lines: Sequence[Line], shown: Sequence[str], slope: Rate | str, deltas: Sequence[str]
) -> dict[str, Any]:
    """The numbers of a row, with all their digits."""
    first = lines[0]
    row = first.run.row
    record: dict[str, Any] = {column_of(name): first.settings.get(name) for name in names}
    record |= {"cell_id": row["cell_id"], ESTIMATOR: first.estimator, "step": int(first.rows.step[-1])}
    for name, line in zip(shown, lines, strict=True):
        mean, se, low, high = (float(column[-1]) for column in line.rows[1:5])
        record |= {name: mean, f"{name}_se": se, f"{name}_ci_lo": low, f"{name}_ci_hi": high,
                   f"{name}_ci_half": (high - low) / 2}  # fmt: skip
    # a variance of the mean is inverse to the number of replicates: the ratio says how many one is worth
    plain = shown[0].removesuffix(CONTROLLED)
    if plain in shown and plain + CONTROLLED in shown:
        wide, narrow = record[f"{plain}_se"], record[f"{plain}{CONTROLLED}_se"]
        record["replicates_saved"] = (wide / narrow) ** 2 if narrow > 0 and math.isfinite(wide / narrow) else None
    record |= _slope_of("slope", slope) | {
        "guarantee": bool(row.get("guarantee", True)) if row.get("guarantee", True) is not None else True,
    }
    record |= {f"eps_{delta}": _float(row.get(f"eps_{delta}")) for delta in deltas}
    return record | {"n": first.replicates, "n_diverged": first.diverged}


def _slope_of(name: str, slope: Rate | str) -> dict[str, Any]:
    """A slope with its interval and state; a reason is a state."""
    if not isinstance(slope, Rate):
        return {name: None, f"{name}_ci_lo": None, f"{name}_ci_hi": None, f"{name}_state": slope}
    last = slope.last
    return {name: last.slope, f"{name}_ci_lo": last.ci_lo, f"{name}_ci_hi": last.ci_hi, f"{name}_state": slope.state}


def _columns_of(name: str, state: str) -> dict[str, Column]:
    return {
        name: lambda r: "-" if r[name] is None else _mean(name, r),
        state: lambda r: "-" if r[name] is None else str(r[f"{name}_state"]),
    }


def _float(value: Any) -> float | None:
    return None if value is None or (isinstance(value, float) and math.isnan(value)) else float(value)


def _saved(times: float | None) -> str:
    """In two digits, which is what a ratio of two variances has."""
    if times is None:
        return "-"
    return f"{float(f'{times:.2g}'):g}" + ("" if times > PAYS else ", does not pay")


def _setting(words: Words, name: str, record: dict[str, Any]) -> str:
    return value_label(name, record[column_of(name)], words)


def _mean(name: str, record: dict[str, Any]) -> str:
    return within(record[name], record[f"{name}_ci_lo"], record[f"{name}_ci_hi"])


def _number(name: str, record: dict[str, Any]) -> str:
    return "-" if record[name] is None else f"{record[name]:.3g}"


def _eps(delta: str, record: dict[str, Any]) -> str:
    value = record[f"eps_{delta}"]
    if value is None:
        return "-"
    return up(value, 4) + ("" if record["guarantee"] or math.isinf(value) else NO_GUARANTEE)


def _note(
    gathered: Gathered,
    shown: Sequence[str],
    names: Sequence[str],
    same: Sequence[tuple[str, str]],
    slopes: Sequence[Rate | str],
    rows: Sequence[Sequence[str]],
    lines: Sequence[Line],
) -> str:
    replicates = from_to(line.replicates for line in lines)
    last = from_to(int(line.rows.step[-1]) for line in lines)
    meanings = "; ".join(
        f"{name}: {metric_of(name, gathered.statistic).words}"
        + (f" [{metric_of(name).unit}]" if metric_of(name).unit else "")
        for name in shown
    )
    mean = (
        f"{'mean' if gathered.statistic == 'mean' else 'median'} over {replicates} replicates; digits in brackets: "
        f"half the {STATISTICS[gathered.statistic]}, in units of the last digits, or "
        "both its ends where one is much nearer than the other"
    )
    words = [f"At the last step ({last}), {'one replicate' if replicates == '1' else mean}. {meanings}."]
    if any(name.endswith(CONTROLLED) for name in shown):
        words.append(
            "Saved: for one replicate, how many without the control variate give the same error; it pays beyond "
            f"{PAYS:g}, since it takes as long as two or three."
        )
    if any(isinstance(found, Rate) for found in slopes):
        words.append(
            f"Slope: of log mean on log step over {decades(slopes)}; asymptotic where theory confirms it, transient "
            "where the decade before disagrees, else not known."
        )
    reasons = sorted({found for found in slopes if isinstance(found, str) and found})
    words += [f"{reason[0].upper()}{reason[1:]}, in {slopes.count(reason)} rows." for reason in reasons]
    if any(cell.endswith(NO_GUARANTEE) for row in rows for cell in row) or any(
        value.endswith(NO_GUARANTEE) for _, value in same
    ):
        words.append(f"{NO_GUARANTEE} claimed by an analysis that is no guarantee.")
    if "test_accuracy" in shown:
        words.append(said_of_majority(gathered))
    if same:
        words.append("In every row: " + ", ".join(f"{name} = {value}" for name, value in same) + ".")
    words.append(f"The same in all: {constants(gathered.runs, gathered.words)}.")
    return " ".join([*filter(None, words), *(f"{remark}." for remark in gathered.remarks)])


def said_of_majority(gathered: Gathered) -> str:
    """What accuracies on shipped records are to be compared with: the share of the largest class among those held out.

    A user's own records are not read again.
    """
    found = []
    for run in gathered.runs:
        if run.cell.problem.files():
            continue
        try:
            counts = run.cell.problem.held_out_classes()
        # a plug-in's records are not where they were
        except (DpexpError, ValueError, OSError):
            continue
        if any(counts.values()):
            # what a table of accuracies is to be compared with: no model at all
            name = max(counts, key=lambda kind: counts[kind])
            found.append(f"{counts[name] / sum(counts.values()):.4g}, class {name}")
    return f"Always naming the largest class has the accuracy {'; '.join(dict.fromkeys(found))}." if found else ""
