"""Nothing that a user's files hold can command the terminal."""

import io
import re

from dpexp.core.terminal import plain, say
from tests.conftest import ROOT

RED = "\x1b[31m"


def test_control_characters_are_written_out():
    assert plain(f"{RED}red\x1b[0m\a\r\x9b2J\x7f") == "\\x1b[31mred\\x1b[0m\\x07\\r\\x9b2J\\x7f"
    assert plain("\u202eevil\u2028\udcff") == "\\u202eevil\\u2028\\udcff"
    harmless = "two\nlines\tand Ünïcödé ± 漢字 \\x1b"
    assert plain(harmless) == harmless
    for code in range(0x10000):
        assert plain(chr(code)) == chr(code) or not chr(code).isprintable()


def test_what_an_encoding_lacks_is_written_out(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    say("± \udcff")
    assert stream.buffer.getvalue() == b"\\xb1 \\udcff\n"


def test_everything_that_is_printed_goes_one_way():
    """A bare print( outside of dpexp/core/terminal.py would bypass it; scripts print no user's text."""
    files = sorted((ROOT / "dpexp").rglob("*.py"))
    bare = [path.name for path in files if re.search(r"(?<![\w.])print\(", path.read_text(encoding="utf-8"))]
    assert bare == ["terminal.py"]
