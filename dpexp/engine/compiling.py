"""Whether this process compiles just now: the compiler tells it, and whoever shows progress listens.

It stands by itself so that showing progress does not import the compiler. True is told when a compilation begins, and
False when it has ended, by the thread that compiles.
"""

from __future__ import annotations

from dpexp.core.terminal import Listeners

_LISTENERS: Listeners[[bool]] = Listeners()
listening, tell = _LISTENERS.listening, _LISTENERS.tell
