"""The audit as a page: a table for each mechanism, and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from dpexp.core.text import columns, counted, down, up
from dpexp.reporting.audit.audit import Row

MOST_SHOWN = 20
MEANING = """\
claimed and at least: in terms of Gaussian DP. mu is how many standard deviations apart the two worlds look: telling
N(0, 1) from N(mu, 1) is as hard. Where a claim is no such mu, it is the mu that allows the same misses at the false
alarms of the threshold that comes closest to the claim."""


def text(rows: Sequence[Row], skipped: Sequence[str], leaks: Sequence[str] = ()) -> str:
    """A page to read."""
    blocks = [_block(list(own)) for _, own in groupby(rows, key=lambda row: row.audited)]
    if rows:
        blocks.append(f"{_verdict(rows)}\n\n{MEANING}")
    if leaks:
        lines = [
            f"{counted(len(leaks), 'ALARM')} without any chance: this has no noise, and tells the two files apart."
        ]
        lines += [f"  {leak}" for leak in leaks[:MOST_SHOWN]]
        lines += [f"  ... and {len(leaks) - MOST_SHOWN} more; --json lists all"] if len(leaks) > MOST_SHOWN else []
        blocks.append("\n".join(lines))
    if skipped:
        blocks.append("\n".join(f"Not audited: {reason}." for reason in skipped))
    return "\n\n".join(blocks)


def _block(rows: Sequence[Row]) -> str:
    """One mechanism."""
    first, delta = rows[0], rows[0].deltas[0]
    head = ["who", "released", "statistic", "claimed", "at least", f"eps at {delta:g}", "at least", "runs", ""]
    table = [
        [
            row.look.protects, row.look.released, row.look.statistic, up(row.claimed, 4), down(row.lower_bound, 4),
            up(row.look.stated.eps(delta), 4), down(row.test.eps(delta), 4), f"{sum(row.test.runs):,}", _result(row),
        ]
        for row in rows
    ]  # fmt: skip
    lines = [first.audited.label, f"  Audited      {first.audited.size}"]
    said = dict.fromkeys(f"{row.look.stated.name} ({row.look.stated.source})" for row in rows)
    lines += [f"  Claimed by   {one}" for one in said]
    lines += [
        f"  Attained     eps {down(law.eps(delta), 4)} at {delta:g}, {law.released}: {law.name} ({law.pair})"
        for law, _ in first.audited.attained
    ]
    return "\n".join([*lines, "", *("  " + line for line in columns(table, head).splitlines())])


def _result(row: Row) -> str:
    if not row.alarm:
        return ""
    if row.process.alarm_at is None:
        return "ALARM"
    return f"ALARM (e-process: run {row.process.alarm_at:,})"


def _verdict(rows: Sequence[Row]) -> str:
    alarms = sum(row.alarm for row in rows)
    sure = f"{100 * (1 - rows[0].level):g}%"
    if not alarms:
        return f"No lower bound exceeds what is claimed. All of them hold together with {sure} confidence."
    return (
        f"{counted(alarms, 'ALARM')}: more is given away than is claimed. Were all claims true, an alarm anywhere in "
        f"this\ntable would have a probability of at most {rows[0].level:g}."
    )
