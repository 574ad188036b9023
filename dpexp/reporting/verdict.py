"""The words in which a claim can end."""

from __future__ import annotations

from typing import Literal, get_args

Verdict = Literal[
    "reproduced", "holds as a bound", "not at this sample size", "misleading", "misprint", "false", "not testable"
]  # fmt: skip
"""misleading: true in a sense that readers will not take; misprint: false as printed, and plainly not what is meant"""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
