"""Where dpexp keeps what it may compute again: DPEXP_CACHE, or a folder of its own in the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

OFF = ("0", "off", "no")
"""values of DPEXP_CACHE that say: keep nothing"""


def cache_folder(own: str, inside: str = "") -> Path | None:
    """The folder called `own`; None where nothing is to be kept, or nobody has a home.

    DPEXP_CACHE names the folder of compiled code itself, so whatever else is kept has a place `inside` it.
    """
    asked = os.environ.get("DPEXP_CACHE", "")
    if asked.lower() in OFF:
        return None
    try:
        if asked:
            return Path(asked).expanduser() / inside
        base = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "dpexp" / own
    except RuntimeError:  # no home
        return None
