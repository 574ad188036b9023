"""The help: commands in panels, each with its whole line, and rare options behind `--help-all`."""

from __future__ import annotations

import sys
from typing import Any

from typer.core import TyperGroup

PANELS = {
    "Experiments": ("run", "plot", "table", "diff", "report", "claims", "reproduce"),
    "Configs": ("init", "validate", "list", "check"),
    "Privacy": ("privacy", "calibrate", "receipt", "judge", "audit"),
    "Regression": ("fit", "predict"),
}
"""in which the help shows the commands"""
RARE = {
    "run": ("backend", "scheduler", "confirm"),
    "plot": ("log", "stored", "only", "formats", "style_file", "no_title", "statistic"),
    "table": ("raw", "columns"),
    "predict": ("cell", "estimator", "replicate", "raw"),
    "fit": ("mu_column", "weights", "untested", "seed", "raw", "contrasts", "widths"),
    "calibrate": ("released", "analysis", "invalid"),
    "privacy": ("invalid", "users", "out"),
    "judge": ("at", "seconds", "seed", "comparisons"),
    "audit": ("confidence", "seed"),
    "report": ("title", "text"),
    "claims": ("out", "jobs", "form"),
    "init": ("public", "card"),
    "": ("install_completion", "show_completion"),
}
"""command -> names of its options that `--help` leaves out; "" for dpexp itself"""
ALL = "--help-all"


class Panels(TyperGroup):
    """The command line, whose help has a section for each panel."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A line for each command that is not cut."""
        for panel, names in PANELS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, (one.help or "").partition("\n")[0]) for name, one in commands if one]
            with formatter.section(panel):
                formatter.write_dl(rows)


def hide_rare(command: Any) -> None:
    """Leave the rare options of all commands out of the help, unless it is asked for with `--help-all`."""
    everything = ALL in sys.argv
    if everything:
        sys.argv = ["--help" if word == ALL else word for word in sys.argv]
    for name, one in {**command.commands, "": command}.items():
        rare = [option for option in one.params if option.name in RARE.get(name, ())]
        for option in rare:
            option.hidden = not everything
        if rare and not everything:
            one.epilog = f"More options: dpexp {name} {ALL}".replace("  ", " ")
