"""Plug-ins: what a Python file outside the package adds, and how it is loaded."""

from dpexp.plugins.plugin import Plugin

__all__ = ["Plugin"]
