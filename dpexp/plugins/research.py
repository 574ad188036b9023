"""Plug-ins of dpexp's own repository: `research/FOLDER/NAME.py` with configs beside it, in a clone and not in a wheel.

Readers load no code that results name, since anybody may have written them. A file of `research/` is dpexp's own: where
results name a plug-in that is not loaded, `dpexp.plugins.loading.load_research` loads the file of that name there.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "research"


def research_folders() -> list[Path]:
    """The folders of the plug-ins; none outside a clone."""
    # beside an installed package a folder of this name may be anybody's
    return sorted(path.parent for path in FOLDER.glob("*/*.py")) if (ROOT / "pyproject.toml").is_file() else []


def is_research(file: Path) -> bool:
    """Whether a plug-in's file, an absolute path, is one of these."""
    return file.parent in research_folders()
