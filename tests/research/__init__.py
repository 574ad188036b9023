"""Plug-ins of the repository, each as a module whose names no registry has."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from tests.conftest import ROOT


def module(place: str) -> ModuleType:
    """A plug-in's file, such as `research/stretched/stretched_ldp_sgd.py`."""
    file = ROOT / place
    spec = spec_from_file_location(f"tried_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    # classes with annotations that are texts look their module up
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found
