"""Nothing that takes long is silent: a command says the step it is at, on stderr, and goes before anything is printed."""

import time

from dpexp.commands import progress
from dpexp.core.terminal import each


def test_steps_are_plain_lines_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE_S", 0.05)
    monkeypatch.setattr(progress, "LINES_S", 0.0)
    with progress.progress("plot"):
        for _ in each(["one", "two\x1b[2J"], "figure", str):
            time.sleep(0.2)
    lines = capsys.readouterr().err
    assert "plot: figure 2 of 2: two\\x1b[2J" in lines
    assert not {"\r", "\x1b"} & set(lines)
