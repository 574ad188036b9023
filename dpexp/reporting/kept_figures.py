"""Figures that were drawn before, kept in the user's cache folder: some take half a minute, and are asked for again.

A figure is found by everything that it follows from: its stamp (code, shipped data, seals of results), the formats, the
libraries that draw and compute, and the settings of the one that draws. Where any of these is another one, there is
nothing to be found, so no figure has to be called stale. What is kept are the files themselves, with a hash; what is
damaged, or open to others, is drawn anew.
"""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from dpexp.core.digests import digest
from dpexp.core.files import Damaged, forget_oldest, own_folder, read_bytes_sealed, write_bytes_sealed

MOST_FIGURES = 300
"""of the folder; those that were kept longest ago go first. A figure in three formats takes 50 to 500 kB"""
LIBRARIES = ("matplotlib", "numpy", "scipy", "pandas", "numba")

Files = Mapping[str, bytes]
"""name of a file -> its bytes"""


def key(stamp: str, formats: Sequence[str]) -> str:
    """What a figure with this stamp is found by; empty where the stamp is, since it then follows from more."""
    if not stamp:
        return ""
    import matplotlib as mpl

    settings = sorted((name, repr(value)) for name, value in mpl.rcParams.items())
    return digest([stamp, list(formats), [version(library) for library in LIBRARIES], settings], 32)


def load(key: str) -> Files:
    """The files of a figure in the order in which they were kept; empty where there are none that can be trusted."""
    place = own_folder("figures", "figures", made=False)
    if place is None or not key:
        return {}
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes_sealed(place / key, private=True))) as kept:
            # and was not copied here from the place of another figure
            its_own = kept.comment == key.encode()
            return {name: kept.read(name) for name in json.loads(kept.read("names"))} if its_own else {}
    except (Damaged, OSError, zipfile.BadZipFile, ValueError, KeyError):
        return {}


def keep(key: str, files: Files) -> None:
    """Keep the files of a figure; a disk that is full or read-only keeps nothing."""
    place = own_folder("figures", "figures")
    if place is None or not key:
        return
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as kept:
        kept.comment = key.encode()
        kept.writestr("names", json.dumps(list(files)))
        for name, data in files.items():
            kept.writestr(name, data)
    with contextlib.suppress(OSError):
        write_bytes_sealed(place / key, content.getvalue(), private=True)
        # the time of a file is when it was kept, as one that is found is not written
        forget_oldest(place, MOST_FIGURES)
