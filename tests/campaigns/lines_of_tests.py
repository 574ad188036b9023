"""Which fast tests execute a line: a mutant is noticed by one of these or by none that looks at what the line computes.

One file of tests runs at a time, in a process of its own. A trace is kept only of functions that have a line which is asked
for, so that all other code runs at nearly its own speed. Three things are not seen line by line, and are kept for the
whole file: what a fixture of a wider scope than a test computes, of which every test that uses it has the lines; functions
that numba compiles, which are seen where the key of their kernel is made (`dpexp.engine.walk`); and modules, of which it
is known whether any of their functions was called. What tests start in other processes is not seen at all.
"""

from __future__ import annotations

import ast
import os
import sys
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

Line = tuple[str, int]


def lines_of(source: bytes, line: int) -> tuple[int, int, bool]:
    """First and last line of the statement around a line, without what is nested in it, and whether a function holds it."""
    first, last, inside = 1, 1, False
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or node.lineno):
            continue
        if isinstance(node, ast.FunctionDef) and line >= node.body[0].lineno:
            inside = True
        body = getattr(node, "body", None)
        end = body[0].lineno - 1 if body and not isinstance(node, ast.Match) else node.end_lineno or node.lineno
        if line <= max(end, node.lineno) and node.lineno >= first:
            first, last = node.lineno, max(end, node.lineno)
    return first, last, inside


class Watch:
    """A plug-in of pytest that writes down which of the wanted lines each test executes."""

    def __init__(self, root: Path, wanted: dict[str, set[int]]) -> None:
        self.root = str(root) + os.sep
        self.wanted = wanted
        """file -> lines that are asked for"""
        self.codes: dict[int, tuple[CodeType, str, frozenset[int]]] = {}
        self.now: set[tuple[str, int]] = set()
        """lines, and line 0 of every module of which a function was called"""
        self.fixtures: dict[str, set[Line]] = {}
        self.compiled: set[Line] = set()
        self.tests: dict[str, tuple[float, set[Line]]] = {}
        self.used: dict[str, tuple[str, ...]] = {}
        self.failed: list[str] = []

    # --- the trace ----------------------------------------------------------------------------------------------

    def of_code(self, code: CodeType) -> tuple[str, frozenset[int]]:
        """The file of a function, and which of its own lines are asked for; "" for a file with none."""
        known = self.codes.get(id(code))
        if known is None:
            name = code.co_filename
            path = name[len(self.root) :] if name.startswith(self.root) else ""
            lines = self.wanted.get(path, set())
            own = frozenset(lines & {line for _, _, line in code.co_lines() if line}) if lines else frozenset()
            known = self.codes[id(code)] = code, path if lines else "", own  # a code that is held keeps its id
        return known[1:]

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        path, lines = self.of_code(frame.f_code)
        if not path:
            return None
        self.now.add((path, 0))
        if all((path, line) in self.now for line in lines):
            return None

        def local(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line" and frame.f_lineno in lines:
                self.now.add((path, frame.f_lineno))
                if all((path, line) in self.now for line in lines):
                    frame.f_trace_lines = False
            return local

        return local

    def watch_compiled(self) -> None:
        """Code that goes into the key of a kernel is code that the kernel runs."""
        if not Path(self.root, "dpexp", "engine", "walk.py").exists():  # a tree without kernels
            return
        from dpexp.engine.walk import Walk

        plain = Walk.code

        def code(walk: Any, value: CodeType, *rest: Any) -> Any:
            path, lines = self.of_code(value)
            self.compiled |= {(path, line) for line in lines}
            return plain(walk, value, *rest)

        Walk.code = code  # type: ignore[method-assign,assignment]

    # --- pytest's side ------------------------------------------------------------------------------------------

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.watch_compiled()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.now = set()
        threading.settrace(self.trace)
        sys.settrace(self.trace)
        before = sum(os.times()[:4])
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            self.tests[item.nodeid] = round(sum(os.times()[:4]) - before, 3), self.now
            self.used[item.nodeid] = tuple(getattr(item, "fixturenames", ()))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        outer, self.now = self.now, set()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self.fixtures.setdefault(fixturedef.argname, set()).update(self.now)
            self.now |= outer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def found(self) -> dict[str, Any]:
        """What was seen, as JSON takes it: seconds and lines of each test that passes, and lines in compiled code."""
        tests = {}
        for name, (seconds, lines) in self.tests.items():
            lines = lines.union(*(self.fixtures.get(fixture, set()) for fixture in self.used[name]))
            if name not in self.failed:
                tests[name] = {"s": seconds, "lines": sorted(f"{path}:{line}" for path, line in lines)}
        return {
            "tests": tests,
            "compiled": sorted(f"{path}:{line}" for path, line in self.compiled),
            "failed": sorted(set(self.failed)),
        }


class Chosen:
    """A plug-in of pytest that runs these tests alone, in this order."""

    def __init__(self, names: Sequence[str]) -> None:
        self.place = {name: k for k, name in enumerate(names)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.place), key=lambda i: self.place[i.nodeid])
