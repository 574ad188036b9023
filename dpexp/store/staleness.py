"""Why stored numbers are not what today's code gives.

(a) What a deployment released stays what it is, and cannot be computed again.
(b) Code is compared by its fingerprint. Where it has changed, one chunk that is computed again may say that the numbers
have not: they are unconfirmed, unless they come from a user's records, on which nothing is computed to prove something.
(c) A reader opens no config, no data and no plug-in that results name, since anybody may have written them: it says
what it has not checked. `run`, which is given the config, checks that.
"""

from __future__ import annotations

from dpexp.core.text import few
from dpexp.store.cell_files import Model
from dpexp.store.fingerprint import changed, plugins_missing, what_changed
from dpexp.store.fingerprint import today as today_of
from dpexp.store.generation import Generation, own_data


def why_stale(generation: Generation) -> str:
    """Why its numbers are not those of today; empty where nothing speaks against them."""
    m = generation.manifest
    # (a)
    if generation.deployed:
        return ""
    # (b)
    keys = {one["code"] for one in m["computed_from"].values()}
    files = [name for key in sorted(keys) for name in changed(m["code"][key], today_of(m["code"][key]))]
    if not files:
        return ""
    state = "stale" if own_data(m) else "unconfirmed"
    return f"{state}, {what_changed(files)} changed since: {few(list(dict.fromkeys(files)))}"


def changed_since(model: Model) -> list[str]:
    """Modules and data files that are not what a model was computed with any more."""
    return changed(dict(model.metadata["code"]), today_of(dict(model.metadata["code"])))


def not_checked(generation: Generation) -> list[str]:
    """What these numbers come from beside dpexp, and was not compared with what is there now."""
    # (c)
    missing, data = plugins_missing(generation.manifest["code"].values()), sorted(own_data(generation.manifest))
    found = [f"needs --plugin {name}" if name.endswith(".py") else f"needs the plug-in {name}" for name in missing]
    return [f"not checked: {one}" for one in [*found, *(f"{path}, which dpexp run compares" for path in data)]]
